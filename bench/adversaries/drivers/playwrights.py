"""Playwright and its variants: as it is, patched, and as the engine behind forged evidence."""

import copy
import importlib
import json
import random
import time
from typing import Any

from bench.adversaries.drivers.job import Job, read_job, state
from bench.adversaries.drivers.screen import virtual_screen
from bench.adversaries.motion import Hand, move

# What people paste from blogs to hide a driven browser.
HIDE = """
Object.defineProperty(navigator, 'webdriver', {get: () => undefined});
window.chrome = window.chrome || {runtime: {}};
"""
HIDE_DEEPLY = """
const native = new WeakMap();
const {toString} = Function.prototype;
const pretend = function toString_() { return native.get(this) ?? toString.call(this); };
Object.defineProperty(pretend, 'name', {value: 'toString'});
native.set(pretend, 'function toString() { [native code] }');
Function.prototype.toString = pretend;
const owner = Navigator.prototype;
const get = {get webdriver() { return false; }};
const descriptor = Object.getOwnPropertyDescriptor(get, 'webdriver').get;
native.set(descriptor, 'function get webdriver() { [native code] }');
Object.defineProperty(owner, 'webdriver', {get: descriptor, configurable: true, enumerable: true});
"""
ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking"]


def fill(job: Job, page: Any, *, hand: bool) -> None:
    """Fill in the form as the tool's users do, or with moves of the mouse like a hand's."""
    rng = random.Random(job.seed)
    for name, text in (("name", job.name), ("email", job.email), ("message", job.text)):
        if hand:
            click_by_hand(page, f"#{name}", rng)
            page.keyboard.type(text, delay=rng.uniform(60, 130))
        else:
            page.fill(f"#{name}", text)
    if hand:
        click_by_hand(page, "#send", rng)
    else:
        page.click("#send", no_wait_after=True)


def click_by_hand(page: Any, selector: str, rng: random.Random) -> None:
    """Move there along a curve, and click."""
    box = page.locator(selector).bounding_box()
    way = move(
        (rng.uniform(0, 300), rng.uniform(0, 300)), (box["x"], box["y"], box["width"], box["height"]), Hand(), rng
    )
    for pause, x, y in way[::2]:
        page.mouse.move(x, y)
        time.sleep(pause)
    page.mouse.down()
    time.sleep(rng.uniform(0.05, 0.12))
    page.mouse.up()


def finish(job: Job, page: Any) -> None:
    """Wait until the form was sent, and click the interactive challenge."""
    until_s = time.monotonic() + job.seconds / 2
    while time.monotonic() < until_s:
        now = state(job)
        if now["sent"] >= 1:
            return
        place = now["report"].get("ask")
        if place:
            page.mouse.click(place[0] + place[2] / 2, place[1] + place[3] / 2)
            time.sleep(1.2)
        page.wait_for_timeout(200)


def forge(job: Job, page: Any, words: list[str]) -> None:
    """Let the engine run the SDK, and replace the evidence that it sends by evidence from a person's browser.

    `noisy`: with input statistics that are not exact copies, and with human-like presses. `guessed`, `silent`: with
    everything else right, but probe results as from a solver without an engine: zeros, or none at all.
    """
    rng = random.Random(job.seed)

    def change(route: Any) -> None:
        body = json.loads(route.request.post_data)
        for name in ("signals", "interaction"):
            if name in job.recorded:
                body[name] = copy.deepcopy(job.recorded[name])
        if "noisy" in words:
            blur(body, rng)
        for part in (body, body.get("answer", {})):
            if "guessed" in words and part.get("probes"):
                part["probes"]["answers"] = [[0] * len(answer or ()) for answer in part["probes"]["answers"]]
            if "silent" in words:
                part.pop("probes", None)
        route.continue_(post_data=json.dumps(body))

    page.route("**/v1/browser/verify", change)


def blur(body: dict[str, Any], rng: random.Random) -> None:
    """Change the copied input statistics a little, and make the presses human-like."""
    sums = body.get("interaction") or {}
    for name in ("durationMs", "pointerMoves", "straightness", "variation"):
        if sums.get(name):
            sums[name] = type(sums[name])(sums[name] * rng.uniform(1.01, 1.2))
    answer = body.get("answer")
    if not answer:
        return
    sums["clicks"] = sums.get("clicks", 0) + len(answer["steps"])
    for step in answer["steps"]:
        press = step.setdefault("press", {})
        reach = press.get("reachPx", 0)
        press.update(moves=rng.randint(14, 30), wayPx=reach * rng.uniform(1.05, 1.2), travelMs=rng.uniform(300, 700))
        press.update(holdMs=rng.uniform(60, 120), offX=rng.uniform(-9, 9), offY=rng.uniform(-9, 9))
        press.update(strokePx=reach, bendPx=rng.uniform(4, 12), pace=rng.uniform(1.6, 2.2))
        sums["pointerMoves"] = sums.get("pointerMoves", 0) + press["moves"]


def launch_options(job: Job, words: list[str], screen: str) -> dict[str, Any]:
    """Return how the browser is started."""
    arguments = list(ARGUMENTS)
    if "unmarked" in words:
        arguments.append("--disable-blink-features=AutomationControlled")
    if "new" in words:
        arguments.append("--headless=new")
    options: dict[str, Any] = {"executable_path": job.chromium, "headless": not screen, "args": arguments}
    if screen:
        options["env"] = {"DISPLAY": screen, "HOME": str(job.folder)}
    return options


def visit(job: Job, module: str, words: list[str], screen: str) -> None:
    """Start the browser and visit the page, in the job's number of tabs."""
    playwright = importlib.import_module(f"{module}.sync_api")
    with playwright.sync_playwright() as tool:
        browser = tool.chromium.launch(**launch_options(job, words, screen))
        agent = {"user_agent": plain_agent(browser)} if "renamed" in words else {}
        context = browser.new_context(**agent)
        for word, script in (("hidden", HIDE), ("deep", HIDE_DEEPLY)):
            if word in words:
                context.add_init_script(script)
        for _ in range(job.tries):
            page = context.new_page()
            if "forged" in words:
                forge(job, page, words)
            page.goto(job.page)
            fill(job, page, hand="hand" in words)
        if job.tries > 1:
            wait_for_all(job, context)
        else:
            finish(job, page)
        browser.close()


def wait_for_all(job: Job, context: Any) -> None:
    """Wait for the tabs of a farm."""
    until_s = time.monotonic() + job.seconds / 2
    while time.monotonic() < until_s and state(job)["sent"] < job.tries:
        context.pages[-1].wait_for_timeout(300)


def plain_agent(browser: Any) -> str:
    """Return the User-Agent without the word that gives it away."""
    major = browser.version.split(".")[0]
    return f"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{major}.0.0.0 Safari/537.36"


def main() -> None:
    """Be one driven browser for one session."""
    job = read_job()
    module, *words = job.variant.split()
    if "windowed" in words:
        with virtual_screen() as screen:
            visit(job, module, words, screen)
    else:
        visit(job, module, words, "")


if __name__ == "__main__":
    main()
