"""Admission to the check: site, action, page origin and rate limits, in the order of the contract."""

import re
from dataclasses import replace
from typing import Protocol
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from agentgate.browser_check.clusters import JA4_HEADER, JA4_NAME
from agentgate.browser_check.repository import Binding
from agentgate.browser_check.testing_sites import testing_sites
from agentgate.decision.visitor import Visitors
from agentgate.events.recorder import Recorder
from agentgate.events.records import CounterName
from agentgate.http.address import canonical_address, source_of
from agentgate.http.bearer_secret import SECRET_HEADER, bearer_secret
from agentgate.http.call import Call
from agentgate.http.request import Headers, Request
from agentgate.lib import limits
from agentgate.lib.clock import MINUTE_MS
from agentgate.lib.enums import Mode, WidgetMode
from agentgate.lib.errors import Refused
from agentgate.lib.limiter import Limiter, Window
from agentgate.lib.records import ACTION_PATTERN
from agentgate.sites.directory import SiteDirectory, SiteView
from agentgate.sites.validate import canonical_origin

ADDRESS = b"x-original-address"


def as_seen_by_adapter(call: Call, sites: SiteDirectory, site_key: str) -> Call:
    """Return the call with the visitor's address and without the adapter's headers, except the JA4 fingerprint.

    A call that no adapter of the site forwarded has no TLS fingerprint: the visitor's own header is dropped.
    """
    request = call.request
    addresses = [value for name, value in request.headers if name == ADDRESS]
    secrets = [secret for secret in map(_secret, request.headers) if secret is not None]
    if len(addresses) != 1 or not secrets:
        return _without_handshake(call)
    # As at the gateway: the adapter's own header takes precedence over `Authorization`, which may be the visitor's.
    secret = next((value for name, value in request.headers if name == SECRET_HEADER), secrets[0])
    caller = sites.find_caller(secret, now_ms=call.now)
    address = canonical_address(addresses[0].decode("latin-1"))
    if caller is None or caller.site.site_key != site_key or address is None:
        return _without_handshake(call)
    seen = Request(
        method=request.method,
        path=request.path,
        query_string=request.query_string,
        headers=_of_visitor(request.headers, secret),
        address=address,
        secure=request.secure,
    )
    return replace(call, request=seen)


def _without_handshake(call: Call) -> Call:
    request = call.request
    if request.header(JA4_HEADER) is None:
        return call
    seen = Request(
        method=request.method,
        path=request.path,
        query_string=request.query_string,
        headers=[(name, value) for name, value in request.headers if name != JA4_NAME],
        address=request.address,
        secure=request.secure,
    )
    return replace(call, request=seen)


def _secret(header: tuple[bytes, bytes]) -> bytes | None:
    name, value = header
    if name == SECRET_HEADER:
        return value
    return bearer_secret(value) if name == b"authorization" else None


def _of_visitor(headers: Headers, secret: bytes) -> Headers:
    return [
        (name, value)
        for name, value in headers
        if not name.startswith(b"x-original-") and _secret((name, value)) != secret
    ]


_ACTION = re.compile(ACTION_PATTERN, re.ASCII)


class OwnPage(Struct, frozen=True):
    """A page of the service itself that runs the check of a site for one action."""

    site: SiteView
    action: str


class OwnPages(Protocol):
    """Pages of the service itself. Each has its own key, and its tokens are valid for that page only."""

    # Prefix of these keys; no site key has it.
    prefix: str

    async def find_page(self, key: str, *, now_ms: int) -> OwnPage | None:
        """Return the page with this key; None if unknown or expired."""


class CallBudget(Struct, frozen=True):
    """How often an address, and all addresses of a site together, may call one route."""

    per_address: Window
    per_site: Window


CHALLENGES = CallBudget(
    Window("browser-challenge-address", limits.CHALLENGES_PER_MINUTE_PER_ADDRESS, MINUTE_MS),
    Window("browser-challenge-site", limits.CHALLENGES_PER_MINUTE_PER_SITE, MINUTE_MS),
)
# Counted with the challenges of an address: above half of the limit the work is at its highest level. People
# behind one address open pages, which count elsewhere; few of them are checked within one minute.
MANY_CHALLENGES = Window(CHALLENGES.per_address.name, CHALLENGES.per_address.most // 2, MINUTE_MS)
VERIFICATIONS = CallBudget(
    Window("browser-verify-address", limits.VERIFICATIONS_PER_MINUTE_PER_ADDRESS, MINUTE_MS),
    Window("browser-verify-site", limits.VERIFICATIONS_PER_MINUTE_PER_SITE, MINUTE_MS),
)
INSTRUMENTS = Window("browser-instrument-address", limits.INSTRUMENTS_PER_MINUTE_PER_ADDRESS, MINUTE_MS)


class AdmittedPage(Struct, frozen=True, kw_only=True):
    """An admitted page: site, action, origin, visitor."""

    site: SiteView
    # A test key: its tokens are test tokens, and no event is recorded.
    test: bool
    action: str
    origin: str
    # The same number as in `binding`, which has it as text.
    visitor: int

    @property
    def binding(self) -> Binding:
        """The binding of a challenge that is issued to this page."""
        return Binding(site=self.site.number, action=self.action, origin=self.origin, visitor=f"{self.visitor:016x}")


class CheckAdmission:
    """Admits pages that may run the check; rejects the others with the reason."""

    def __init__(
        self,
        sites: SiteDirectory,
        *,
        visitors: Visitors,
        limiter: Limiter,
        recorder: Recorder,
    ) -> None:
        self._sites = sites
        # Pages of the service itself; the room that has them sets this.
        self.own_pages: OwnPages | None = None
        self._visitors = visitors
        self._limiter = limiter
        self._recorder = recorder
        self._testing = testing_sites()
        self._testing_by_number = {view.number: view for view in self._testing.values()}

    async def admit(self, call: Call, site_key: str, action: str, budget: CallBudget) -> AdmittedPage:
        """Return the admitted page, counted against the budget; reject any other."""
        if self.own_pages is not None and site_key.startswith(self.own_pages.prefix):
            return await self._admit_own(call, site_key, action, budget, self.own_pages)
        test = site_key in self._testing
        site = self._testing.get(site_key) or self._sites.find(site_key)
        if site is None:
            raise Refused("site_invalid")
        if site.disabled:
            raise Refused("site_disabled")
        if not _ACTION.match(action) or not (test or action in site.actions):
            raise Refused("action_invalid")
        origin = page_origin(call.request)
        if origin is None or not (test or origin in site.origins):
            raise self.denied(site, call)
        # Last, so that the error of a misconfigured page is not hidden by a rate limit.
        await self._spend(budget.per_address, source_of(call.request.address))
        await self._spend(budget.per_site, site.site_key)
        visitor = self._visitors.find(site.site_key, call.request.address)
        return AdmittedPage(site=site, test=test, action=action, origin=origin, visitor=visitor)

    async def _admit_own(self, call: Call, key: str, action: str, budget: CallBudget, pages: OwnPages) -> AdmittedPage:
        """Let a page of the service itself run a site's check. No other page may use its key."""
        await self._spend(budget.per_address, source_of(call.request.address))
        page = await pages.find_page(key, now_ms=call.now)
        if page is None:
            raise Refused("site_invalid", "This page has expired. Ask the sender for a new link.")
        if action != page.action:
            raise Refused("action_invalid")
        origin = page_origin(call.request)
        if origin is None or not _is_own(call.request, origin):
            raise Refused("origin_denied")
        await self._spend(budget.per_site, page.site.site_key)
        visitor = self._visitors.find(page.site.site_key, call.request.address)
        # Its token names the page and not the site, so that no site's server accepts it. The interactive challenge is
        # always required, and monitor mode must not pass visitors who do not solve it: a person's approval cannot be
        # revoked.
        site = msgspec.structs.replace(
            page.site, site_key=key, mode=Mode.ENFORCE, widget_mode=WidgetMode.INTERACTIVE, actions={}
        )
        return AdmittedPage(site=site, test=False, action=action, origin=origin, visitor=visitor)

    async def see(self, call: Call, site_key: str) -> Call:
        """Return the call as the visitor made it, if the site's own adapter forwarded it."""
        # The credential or the site may have been created a moment ago.
        await self._sites.await_refresh_if_possible()
        return as_seen_by_adapter(call, self._sites, site_key)

    async def is_flood(self, call: Call) -> bool:
        """Return whether so many challenges went to an address within the minute that a program asks for them."""
        return await self._limiter.is_over(MANY_CHALLENGES, source_of(call.request.address))

    async def admit_program(self, call: Call) -> None:
        """Count a request for a program. Its site is known from the challenge only."""
        await self._spend(INSTRUMENTS, source_of(call.request.address))

    def find_site(self, number: int) -> SiteView | None:
        """Return the site that a challenge is bound to; None when there is none any more."""
        site = self._testing_by_number.get(number) or self._sites.find_by_number(number)
        return None if site is None or site.disabled else site

    def visitor_of(self, site: SiteView, call: Call) -> str:
        """Return the caller's 16 hex digits at a site."""
        return f"{self._visitors.find(site.site_key, call.request.address):016x}"

    def denied(self, site: SiteView, call: Call) -> Refused:
        """Count an origin that is not the site's, and return the error."""
        sent = call.request.header("origin")
        origin = page_origin(call.request) or ("null" if sent == "null" else None)
        # Only origins that a browser can send are counted by name.
        if origin is not None and site.site_key not in self._testing:
            self._recorder.count(site.number, CounterName.ORIGIN_REFUSED, origin, now_ms=call.now)
        if sent is None:
            return Refused("origin_denied", "The Origin header is missing. Run the check from a page of the site.")
        return Refused("origin_denied")

    async def _spend(self, window: Window, subject: str) -> None:
        if not await self._limiter.count(window, subject):
            raise Refused("rate_limited")


def page_origin(request: Request) -> str | None:
    """Return the page's origin as the site has it; None when there is none, or one that no site can have.

    Within one origin browsers send no Origin with a GET, but the SDK makes them name it as the referrer.
    """
    sent = request.header("origin")
    if sent is None and request.method == "GET":
        return _referrer_origin(request)
    return _canonical(sent)


def is_from(request: Request, origin: str) -> bool:
    """Return whether a GET comes from a page of an origin, also where the browser keeps the referrer to itself."""
    if request.header("origin") is None and request.header("sec-fetch-site") == "same-origin":
        return True
    return page_origin(request) == origin


def _is_own(request: Request, origin: str) -> bool:
    """Return whether the page is one of the service itself."""
    site = request.header("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    # The scheme is ignored: behind a proxy that terminates TLS, this service sees http where the browser saw https.
    return origin.partition("://")[2] == (request.header("host") or "").lower()


def _referrer_origin(request: Request) -> str | None:
    try:
        referrer = urlsplit(request.header("referer") or "")
    except ValueError:
        return None
    return _canonical(f"{referrer.scheme}://{referrer.netloc}")


def _canonical(text: str | None) -> str | None:
    if text is None:
        return None
    try:
        return canonical_origin(text)
    except Refused:
        return None
