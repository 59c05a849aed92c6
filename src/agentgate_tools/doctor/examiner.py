"""The doctor's checks inside the service, with requests to public addresses only."""

import asyncio
import contextlib
import ssl
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from agentgate.http.outbound.client import OutboundFailed, SiteOutbound, look_up
from agentgate.lib.clock import Clock
from agentgate.lib.errors import Refused
from agentgate.lib.settings.schema import Settings
from agentgate.lib.tasks.turns import Turns
from agentgate.sites.records import Examined, SiteFinding
from agentgate_tools.doctor.application_checks import check_application
from agentgate_tools.doctor.asking import USUAL, Asked, Headers, NoAnswer, Site
from agentgate_tools.doctor.checks import (
    SCANNER,
    Installation,
    check_exposure,
    check_gate,
    check_leaks,
    check_transport,
)
from agentgate_tools.doctor.examine import by_cause, check_reachable
from agentgate_tools.doctor.feed_checks import feeds_on
from agentgate_tools.doctor.findings import Finding, failed
from agentgate_tools.doctor.page_checks import check_page
from agentgate_tools.doctor.seen_checks import check_told, with_site_key

# Concurrent tests in a worker, the longest duration of one, and how long a test waits for its turn.
AT_ONCE = 4
WHOLE_S = 15.0
WAIT_S = 20.0
NOT_REACHED = (
    "Check the site's address and its DNS. For a host with a private address, an operator can add it to "
    "AGENTGATE_SITE_PRIVATE_HOSTS; or run `agentgate doctor` where the site is reachable."
)


class GuardedSite(Site):
    """Sends requests through the service's event loop, from another thread."""

    def __init__(self, url: str, outbound: SiteOutbound, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(url)
        self._outbound, self._loop = outbound, loop
        self._ends_s = time.monotonic() + WHOLE_S

    def ask(
        self, method: str, path: str, *, headers: Headers = (), body: bytes = b"", source: str | None = None
    ) -> Asked:
        """Send a request to the checked address; the service has one source address only."""
        del source
        given = {name.lower() for name, _ in headers}
        sent = [*(each for each in USUAL if each[0].lower() not in given), *headers, ("Connection", "close")]
        sent += [("Content-Length", str(len(body)))] if body or method == "POST" else []
        asked = asyncio.run_coroutine_threadsafe(
            self._outbound.ask(method, f"{self.origin}{path}", sent, body), self._loop
        )
        try:
            answer = asked.result(max(0.0, self._ends_s - time.monotonic()))
        except OutboundFailed as reason:
            raise NoAnswer(reason.reason) from None
        except TimeoutError:
            asked.cancel()
            raise NoAnswer(f"the test took more than {WHOLE_S:g} seconds") from None
        begins, ends = (answer.certificate.get(name) for name in ("notBefore", "notAfter"))
        return Asked(
            status=answer.status,
            headers=tuple(answer.headers.items()),
            body=answer.body,
            certificate_begins_s=ssl.cert_time_to_seconds(begins) if begins else 0.0,
            certificate_ends_s=ssl.cert_time_to_seconds(ends) if ends else 0.0,
            peer=answer.peer,
        )


class DoctorExaminer:
    def __init__(self, settings: Settings, clock: Clock, outbound: SiteOutbound | None = None) -> None:
        # Separate threads: a name server that never responds would occupy the threads of the whole service.
        names = ThreadPoolExecutor(AT_ONCE, "site-test-names")
        self._outbound = outbound or SiteOutbound(
            frozenset(settings.site_private_hosts), resolve=partial(look_up, threads=names)
        )
        self._clock = clock
        self._threads = ThreadPoolExecutor(AT_ONCE, "site-test")
        # An account with slow sites holds one place, however many tests it starts.
        self._turns = Turns(AT_ONCE, of_account=1)

    async def examine(self, origin: str, account_id: str) -> Examined:
        """Return what was found, as soon as it is the account's turn; reject the call if that takes WAIT_S."""
        if self._turns.count(account_id):
            raise Refused("rate_limited", "Another site of this account is being tested. Try again in a minute.")
        loop = asyncio.get_running_loop()
        async with contextlib.AsyncExitStack() as place:
            try:
                async with asyncio.timeout(WAIT_S):
                    await place.enter_async_context(self._turns.wait(account_id))
            except TimeoutError:
                raise Refused("rate_limited", "Other sites are being tested. Try again in a minute.") from None
            # The time of a test begins here.
            site = GuardedSite(origin, self._outbound, loop)
            return await loop.run_in_executor(self._threads, self._examine, site)

    def _examine(self, site: Site) -> Examined:
        try:
            home = site.ask("GET", "/")
            refused = site.ask("GET", "/", headers=[("User-Agent", SCANNER)])
        except NoAnswer as silent:
            return Examined(_shown([failed("reachable", f"no response: {silent}", NOT_REACHED)]), [])
        return Examined(_shown(self._findings(site, home, refused)), feeds_on(site, home))

    def _findings(self, site: Site, home: Asked, refused: Asked) -> Iterator[Finding]:
        installation = with_site_key(Installation(site=site, clock=self._clock))
        yield check_reachable(home)
        yield check_application(site, home)
        yield from check_transport(installation, home)
        yield from check_gate(installation, home)
        yield from check_page(site)
        yield from check_told(installation, home)
        yield from check_exposure(installation)
        yield check_leaks(home, refused)


def _shown(findings: Iterable[Finding]) -> list[SiteFinding]:
    return [
        SiteFinding(check=each.check, state=each.state, found=each.found, fix=each.fix)
        for each in by_cause(list(findings))
    ]
