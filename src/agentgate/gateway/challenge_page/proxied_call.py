"""ProxiedCall: a call that an adapter forwarded, with its site, original request and visitor."""

import re
from typing import Any
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from agentgate.decision.engine import Ruling
from agentgate.decision.visitor import Visitors
from agentgate.events.decision_ids import read_id
from agentgate.gateway.answers import Answers
from agentgate.gateway.challenge_page.sealed_token import PageHolder
from agentgate.gateway.request.described_request import (
    HOST,
    OWN_PREFIX,
    SPECIFIED,
    CheckForm,
    describe,
    origin_at,
    secret_of,
)
from agentgate.gateway.request.fleet_requests import URL, read_fleet_request
from agentgate.gateway.request.navigation import framed_by, is_navigation
from agentgate.gateway.request.original_request import Malformed, Original, read_original
from agentgate.http.call import Call
from agentgate.http.replies import Reply, Text
from agentgate.http.request import joined_headers
from agentgate.lib.enums import Outcome
from agentgate.lib.errors import Refused
from agentgate.lib.ids import write_visitor
from agentgate.sites.credentials.uses import CredentialUses
from agentgate.sites.directory import SiteDirectory, SiteView
from agentgate.sites.validate import canonical_origin

LONGEST = 4096
_AS_IT_IS = "".join(map(chr, range(0x21, 0x7F)))

_ANSWERS = Answers()
_ADDRESS = re.compile(r"(https?://[^/?#@\s\\]+)?(/[\x21-\x7e]*)?\Z", re.ASCII | re.IGNORECASE)


def is_own(path: str) -> bool:
    return path.startswith(OWN_PREFIX)


def return_of(original: Original, asked: str | None) -> str:
    """Return the return URL: the original URL, or for the service's own paths the one in the query."""
    if not is_own(original.path):
        # Bytes past ASCII are not decoded yet; a browser would take them for letters and encode them again.
        return original.origin + quote(original.target, safe=_AS_IT_IS, encoding="latin-1")
    return within(original.origin, asked) or f"{original.origin}/"


def back_of(original: Original, referer: str | None) -> str:
    """Return the page of a form that has to be sent again."""
    return within(original.origin, referer) or f"{original.origin}/"


def within(origin: str, address: str | None) -> str | None:
    """Return an absolute URL of this origin; None for other origins, and for the service's own paths."""
    if not address or len(address) > LONGEST or address.startswith(("//", "/\\")):
        return None
    match = _ADDRESS.match(address)
    if match is None or not (match[1] or match[2]):
        return None
    try:
        is_same = match[1] is None or canonical_origin(match[1]) == origin
    except Refused:
        return None
    target = match[2] or "/"
    return origin + target if is_same and not is_own(target) else None


class ProxiedCall(Struct, frozen=True):
    """A forwarded call: site, original request, visitor, headers."""

    call: Call
    site: SiteView
    original: Original
    visitor: int
    # The visitor's headers, those that came more than once joined as HTTP joins them.
    headers: dict[bytes, bytes]

    @property
    def holder(self) -> PageHolder:
        """The holder that sealed tokens are bound to."""
        return PageHolder(self.site.id, self.site.site_key, self.original.origin, write_visitor(self.visitor))

    @property
    def is_navigation(self) -> bool:
        """Return whether a browser displays the response as a page."""
        return is_navigation(self.call.request.header, self.original.method)

    @property
    def framed(self) -> str:
        """Whether the page is loaded into a frame: empty, `same` (site), or `cross`."""
        return framed_by(self.call.request.header)

    @property
    def is_same_origin(self) -> bool:
        """Whether a page of the original origin sent this. Missing headers count as no."""
        return self.call.request.header("origin") == self.original.origin


class Denied(Exception):  # noqa: N818 - says what happened
    """The call results in a denial of the gateway check, with its reason and an explanation."""

    def __init__(self, reason: str, hint: str | None = None, *, outcome: Outcome = Outcome.BLOCK) -> None:
        super().__init__(reason)
        self.ruling = Ruling(outcome, reason, hint=hint)


def deny(ruling: Ruling, decision_id: str | None = None) -> Reply[Any]:
    """Return the denial for programs."""
    made = _ANSWERS.write(ruling, None if decision_id is None else read_id(decision_id))
    headers = tuple((name.decode(), value.decode("latin-1")) for name, value in made.headers if name != b"content-type")
    return Reply(body=Text(made.body, "application/json"), status=made.status, headers=headers)


class ProxiedCallReader:
    """Reads forwarded calls. It raises the same errors as the gateway check."""

    def __init__(self, sites: SiteDirectory, visitors: Visitors, uses: CredentialUses) -> None:
        self._sites = sites
        self._visitors = visitors
        self._uses = uses

    @property
    def may_wait(self) -> bool:
        """Whether `read` may have to wait for a change of the configuration."""
        return not self._sites.is_fresh

    async def read(self, call: Call, form: CheckForm = SPECIFIED, *, same_origin: bool = False) -> ProxiedCall:
        """Return the call, or raise Denied. With `same_origin`, only a page of the site itself may have sent it."""
        await self._sites.await_refresh_if_possible()
        headers = joined_headers(call.request)
        secret = secret_of(headers, form)
        caller = None if secret is None else self._sites.find_caller(secret, now_ms=call.now)
        fleet = None if secret is None or caller is not None else self._sites.fleets.find_caller(secret)
        if caller is None and fleet is None:
            raise Denied("invalid_credential")
        try:
            if form.is_described:
                headers = describe(headers, form)
            if fleet is not None:
                asked = read_fleet_request(self._sites, fleet, headers.get(URL))
                caller, headers = asked.caller, asked.rewrite(headers)
            assert caller is not None, "a fleet has a site, or it raises"
            self._uses.note(caller.credential_id, call.now)
            original = read_original(headers)
        except Malformed as problem:
            raise Denied("invalid_request", str(problem)) from None
        if HOST in headers:
            origin, _ = origin_at(caller.site.origins, original.origin, headers[HOST])
            original = replace(original, origin=origin)
        visitor = self._visitors.find(caller.site.site_key, original.address)
        proxied = ProxiedCall(call, caller.site, original, visitor, headers)
        if same_origin and not proxied.is_same_origin:
            raise Denied("invalid_request", "The Origin header must be the origin of the page itself.")
        return proxied
