"""Fills a store for the console and times every page of it: `python -m bench.browser.pages <folder> [--events N]`.

The events are the demo's own, decided by the real engine, and come again over 31 days, all of one site. A folder that
is filled already is only measured. Each page is opened in a new tab with an empty cache and timed from the navigation
until what the page is about is on it; the median of three rounds is printed, and pages above a second fail the run.
"""

import argparse
import asyncio
import os
import random
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from playwright.sync_api import Browser

from agentgate.events.decision_ids import first_id
from agentgate.events.records import Event, Pattern, Repeated
from agentgate.lib.clock import DAY_MS, SystemClock
from agentgate.lib.settings.schema import read_settings
from agentgate.server.application import Application
from agentgate.server.demo.installation import DEMO_SITE_KEY, seed
from agentgate.server.demo.traffic import Traffic
from tests.browser.chromium import running_chromium
from tests.browser.console.furniture import sign_in_operator
from tests.browser.console.page_lists import CONSOLE_PAGES, MANAGEMENT_PAGES, OPERATOR_PAGES
from tests.browser.console.steps import EMAIL, PASSWORD, Console, sign_in
from tests.support.api_client import ApiClient
from tests.support.processes import environment, serving
from tests.support.service import ADMIN_KEY

DAYS = 31
BATCH = 10_000
VISITS_EACH = 50
ROUNDS = 3
WANTED_MS = 1_000
WAIT_MS = 30_000
# A list of the longest range, and lists that exclude most of the events.
WIDE_PAGES = {
    f"/console/sites/{DEMO_SITE_KEY}/overview?range=30d": ".chart polyline",
    f"/console/sites/{DEMO_SITE_KEY}/decisions?range=30d&label=ua.http_library": "tbody .out",
    f"/console/sites/{DEMO_SITE_KEY}/visitors?range=30d": "tbody code",
}
# The page's content, or its empty state: the bench does not invite users or create webhooks.
NOTHING = "main .empty"


async def fill(folder: Path, total: int) -> None:
    """Write the demo's site and its events, and roll up the days that have ended."""
    clock = SystemClock()
    settings = read_settings({**environment(folder, {}), **os.environ})
    application = await Application.open(settings, clock=clock)
    try:
        await seed(application.stores.store, clock)
        await application.refresher.prepare()
        site = application.refresher.sites.find(DEMO_SITE_KEY)
        worker = application.refresher.ids.worker
        assert site is not None
        assert worker is not None
        patterns = list(Traffic(application.refresher.decider, site, clock, worker=worker).events())
        began_s = time.perf_counter()
        for batch in repeated(patterns, total, until_ms=clock.now_ms()):
            await application.stores.events.write(batch)
        await application.stores.events.close_days(now_ms=clock.now_ms())
        print(f"{total:,} events in {time.perf_counter() - began_s:.0f} s", flush=True)
    finally:
        await application.close()


def repeated(events: list[Event], total: int, *, until_ms: int) -> Iterator[list[Repeated]]:
    """Yield batches of events in the order of time. Each batch is of one day."""
    chance = random.Random(7)
    patterns = [Pattern(event) for event in events]
    visitors = [chance.getrandbits(64) for _ in range(max(total // VISITS_EACH, 50))]
    first_ms = until_ms - DAYS * DAY_MS
    batch: list[Repeated] = []
    day = first_ms // DAY_MS
    for place in range(total):
        moment_ms = first_ms + place * DAYS * DAY_MS // total
        if len(batch) == BATCH or moment_ms // DAY_MS != day:
            yield batch
            batch, day = [], moment_ms // DAY_MS
        # A few visitors are behind many events.
        visitor = visitors[int(len(visitors) * chance.random() ** 2)]
        pattern = patterns[place % len(patterns)]
        batch.append(Repeated(first_id(moment_ms) + place % 4_000, visitor, chance.randrange(10, 200), pattern))
    yield batch


def connect(public_url: str, admin_url: str) -> Console:
    """Return the parts that the tests' steps need of a service in a separate process."""
    service: Any = SimpleNamespace(
        public_url=public_url,
        admin_url=admin_url,
        public=ApiClient(public_url),
        operator=ApiClient(admin_url, headers={"X-Admin-Key": ADMIN_KEY}),
        new_public_client=lambda: ApiClient(public_url),
    )
    return Console(service)


def measure(browser: Browser, console: Console) -> dict[str, float]:
    """Return the milliseconds of each page: the median of some rounds."""
    pages = {console.url + path: there for path, there in (CONSOLE_PAGES | WIDE_PAGES | MANAGEMENT_PAGES).items()}
    pages |= {console.admin_url + path: there for path, there in OPERATOR_PAGES.items()}
    took: dict[str, list[float]] = {url: [] for url in pages}
    for _ in range(ROUNDS):
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        sign_in(context.new_page(), console)
        sign_in_operator(context.new_page(), console)
        for url, there in pages.items():
            page = context.new_page()
            context.new_cdp_session(page).send("Network.clearBrowserCache")
            began_s = time.perf_counter()
            page.goto(url, wait_until="commit")
            page.locator(f"{there}, {NOTHING}").first.wait_for(timeout=WAIT_MS)
            took[url].append((time.perf_counter() - began_s) * 1000)
            page.close()
        context.close()
    return {url: statistics.median(each) for url, each in took.items()}


def main() -> int:
    """Fill the folder unless it is filled, and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--events", type=int, default=10_000_000)
    given = parser.parse_args()
    if not (given.folder / "data").exists():
        given.folder.mkdir(parents=True, exist_ok=True)
        asyncio.run(fill(given.folder, given.events))
    with serving(given.folder) as process, running_chromium() as chromium, chromium.in_use() as browser:
        console = connect(process.public_url, process.admin_url)
        joined = console.service.public.post("/v1/account/login", json={"email": EMAIL, "password": PASSWORD})
        if not joined.is_success:
            console.join(console.invite(EMAIL), PASSWORD)
        found = measure(browser, console)
        print(f"load average {os.getloadavg()[0]:.1f}")
        for url, took_ms in sorted(found.items(), key=lambda each: -each[1]):
            print(f"{took_ms:8.0f} ms  {url.partition('://')[2].partition('/')[2]}")
    return 0 if max(found.values()) <= WANTED_MS else 1


if __name__ == "__main__":
    sys.exit(main())
