"""Requests as printed adapters describe them, and the form of response that they ask for.

`?respond=` selects `X-AgentGate-Request: METHOD ADDRESS [name=value ...] URL`, `?request=forwarded` the headers of
Traefik. The adapter fixes that query. Headers never select the source, because a visitor can send any.

A described request is rewritten to the three `X-Original-*` headers, so that everything behind reads one form.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct

from agentgate.gateway.request.original_request import FORWARDED, FORWARDED_REQUEST, Headers, Malformed
from agentgate.gateway.request.target_headers import ClaimedRequest
from agentgate.http.bearer_secret import SECRET_HEADER, shown_secret
from agentgate.http.connection.head import Cut
from agentgate.http.request_guard import judge_host
from agentgate.sites import request_matcher

REQUEST_HEADER = b"x-agentgate-request"
JA4_HEADER = b"x-ja4"
PREFIX_HEADER = b"x-forwarded-prefix"
OVERRIDE_HEADER = b"x-method-override"
# Names for what the description adds. No client can send a name with a colon.
TARGETS, HOST, FORGED, LENGTH, BODY = b":targets", b":host", b":forged", b":length", b":body"
DENIAL, VISITOR = "denial", "visitor"
# Paths of the site's own origin that an adapter passes on to the service.
OWN_PREFIX = "/.agentgate/"

BAD_REQUEST = "X-AgentGate-Request must be: METHOD ADDRESS [host=NAME] [length=BYTES] [ja4=FINGERPRINT] URL"
BAD_FORWARDED = "X-Forwarded-Method, -Proto, -Host, -Uri and -For must all be present"
BAD_QUERY = "respond must be denial or visitor, and request must be forwarded"

_NAMED = re.compile(rb"(host|length|ja4)=(.*)\Z", re.DOTALL)
_CLOSING_DOT = re.compile(rb"\.(?=:|\Z)")
_SITE_PREFIX = re.compile(rb"/site_[A-Za-z0-9_-]{4,64}\Z")
_LENGTH = re.compile(rb"[0-9]{0,19}\Z")
_RESPONDS = {b"respond=denial": DENIAL, b"respond=visitor": VISITOR}


class CheckForm(Struct, frozen=True, gc=False):
    """The source of the described request, and the form of the response. The default is the specified form."""

    # `denial` seals denials for a second step, `visitor` returns the final response.
    respond: str = ""
    is_forwarded: bool = False
    is_ok_200: bool = False
    is_wrong: bool = False

    @property
    def is_described(self) -> bool:
        return bool(self.respond) or self.is_forwarded or self.is_wrong


SPECIFIED = CheckForm()
BY_LINE = CheckForm(respond=DENIAL)


@lru_cache(maxsize=256)
def read_form(query: bytes) -> CheckForm:
    """Return the form that a check's query selects."""
    pairs = query.split(b"&") if query else []
    found = [_RESPONDS.get(pair) for pair in pairs if pair.startswith(b"respond=")]
    sources = [pair == b"request=forwarded" for pair in pairs if pair.startswith(b"request=")]
    respond = found[0] if found else ""
    is_wrong = None in found or False in sources or len(found) > 1
    return CheckForm(respond or "", True in sources, b"ok=200" in pairs, is_wrong)


def secret_of(headers: Headers, form: CheckForm) -> bytes | None:
    """Return the secret that a check shows. With a description, `Authorization` is the visitor's."""
    return headers.get(SECRET_HEADER) if form.respond else shown_secret(headers)


class DescribedRequest(Struct, frozen=True, gc=False):
    """The parts of a description, as they were sent."""

    method: bytes
    address: bytes
    url: bytes
    host: bytes | None = None
    # Bytes of the body that the adapter can send in a second step.
    length: int = 0
    ja4: bytes | None = None


def read_description(line: bytes | None) -> DescribedRequest:
    """Return the parts of `X-AgentGate-Request`; raise for anything else than its grammar."""
    parts = (line or b"").split(b" ")
    if len(parts) < 3 or not all(parts):
        raise Malformed(BAD_REQUEST)
    named: dict[bytes, bytes] = {}
    for part in parts[2:-1]:
        match = _NAMED.match(part)
        if match is None or match[1] in named:
            raise Malformed(BAD_REQUEST)
        named[match[1]] = match[2]
    length = named.get(b"length", b"")
    if _LENGTH.match(length) is None:
        raise Malformed(BAD_REQUEST)
    host, ja4 = named.get(b"host"), named.get(b"ja4")
    return DescribedRequest(parts[0], parts[1], parts[-1], host, int(length or 0), ja4 or None)


def as_specified(found: Cut) -> Cut | None:
    """Return a cut head with the described request instead of `X-Original-*`, and the method in its key.

    None where the description has more than values that are in no key.
    """
    try:
        said = read_description(found[5])
    except Malformed:
        return None
    if said.length or said.ja4 is not None or (said.host is not None and not _is_printed(said)):
        return None
    return (b"%b\n%b" % (found[0], said.method), *found[1:3], said.url, said.address, *found[5:])


def read_forwarded(headers: Headers) -> DescribedRequest:
    """Return the request that Traefik describes."""
    values = [headers.get(name) for name in FORWARDED]
    if None in values:
        raise Malformed(BAD_FORWARDED)
    method, scheme, host, target, addresses = (value or b"" for value in values)
    # An origin has no closing dot. Hosts are compared by name.
    authority = _CLOSING_DOT.sub(b"", host)
    # Traefik appends the address of its client. A visitor can send the addresses before it.
    return DescribedRequest(method, addresses.rpartition(b",")[2].strip(), scheme + b"://" + authority + target, host)


def describe(headers: Headers, form: CheckForm, body: bytes = b"") -> dict[bytes, bytes]:
    """Return the headers with the described request as `X-Original-*`; raise if the description is invalid."""
    if form.is_wrong:
        raise Malformed(BAD_QUERY)
    said = read_forwarded(headers) if form.is_forwarded else read_description(headers.get(REQUEST_HEADER))
    headers = _without_own_prefix(headers, form)
    ignored = FORWARDED if form.is_forwarded else ()
    claimed = ClaimedRequest({name: value for name, value in headers.items() if name not in ignored})
    kept = {name: value for name, value in headers.items() if not _is_adapters(name) and name not in claimed.names}
    kept[b"x-original-method"], kept[b"x-original-url"], kept[b"x-original-address"] = (
        said.method,
        said.url,
        said.address,
    )
    if said.ja4 is not None:
        kept[JA4_HEADER] = said.ja4
    if claimed.methods:
        overrides = (kept[OVERRIDE_HEADER],) if OVERRIDE_HEADER in kept else ()
        kept[OVERRIDE_HEADER] = b",".join((*overrides, *claimed.methods))
    if claimed.targets:
        kept[TARGETS] = claimed.joined
    if said.host is not None:
        claimed.is_forged |= judge_host(said.host) is not None
        if form.is_forwarded or not _is_printed(said):
            kept[HOST] = said.host
    if claimed.is_forged:
        kept[FORGED] = b""
    if body:
        kept[BODY] = body
    if said.length:
        kept[LENGTH] = b"%d" % said.length
    # Envoy, which alone needs 200, sends headers in no particular order. Sorted headers are not judged by their order.
    return dict(sorted(kept.items())) if form.is_ok_200 else kept


def _without_own_prefix(headers: Headers, form: CheckForm) -> Headers:
    """Return the headers without the prefix that Traefik's second router removes from the path and appends here."""
    earlier, _, last = headers.get(PREFIX_HEADER, b"").rpartition(b",")
    if not form.is_forwarded or _SITE_PREFIX.match(last.strip()) is None:
        return headers
    kept = {name: value for name, value in headers.items() if name != PREFIX_HEADER}
    return {**kept, PREFIX_HEADER: earlier} if earlier.strip() else kept


def origin_at(origins: Iterable[str], printed: str, host: bytes) -> tuple[str, bool]:
    """Return the origin of the host that the proxy routes by, and whether the site has it.

    Hosts are compared by name. Scheme and port are taken from the site's origin.
    """
    wanted = host_name(host)
    found = next((each for each in sorted(origins) if host_name(each.partition("://")[2].encode()) == wanted), None)
    return found or printed, found is not None


def host_name(host: bytes) -> str:
    """Return a host's name without port and closing dot."""
    return request_matcher.host_name(host.decode("latin-1"))


def _is_printed(said: DescribedRequest) -> bool:
    """Return whether the proxy routes by the host of the printed origin."""
    printed = said.url.partition(b"://")[2].partition(b"/")[0].partition(b"?")[0]
    return said.host == printed or (said.host is not None and host_name(said.host) == host_name(printed))


@lru_cache(maxsize=4_096)
def _is_adapters(name: bytes) -> bool:
    """Return whether only an adapter may send this header, so that a visitor's is not read."""
    return name in (REQUEST_HEADER, JA4_HEADER) or name.startswith(b"x-original-") or name in FORWARDED_REQUEST
