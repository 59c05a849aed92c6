"""Selenium and what hides it: chromedriver as it is, undetected-chromedriver, SeleniumBase, selenium-driverless."""

import asyncio
import os
import shutil
import time
from typing import Any

from bench.adversaries.drivers.job import Job, read_job, state
from bench.adversaries.drivers.screen import virtual_screen

ARGUMENTS = ("--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking", "--window-size=1180,720")


def chrome_options(job: Job, words: list[str], made: Any) -> Any:
    """Set the options that all have in common."""
    for argument in ARGUMENTS:
        made.add_argument(argument)
    made.binary_location = job.chromium
    if "windowed" not in words:
        made.add_argument("--headless=new")
    return made


def selenium(job: Job, words: list[str]) -> Any:
    """Start Chromium by chromedriver."""
    from selenium import webdriver  # noqa: PLC0415 - each tool is a package that may be missing

    options = chrome_options(job, words, webdriver.ChromeOptions())
    if "hidden" in words:
        options.add_argument("--disable-blink-features=AutomationControlled")
        options.add_experimental_option("excludeSwitches", ["enable-automation"])
        options.add_experimental_option("useAutomationExtension", value=False)
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    if "hidden" in words:
        source = "Object.defineProperty(navigator, 'webdriver', {get: () => undefined})"
        driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": source})
    return driver


def undetected(job: Job, words: list[str]) -> Any:
    """Start Chromium by undetected-chromedriver, which changes its own copy of the driver."""
    import undetected_chromedriver as uc  # noqa: PLC0415 - each tool is a package that may be missing

    own = job.folder / "chromedriver"
    shutil.copy(str(shutil.which("chromedriver")), own)
    options = chrome_options(job, ["windowed"], uc.ChromeOptions())
    headless = "windowed" not in words
    return uc.Chrome(
        options=options,
        browser_executable_path=job.chromium,
        driver_executable_path=str(own),
        headless=headless,
        use_subprocess=True,
    )


def fill(job: Job, driver: Any) -> None:
    """Fill in the form as the tool's users do, and solve the interactive challenge."""
    driver.get(job.page)
    for name, text in (("name", job.name), ("email", job.email), ("message", job.text)):
        driver.find_element("id", name).send_keys(text)
    driver.find_element("id", "send").click()
    until_s = time.monotonic() + job.seconds / 2
    while time.monotonic() < until_s:
        now = state(job)
        if now["sent"]:
            return
        if now["report"].get("ask"):
            click_at(driver, now["report"]["ask"])
            time.sleep(1.2)
        time.sleep(0.2)


def click_at(driver: Any, place: list[float]) -> None:
    """Click the middle of a place."""
    from selenium.webdriver.common.actions.action_builder import ActionBuilder  # noqa: PLC0415 - may be missing

    actions = ActionBuilder(driver)
    actions.pointer_action.move_to_location(int(place[0] + place[2] / 2), int(place[1] + place[3] / 2))
    actions.pointer_action.click()
    actions.perform()


async def driverless(job: Job, words: list[str]) -> None:
    """Visit by selenium-driverless, which needs no driver's program."""
    from selenium_driverless import webdriver  # noqa: PLC0415 - each tool is a package that may be missing
    from selenium_driverless.types.by import By  # noqa: PLC0415 - each tool is a package that may be missing

    options = webdriver.ChromeOptions()
    chrome_options(job, words, options)
    async with webdriver.Chrome(options=options) as driver:
        await driver.get(job.page, wait_load=True)
        for name, text in (("name", job.name), ("email", job.email), ("message", job.text)):
            element = await driver.find_element(By.ID, name)
            await element.click()
            await element.write(text)
        await (await driver.find_element(By.ID, "send")).click()
        until_s = time.monotonic() + job.seconds / 2
        while time.monotonic() < until_s and not state(job)["sent"]:
            place = state(job)["report"].get("ask")
            if place:
                await driver.current_pointer.click(x_or_elem=place[0] + place[2] / 2, y=place[1] + place[3] / 2)
                await asyncio.sleep(1.2)
            await asyncio.sleep(0.2)


def visit(job: Job, tool: str, words: list[str]) -> None:
    """Visit with one of the tools."""
    if tool == "driverless":
        asyncio.run(driverless(job, words))
        return
    driver = {"selenium": selenium, "undetected": undetected}[tool](job, words)
    try:
        fill(job, driver)
    finally:
        driver.quit()


def main() -> None:
    """Be one driven browser for one session."""
    job = read_job()
    tool, *words = job.variant.split()
    os.environ["HOME"] = str(job.folder)
    with virtual_screen() as screen:
        os.environ["DISPLAY"] = screen
        visit(job, tool, words)


if __name__ == "__main__":
    main()
