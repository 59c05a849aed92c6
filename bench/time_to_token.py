"""Time from opening a plain page until it holds a token: our invisible check, ALTCHA's default and Cap's default.

All in one Chromium, in turns; `python -m bench.time_to_token [--rounds N]`. Nothing is asserted here.
"""

import argparse
import contextlib
import json
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Browser, BrowserContext, Page

from tests.browser.chromium import node_path, plain_user_agent, running_chromium
from tests.browser.origin import PageServer, page_server
from tests.support.processes import ServeProcess, serving

ROUNDS = 12
# ALTCHA's challenge as its library's README makes it takes half a minute on a slow machine: it is opened less often.
README_ROUNDS = 3
# A usual way to a server: a page that needs fewer round trips gains by it.
LATENCY_MS = 40
WAIT_MS = 180_000
POLL_MS = 20
# `at once` is ALTCHA without the half second that it waits for appearance's sake.
RIVAL_PAGES = {"altcha": "altcha", "altcha at once": "altcha-at-once", "cap": "cap"}
# Opened a second time in the same profile: files come from the browser's cache.
WARM = ("ours", "altcha at once")
RIVALS = Path(__file__).parent / "browser" / "rivals.mjs"
SITE_KEY, ACTION = "site_time_to_token", "signup"

# An empty icon: else the browser asks for one, which is no part of the check.
PAGE = """<!doctype html><html lang="en"><title>Plain</title><link rel="icon" href="data:,">
<script src="{gate}/sdk/v1/agentgate.js?render=explicit"></script>
<script>
agentgate.execute({{sitekey: "{site_key}", action: "{action}"}}).then(
  (passed) => {{ window.token = passed.token; window.tokenMs = performance.now(); }},
  (error) => {{ window.failure = error.code + ": " + error.message; }});
</script>"""


class Opened(NamedTuple):
    """One page that got its token: after how long, and what came over the wire besides the page itself."""

    token_ms: float
    requests: int
    wire_bytes: int


class Rivals(NamedTuple):
    """The server of the others."""

    url: str
    has_wasm: bool


def measure(rounds: int = ROUNDS) -> dict[str, Any]:
    """Open every page so many times, in turns, and return medians and ratios."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="agentgate-bench-"))
        process = stack.enter_context(serving(Path(folder)))
        pages = stack.enter_context(page_server(process.public_url))
        rivals = stack.enter_context(_rivals())
        chromium = stack.enter_context(running_chromium())
        browser = stack.enter_context(chromium.in_use())
        ours = _our_page(process, pages)
        names = {"ours": ours, **{name: f"{rivals.url}/{path}" for name, path in RIVAL_PAGES.items()}}
        seen: dict[str, list[Opened]] = {}
        for number in range(rounds + 1):
            opened = _round(browser, names)
            # The first round only warms up servers and browser.
            for name, found in opened.items() if number else ():
                seen.setdefault(name, []).append(found)
        with _profile(browser) as context:
            url = f"{rivals.url}/altcha-readme"
            seen["altcha readme"] = [_open(context, url) for _ in range(min(rounds, README_ROUNDS))]
        return {**_figures(seen), "cap_wasm": rivals.has_wasm}


def _round(browser: Browser, names: dict[str, str]) -> dict[str, Opened]:
    opened = {}
    for name, url in names.items():
        with _profile(browser) as context:
            opened[name] = _open(context, url)
            if name in WARM:
                opened[f"{name}, warm"] = _open(context, url)
        # ALTCHA's own half second would hide the latency.
        if name != "altcha":
            with _profile(browser) as context:
                opened[f"{name}, latency"] = _open(context, url, latency_ms=LATENCY_MS)
    return opened


@contextlib.contextmanager
def _profile(browser: Browser) -> Iterator[BrowserContext]:
    # By its own name a browser without a window would be refused.
    context = browser.new_context(user_agent=plain_user_agent(browser))
    try:
        yield context
    finally:
        context.close()


def _open(context: BrowserContext, url: str, latency_ms: int = 0) -> Opened:
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    if latency_ms:
        limits = {"offline": False, "latency": latency_ms, "downloadThroughput": -1, "uploadThroughput": -1}
        session.send("Network.emulateNetworkConditions", limits)
    sizes: dict[str, int] = {}
    documents: set[str] = set()
    session.on("Network.responseReceived", lambda event: _note_document(event, documents))
    session.on("Network.loadingFinished", lambda event: sizes.update({event["requestId"]: event["encodedDataLength"]}))
    page.goto(url, wait_until="commit")
    token_ms = _wait_for_token(page)
    page.wait_for_timeout(POLL_MS)
    # What comes from the cache has no length on the wire.
    sent = [size for name, size in sizes.items() if size and name not in documents]
    page.close()
    return Opened(token_ms, len(sent), int(sum(sent)))


def _note_document(event: dict[str, Any], documents: set[str]) -> None:
    if event["type"] == "Document":
        documents.add(event["requestId"])


def _wait_for_token(page: Page) -> float:
    """Look seldom: each look takes a moment of the page's own thread."""
    for _ in range(WAIT_MS // POLL_MS):
        found = page.evaluate("[window.tokenMs, window.failure]")
        if found[1]:
            raise RuntimeError(f"{page.url}: {found[1]}")
        if found[0]:
            return float(found[0])
        page.wait_for_timeout(POLL_MS)
    raise RuntimeError(f"{page.url}: no token after {WAIT_MS} ms")


def _our_page(process: ServeProcess, pages: PageServer) -> str:
    with process.admin() as operator:
        body = {
            "siteKey": SITE_KEY,
            "name": "Bench",
            "mode": "enforce",
            "allowedOrigins": pages.origins(),
            "actions": {ACTION: {"browserRequired": True}},
        }
        made = operator.call("POST", "/v1/admin/sites", body)
        assert made.status == 201, made.body
    return pages.serve("/", PAGE.format(gate=process.public_url, site_key=SITE_KEY, action=ACTION))


@contextlib.contextmanager
def _rivals() -> Iterator[Rivals]:
    """Run the server of the others for as long as the block runs."""
    command = [node_path(), str(RIVALS)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            said = json.loads(process.stdout.readline())
            yield Rivals(f"http://127.0.0.1:{said['port']}", said["hasWasm"])
        finally:
            # It ends when its input does.
            assert process.stdin is not None
            process.stdin.close()
            process.wait(10)


def _figures(seen: dict[str, list[Opened]]) -> dict[str, Any]:
    medians = {name: statistics.median(found.token_ms for found in opened) for name, opened in seen.items()}
    figures: dict[str, Any] = {f"{_key(name)}_ms": value for name, value in medians.items()}
    for rival in RIVAL_PAGES:
        figures[f"ratio_to_{_key(rival)}"] = medians["ours"] / medians[rival]
        if f"{rival}, latency" in medians:
            figures[f"latency_ratio_to_{_key(rival)}"] = medians["ours, latency"] / medians[f"{rival}, latency"]
    figures["warm_ratio_to_altcha_at_once"] = medians["ours, warm"] / medians["altcha at once, warm"]
    for name in ("ours", "ours, warm", "altcha", "cap"):
        figures[f"{_key(name)}_requests"] = statistics.median(found.requests for found in seen[name])
        figures[f"{_key(name)}_wire_bytes"] = statistics.median(found.wire_bytes for found in seen[name])
    return figures


def _key(name: str) -> str:
    return name.replace(", ", "_").replace(" ", "_")


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=ROUNDS)
    for name, value in measure(options.parse_args().rounds).items():
        print(f"{name:<34}{value:>12.1f}" if isinstance(value, float) else f"{name:<34}{value!s:>12}")


if __name__ == "__main__":
    main()
