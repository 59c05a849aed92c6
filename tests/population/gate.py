"""The population put to the gateway's own function, without a network. `population_proxies.py` goes through proxies."""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from agentgate.lib.clock import FixedClock
from agentgate.lib.settings.schema import Settings, read_settings
from agentgate.lib.telemetry import logs
from agentgate.server.application import Application
from tests.population.clearances import PassedChecks
from tests.population.crawlers import CRAWLER_NAMES
from tests.population.programs import WEBHOOKS
from tests.population.sent import Sent
from tests.population.visitors import ORIGIN
from tests.support.dns_server import dns_server
from tests.support.processes import ADMIN_KEY

SITE_KEY = "site_population"
NOON_MS = 1_767_268_800_000
# No routes, the server's rules, enforce mode. Its owner declared feeds, webhooks, and repositories.
SITE = {
    "name": "Population",
    "siteKey": SITE_KEY,
    "mode": "enforce",
    "allowedOrigins": [ORIGIN],
    "feeds": [
        "/feed",
        "/feed/",
        "/feed.xml",
        "/rss.xml",
        "/news.rss",
        "/events.ics",
        "/team.ics",
        "/calendar/team.ics",
    ],
    "wantedPrograms": ["Siteimprove.com"],
    "openPaths": [
        {"path": path, "sender": "programs"}
        for path in sorted({"/index/*", "/thing", "/repo.git/*", "/example.org/*"} | {each[3] for each in WEBHOOKS})
    ],
}
# Requests per event-loop iteration. Events are written between two iterations.
AT_ONCE = 64
LOOKUP_S = 0.003

Tell = Callable[[Sent, bool], None]
Ask = Callable[[Sent], Awaitable[bool]]


@contextmanager
def settings_in(folder: Path) -> Iterator[Settings]:
    """Give the settings of a service on the loopback, whose name server has the names of the population's crawlers."""
    with dns_server() as names:
        for address, name in CRAWLER_NAMES.items():
            names.point(address, name)
        yield _settings(folder, names.port)


def _settings(folder: Path, dns_port: int) -> Settings:
    return read_settings(
        {
            "AGENTGATE_DATA_DIR": str(folder),
            "AGENTGATE_PUBLIC_LISTEN": "127.0.0.1:0",
            "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
            "AGENTGATE_ADMIN_KEY": ADMIN_KEY,
            "AGENTGATE_DRAIN_SECONDS": "0",
            "AGENTGATE_DNS_SERVERS": f"127.0.0.1:{dns_port}",
        }
    )


def run_in_process(sent: Iterable[Sent], tell: Tell, *, site: dict[str, Any] | None = None) -> None:
    """Ask the gateway's own function, without a network. Time is the population's."""
    logs.configure("json", "error")
    with (
        tempfile.TemporaryDirectory(prefix="agentgate-population-") as folder,
        settings_in(Path(folder)) as settings,
    ):
        asyncio.run(_run_in_process(sent, tell, settings, {**SITE, **(site or {})}))


async def _run_in_process(sent: Iterable[Sent], tell: Tell, settings: Settings, site: dict[str, Any]) -> None:
    clock = FixedClock(NOON_MS)
    application = await Application.open(settings, clock=clock)
    await application.start()
    try:
        secret = await create_site(application, site)
        gate, checks = application.gateway.check, PassedChecks(application, SITE_KEY)

        async def ask(request: Sent) -> bool:
            answer = gate.take(write_check(request, secret))
            return status_of(await answer if isinstance(answer, Awaitable) else answer) < 300

        for number, request in enumerate(sent):
            if "crawler" in request.kind:
                # The test clock does not move by itself, but the name server's response takes real time.
                await asyncio.sleep(LOOKUP_S)
            clock.advance(ms=NOON_MS + request.at_ms - clock.now_ms())
            await put(request, ask, tell, checks, clock.now_ms())
            if number % AT_ONCE == 0:
                await asyncio.sleep(0)
    finally:
        await application.close()


async def put(sent: Sent, ask: Ask, tell: Tell, checks: PassedChecks, now_ms: int) -> None:
    """Check a request and report the outcome: people pass a challenge, and load the page again."""
    shown = checks.show(sent)
    passed = await ask(shown)
    if not passed and (again := checks.solve(sent, now_ms)) is not None:
        shown, passed = again, await ask(again)
    tell(shown, passed)


async def create_site(application: Application, site: dict[str, Any]) -> str:
    """Create the site and return its secret."""
    host, port = application.admin_address
    key = {"X-Admin-Key": ADMIN_KEY}
    async with httpx.AsyncClient(base_url=f"http://{host}:{port}", headers=key, timeout=60) as operator:
        (await operator.post("/v1/admin/sites", json=site)).raise_for_status()
        made = await operator.post(f"/v1/admin/sites/{SITE_KEY}/credentials", json={"name": "population"})
        # The gateway's function leaves checks to the parser until it has read the change.
        await application.refresher.sites.await_refresh()
        return str(made.raise_for_status().json()["secret"])


def write_check(request: Sent, secret: str) -> bytes:
    """Return the check as a proxy asks it."""
    left_out = {"host", "connection", "te", "content-length", "transfer-encoding"}
    lines = "".join(f"{name}: {value}\r\n" for name, value in request.headers if name.lower() not in left_out)
    return (
        f"GET /v1/gateway/check HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {secret}\r\n"
        f"X-Original-Method: {request.method}\r\nX-Original-URL: {request.url}\r\n"
        f"X-Original-Address: {request.address}\r\n{lines}\r\n"
    ).encode("latin-1")


def status_of(answer: Any) -> int:
    """Return the status of a response of the gateway's function."""
    if answer is None:
        msg = "the check was not taken; a head of the population is not one whole GET"
        raise ValueError(msg)
    if isinstance(answer, tuple):
        return int(answer[0].split(b" ", 2)[1])
    return int(answer.status)
