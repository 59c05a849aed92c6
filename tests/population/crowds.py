"""People behind one address: an office, a school, a carrier. Who is challenged, and does everyone reach the page?

A challenged person passes the check, gets a clearance and loads the page again, as the challenge page does.
"""

import asyncio
import tempfile
from collections import Counter
from collections.abc import Awaitable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from agentgate.lib.clock import MINUTE_MS, FixedClock
from agentgate.lib.telemetry import logs
from agentgate.server.application import Application
from tests.population.clearances import PassedChecks
from tests.population.gate import NOON_MS, SITE, SITE_KEY, create_site, settings_in, status_of, write_check
from tests.population.sent import Sent, Should
from tests.population.visitors import Request, Visitor, population

ADDRESS = "81.2.69.160"
SEED = 51
# Parts of each page: files, pictures without a file extension, a fetch.
FILES = (("style", "/a.css"), ("script", "/a.js"), *(("image", f"/i{number}.png") for number in range(6)))
PARTS = (*FILES, ("image", "/picture/{}"), ("image", "/picture/2"), ("empty", "/api/cart"))


class Crowd(NamedTuple):
    """Outcomes of the page views of a crowd."""

    pages: int
    challenged: int
    # Page views that the person did not reach after the challenge, and blocked subresources.
    broken: int
    parts_refused: int
    # The most challenges of one browser.
    most_of_a_browser: int

    @property
    def share(self) -> float:
        """The share of challenged page views."""
        return self.challenged / self.pages


def run_crowd(people: int, *, minutes: float, pages: int, alike: bool = False) -> Crowd:
    """Run so many people who open so many pages each within this time, all behind one address.

    `alike`: all with the browser of the first, as on an office's machines.
    """
    logs.configure("json", "error")
    with tempfile.TemporaryDirectory(prefix="agentgate-crowd-") as folder, settings_in(Path(folder)) as settings:
        return asyncio.run(_run(settings, _visits(people, minutes=minutes, pages=pages, alike=alike)))


def _visits(people: int, *, minutes: float, pages: int, alike: bool) -> Iterator[tuple[int, int, Visitor, int]]:
    """Yield moment, number, visitor and page, in the order of time: pages of one person are some seconds apart."""
    chance, found = Random(SEED), []
    visitors = list(population(SEED, people, pages=pages + 1))
    for number, visitor in enumerate(visitors[:1] * people if alike else visitors):
        whole_ms = minutes * MINUTE_MS
        apart_ms = min(20_000, whole_ms / pages / 2)
        start_ms = chance.uniform(0, whole_ms - apart_ms * (pages - 1))
        mine = replace(visitor, address=ADDRESS)
        found += [(int(start_ms + page * apart_ms), number, mine, page) for page in range(pages)]
    yield from sorted(found, key=lambda each: each[:2])


async def _run(settings: Any, visits: Iterator[tuple[int, int, Visitor, int]]) -> Crowd:
    clock = FixedClock(NOON_MS)
    application = await Application.open(settings, clock=clock)
    await application.start()
    checks = PassedChecks(application, SITE_KEY)
    challenges: Counter[int] = Counter()
    cookies: dict[int, str] = {}
    views = broken = refused = 0

    async def ask(request: Request) -> int:
        sent = Sent("people", "", "GET", request.url, request.headers, ADDRESS, Should.PASS, 0)
        answer = application.gateway.check.take(write_check(sent, secret))
        return status_of(await answer if isinstance(answer, Awaitable) else answer)

    try:
        secret = await create_site(application, SITE)
        for at_ms, number, visitor, page in visits:
            clock.advance(ms=NOON_MS + at_ms - clock.now_ms())
            views += 1
            cookie = cookies.get(number, "")
            request = visitor.first_navigation() if page == 0 else visitor.navigation(page, cookie)
            if await ask(request) >= 300:
                challenges[number] += 1
                cookie = cookies[number] = checks.issue(ADDRESS, visitor.browser.user_agent, clock.now_ms())
                again = visitor.navigation(max(page, 1), cookie)
                broken += await ask(again) >= 300
            for destination, path in PARTS:
                refused += await ask(visitor.part(destination, path.format(views), page=page, clearance=cookie)) >= 300
            if views % 20 == 0:
                await asyncio.sleep(0)
    finally:
        await application.close()
    return Crowd(views, challenges.total(), broken, refused, max(challenges.values(), default=0))
