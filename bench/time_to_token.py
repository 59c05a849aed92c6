"""Time from opening a plain page until it holds a token: our invisible check, ALTCHA's default and Cap's default.

All in one Chromium with a window, as a person has it, in turns: a driven one would be shown the check.
`python -m bench.time_to_token [--rounds N] [--brief]`. Nothing is asserted here.
"""

import argparse
import asyncio
import contextlib
import json
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bench.browser.window import Profile, Protocol, Tab, windowed_chromium
from tests.browser.chromium import node_path
from tests.browser.origin import PageServer, page_server
from tests.support.processes import ServeProcess, serving

ROUNDS = 12
# ALTCHA's challenge as its library's README makes it takes half a minute on a slow machine: it is opened less often.
README_ROUNDS = 3
# A usual way to a server: a page that needs fewer round trips gains by it.
LATENCY_MS = 40
# Long enough for the README's challenge on a busy machine.
WAIT_S = 600
POLL_S = 0.02
# `at once` is ALTCHA without the half second that it waits for appearance's sake.
AT_ONCE = "altcha at once"
RIVAL_PAGES = {"altcha": "altcha", AT_ONCE: "altcha-at-once", "cap": "cap"}
# Opened a second time in the same profile: files come from the browser's cache.
WARM = ("ours", AT_ONCE)
RIVALS = Path(__file__).parent / "browser" / "rivals.mjs"
SITE_KEY, ACTION = "site_time_to_token", "signup"
# The third value shows whether our interactive challenge is open, which yields no token without a person's press.
LOOK = """[window.tokenMs, window.failure,
  performance.getEntriesByType("resource").some((entry) => entry.name.endsWith("/check.js"))]"""

# An empty icon: otherwise the browser requests one, which does not belong to the check.
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


def measure(rounds: int = ROUNDS, *, is_brief: bool = False) -> dict[str, Any]:
    """Open every page `rounds` times, alternating, and return medians and ratios. Brief: our page and ALTCHA at
    once."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="agentgate-bench-")))
        process = stack.enter_context(serving(folder / "service"))
        pages = stack.enter_context(page_server(process.public_url))
        rivals = stack.enter_context(_rivals())
        chosen = (AT_ONCE,) if is_brief else RIVAL_PAGES
        names = {"ours": _our_page(process, pages), **{name: f"{rivals.url}/{RIVAL_PAGES[name]}" for name in chosen}}
        readme = [] if is_brief else [f"{rivals.url}/altcha-readme"] * min(rounds, README_ROUNDS)
        seen = asyncio.run(_open_all(folder / "browser", names, rounds, readme))
        return {**_figures(seen), "cap_wasm": rivals.has_wasm}


async def _open_all(folder: Path, names: dict[str, str], rounds: int, readme: list[str]) -> dict[str, list[Opened]]:
    seen: dict[str, list[Opened]] = {}
    async with windowed_chromium(folder) as browser:
        for number in range(rounds + 1):
            opened = await _round(browser, names)
            # The first round only warms up servers and browser.
            for name, found in opened.items() if number else ():
                seen.setdefault(name, []).append(found)
        for url in readme:
            async with Profile(browser) as profile:
                seen.setdefault("altcha readme", []).append(await _open(profile, url))
    return seen


async def _round(browser: Protocol, names: dict[str, str]) -> dict[str, Opened]:
    opened = {}
    for name, url in names.items():
        async with Profile(browser) as profile:
            opened[name] = await _open(profile, url)
            if name in WARM:
                opened[f"{name}, warm"] = await _open(profile, url)
        # ALTCHA's own half second would hide the latency.
        if name != "altcha":
            async with Profile(browser) as profile:
                opened[f"{name}, latency"] = await _open(profile, url, latency_ms=LATENCY_MS)
    return opened


async def _open(profile: Profile, url: str, latency_ms: int = 0) -> Opened:
    tab = await profile.open_tab()
    await tab.call("Network.enable")
    if latency_ms:
        limits = {"offline": False, "latency": latency_ms, "downloadThroughput": -1, "uploadThroughput": -1}
        await tab.call("Network.emulateNetworkConditions", **limits)
    sizes: dict[str, int] = {}
    documents: set[str] = set()

    def note(method: str, event: dict[str, Any]) -> None:
        if method == "Network.responseReceived" and event["type"] == "Document":
            documents.add(event["requestId"])
        elif method == "Network.loadingFinished":
            sizes[event["requestId"]] = event["encodedDataLength"]

    tab.listen(note)
    await tab.call("Page.navigate", url=url)
    token_ms = await _wait_for_token(tab, url)
    await asyncio.sleep(POLL_S)
    # A response from the cache has a transfer size of 0.
    sent = [size for name, size in sizes.items() if size and name not in documents]
    await tab.close()
    return Opened(token_ms, len(sent), int(sum(sent)))


async def _wait_for_token(tab: Tab, url: str) -> float:
    """Poll rarely: each poll takes a moment of the page's own thread."""
    for _ in range(int(WAIT_S / POLL_S)):
        token_ms, failure, is_shown = await tab.evaluate(LOOK) or (None, None, False)
        if failure or is_shown:
            raise RuntimeError(f"{url}: {failure or 'the check was shown'}")
        if token_ms:
            return float(token_ms)
        await asyncio.sleep(POLL_S)
    raise RuntimeError(f"{url}: no token after {WAIT_S} s")


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
    for rival in [name for name in RIVAL_PAGES if name in medians]:
        figures[f"ratio_to_{_key(rival)}"] = medians["ours"] / medians[rival]
        if f"{rival}, latency" in medians:
            figures[f"latency_ratio_to_{_key(rival)}"] = medians["ours, latency"] / medians[f"{rival}, latency"]
    figures["warm_ratio_to_altcha_at_once"] = medians["ours, warm"] / medians[f"{AT_ONCE}, warm"]
    for name in [name for name in ("ours", "ours, warm", "altcha", "cap") if name in seen]:
        figures[f"{_key(name)}_requests"] = statistics.median(found.requests for found in seen[name])
        figures[f"{_key(name)}_wire_bytes"] = statistics.median(found.wire_bytes for found in seen[name])
    return figures


def _key(name: str) -> str:
    return name.replace(", ", "_").replace(" ", "_")


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=ROUNDS)
    options.add_argument("--brief", action="store_true", help="our page and ALTCHA at once alone: a minute and a half")
    chosen = options.parse_args()
    for name, value in measure(chosen.rounds, is_brief=chosen.brief).items():
        print(f"{name:<34}{value:>12.2f}" if isinstance(value, float) else f"{name:<34}{value!s:>12}")


if __name__ == "__main__":
    main()
