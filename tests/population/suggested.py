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
    """Outcomes of the programs."""

    # Programs with at least one blocked request: before any suggestion, and after all were accepted.
    before: list[str]
    after: list[str]
    accepted: list[str]
    # Acceptances of one or several suggestions with the same evidence.
    clicks: int
    feeds: list[str]

    @property
    def line(self) -> str:
        """Return the line for the owner of a new site."""
        return (
            f"Programs of a new site: {len(self.before)} refused; {len(self.accepted)} suggestions accepted in "
            f"{self.clicks} steps; then refused: {', '.join(self.after) or 'none'}."
        )


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
        accepted, clicks = await _accept_all(application, wanted)
        after = [name async for name in _refused(application, clock, secret, wanted)]
    finally:
        await application.close()
    return Suggested(before, after, accepted, clicks, feeds)


async def _refused(application: Application, clock: FixedClock, secret: str, wanted: list[Program]) -> Any:
    """Yield the programs that are blocked at least once. Each sends one request a minute from each network."""
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


async def _accept_all(application: Application, wanted: list[Program]) -> tuple[list[str], int]:
    host, port = application.admin_address
    key, place = {"X-Admin-Key": ADMIN_KEY}, f"/v1/admin/sites/{SITE_KEY}/suggestions"
    accepted: list[str] = []
    clicks = 0
    async with httpx.AsyncClient(base_url=f"http://{host}:{port}", headers=key, timeout=60) as operator:
        listed = (await operator.get(place)).json()["items"]
        # Those that need no exact path, together for each kind of evidence, as the console's buttons do.
        for is_kind in (_is_proven, _is_signed, _is_named):
            ready = [each for each in listed if "opens" in each and is_kind(each)]
            if not ready:
                continue
            body = {"also": [each["id"] for each in ready[1:]]}
            made = await operator.post(f"{place}/{ready[0]['id']}/accept", json=body)
            assert made.status_code == 200, made.text
            clicks += 1
            accepted += [_opened(each["opens"]) for each in ready]
        for found in (each for each in listed if "opens" not in each):
            # An owner knows which path of the program is behind a masked one.
            name = found.get("program", "")
            for path in [each.path.partition("?")[0] for each in wanted if name in slug(each.user_agent or "")]:
                made = await operator.post(f"{place}/{found['id']}/accept", json={"path": path})
                if made.status_code == 200:
                    clicks += 1
                    accepted.append(_opened(made.json()["opens"]))
                    break
    return accepted, clicks


def _opened(opens: dict[str, Any]) -> str:
    return f"{opens['method']} {opens['path']} to {opens['sender']}"


def _is_proven(found: dict[str, Any]) -> bool:
    return bool(found["proven"])


def _is_signed(found: dict[str, Any]) -> bool:
    return not found["proven"] and "sender" in found


def _is_named(found: dict[str, Any]) -> bool:
    return not found["proven"] and "sender" not in found
