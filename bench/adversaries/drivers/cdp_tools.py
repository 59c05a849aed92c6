"""Tools that drive Chromium over its debugging protocol unseen: nodriver, zendriver, pydoll, DrissionPage."""

import asyncio
import os
import time
from typing import Any

from bench.adversaries.drivers.job import Job, read_job, state, wait_for
from bench.adversaries.drivers.screen import virtual_screen

ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking"]


def fields(job: Job) -> tuple[tuple[str, str], ...]:
    """Return what to write where."""
    return ("name", job.name), ("email", job.email), ("message", job.text)


def unsent(job: Job) -> Any:
    """Yield the position of the interactive challenge, or None, until the form was sent."""
    until_s = time.monotonic() + job.seconds / 2
    while time.monotonic() < until_s:
        now = state(job)
        if now["sent"]:
            return
        yield now["report"].get("ask")


async def no_driver(job: Job, module: Any, *, headless: bool) -> None:
    """Visit by nodriver or zendriver, which have one API."""
    for attempt in range(4):
        try:
            browser = await module.start(
                headless=headless, browser_executable_path=job.chromium, browser_args=ARGUMENTS, sandbox=False
            )
            break
        except Exception:
            if attempt == 3:
                raise
            await asyncio.sleep(2)
    page = await browser.get(job.page)
    await asyncio.to_thread(wait_for, job, lambda now: now["report"].get("places"), 60)
    await asyncio.sleep(1)
    for name, text in fields(job):
        element = await page.select(f"#{name}")
        await element.click()
        await element.send_keys(text)
    send = await page.select("#send")
    await send.mouse_click()
    await asyncio.sleep(3)
    now = state(job)
    if not now["sent"] and not now["verified"] and now["report"].get("state") in (None, "idle"):
        # The mouse missed the button.
        await send.click()
    for place in unsent(job):
        if place:
            await page.mouse_click(place[0] + place[2] / 2, place[1] + place[3] / 2)
            await asyncio.sleep(1.2)
        await asyncio.sleep(0.2)
    stopped = browser.stop()
    if asyncio.iscoroutine(stopped):
        await stopped


async def pydoll(job: Job, *, headless: bool) -> None:
    """Visit by pydoll."""
    from pydoll.browser import Chrome  # noqa: PLC0415 - each tool is a package that may be missing
    from pydoll.browser.options import ChromiumOptions  # noqa: PLC0415 - each tool is a package that may be missing

    options = ChromiumOptions()
    options.binary_location = job.chromium
    options.headless = headless
    for argument in ARGUMENTS:
        options.add_argument(argument)
    async with Chrome(options=options) as browser:
        tab = await browser.start()
        await tab.go_to(job.page)
        for name, text in fields(job):
            element = await tab.find(id=name)
            await element.click()
            await element.type_text(text)
        await (await tab.find(id="send")).click()
        for place in unsent(job):
            if place:
                await tab.mouse.click(place[0] + place[2] / 2, place[1] + place[3] / 2)
                await asyncio.sleep(1.2)
            await asyncio.sleep(0.2)


def drission(job: Job, *, headless: bool) -> None:
    """Visit by DrissionPage."""
    from DrissionPage import ChromiumOptions, ChromiumPage  # noqa: PLC0415 - each tool is a package that may be missing

    options = ChromiumOptions(read_file=False).set_browser_path(job.chromium).auto_port()
    options.headless(headless)
    for argument in ARGUMENTS:
        options.set_argument(argument)
    page = ChromiumPage(options)
    try:
        page.get(job.page)
        for name, text in fields(job):
            page.ele(f"#{name}").input(text)
        page.ele("#send").click()
        for place in unsent(job):
            if place:
                page.actions.move_to((place[0] + place[2] / 2, place[1] + place[3] / 2)).click()
                time.sleep(1.2)
            time.sleep(0.2)
    finally:
        page.quit()


def main() -> None:
    """Be one driven browser for one session."""
    job = read_job()
    tool, *words = job.variant.split()
    headless = "windowed" not in words
    os.environ["HOME"] = str(job.folder)
    with virtual_screen() as screen:
        os.environ["DISPLAY"] = screen
        if tool in ("nodriver", "zendriver"):
            module = __import__(tool)
            loop = module.loop() if tool == "nodriver" else asyncio.new_event_loop()
            loop.run_until_complete(no_driver(job, module, headless=headless))
        elif tool == "pydoll":
            asyncio.run(pydoll(job, headless=headless))
        else:
            drission(job, headless=headless)


if __name__ == "__main__":
    main()
