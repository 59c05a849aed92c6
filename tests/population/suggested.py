"""The population's programs on a site whose owner declared feeds only: what is suggested, and who passes after that.

Services send from several networks, so each program comes from as many as a suggestion needs.
"""

import asyncio
import tempfile
from collections.abc import Awaitable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from agentgate.decision.signals.detectors.user_agent import slug
from agentgate.lib.clock import MINUTE_MS, FixedClock
from agentgate.lib.telemetry import logs
from agentgate.server.application import Application
from agentgate_tools.doctor.feeds import feeds_of
from tests.population.gate import NOON_MS, SITE_KEY, create_site, settings_in, status_of, write_check
from tests.population.programs import Program, programs
from tests.population.sent import Sent, Should
from tests.population.visitors import ORIGIN
from tests.support.processes import ADMIN_KEY

NETWORKS = 6
# The front page of the site links its feeds, as pages do.
FRONT_PAGE = b"".join(
    b'<link rel="alternate" type="application/rss+xml" href="%b">' % feed
    for feed in (b"/blog/feed/", b"/?feed=rss2", b"/feed.json", b"/comments/feed/", b"/news.rss", b"/rss")
)


class Suggested(NamedTuple):
    """What became of the programs."""

    # Programs of which some request was refused before, and after all suggestions were accepted.
    before: list[str]
    after: list[str]
    accepted: list[str]
    feeds: list[str]


def run_programs(*, whole_site: bool = False, only: tuple[str, ...] = ()) -> Suggested:
    """Run the programs of these kinds, or of all, before and after an owner accepts every suggestion."""
    logs.configure("json", "error")
    with (
        tempfile.TemporaryDirectory(prefix="agentgate-population-") as folder,
        settings_in(Path(folder)) as settings,
    ):
        return asyncio.run(_run(settings, whole_site=whole_site, only=only))


async def _run(settings: Any, *, whole_site: bool, only: tuple[str, ...]) -> Suggested:
    clock = FixedClock(NOON_MS)
    application = await Application.open(settings, clock=clock)
    await application.start()
    feeds = feeds_of(ORIGIN + "/", FRONT_PAGE)
    site = {"name": "New", "siteKey": SITE_KEY, "mode": "enforce", "allowedOrigins": [ORIGIN], "wholeSite": whole_site}
    try:
        secret = await create_site(application, {**site, "feeds": ["/feed", "/feed/", "/feed.xml", *feeds]})
        wanted = [each for each in programs() if not only or each.kind in only]
        before = [name async for name in _refused(application, clock, secret, wanted)]
        await application.gateway.suggestions.save()
        accepted = await _accept_all(application, wanted)
        after = [name async for name in _refused(application, clock, secret, wanted)]
    finally:
        await application.close()
    return Suggested(before, after, accepted, feeds)


async def _refused(application: Application, clock: FixedClock, secret: str, wanted: list[Program]) -> Any:
    """Yield the programs that are refused at least once. Each sends one request a minute from each network."""
    await application.refresher.sites.await_refresh()
    for program in wanted:
        is_refused = False
        for request in _requests(program):
            clock.advance(ms=MINUTE_MS)
            answer = application.gateway.check.take(write_check(request, secret))
            if isinstance(answer, Awaitable):
                answer = await answer
            is_refused |= status_of(answer) >= 300
        await application.gateway.suggestions.save()
        await asyncio.sleep(0)
        if is_refused:
            yield f"{program.kind}: {program.name}"


def _requests(program: Program) -> Iterator[Sent]:
    first, second, _, last = program.address.split(".")
    agent = () if program.user_agent is None else (("User-Agent", program.user_agent),)
    headers = [("Host", ORIGIN.partition("://")[2]), *agent, *program.headers]
    for number in range(NETWORKS):
        address = ".".join((first, second, str(100 + number), last)).format(7 + number)
        url = ORIGIN + program.path
        yield Sent(program.kind, program.name, program.method, url, headers, address, Should.PASS, 0)


async def _accept_all(application: Application, wanted: list[Program]) -> list[str]:
    host, port = application.admin_address
    key, place = {"X-Admin-Key": ADMIN_KEY}, f"/v1/admin/sites/{SITE_KEY}/suggestions"
    accepted = []
    async with httpx.AsyncClient(base_url=f"http://{host}:{port}", headers=key, timeout=60) as operator:
        for found in (await operator.get(place)).json()["items"]:
            # An owner knows which path of the program is behind a masked one.
            name = found.get("program", "")
            paths = [each.path.partition("?")[0] for each in wanted if name in slug(each.user_agent or "")]
            for path in [None] if "opens" in found else paths:
                body = {} if path is None else {"path": path}
                made = await operator.post(f"{place}/{found['id']}/accept", json=body)
                if made.status_code == 200:
                    opens = made.json()["opens"]
                    accepted.append(f"{opens['method']} {opens['path']} to {opens['sender']}")
                    break
    return accepted
