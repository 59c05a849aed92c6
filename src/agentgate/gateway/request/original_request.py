"""The original request, as the adapter reports it in headers. No part of it is taken from headers of the visitor."""

import re
from collections.abc import Container, Mapping
from functools import lru_cache

from msgspec import Struct

from agentgate.http.address import canonical_address
from agentgate.lib.errors import Refused
from agentgate.sites.validate import canonical_origin

Headers = Mapping[bytes, bytes]

# Headers of Traefik, which it cannot rename.
FORWARDED = (
    b"x-forwarded-method",
    b"x-forwarded-proto",
    b"x-forwarded-host",
    b"x-forwarded-uri",
    b"x-forwarded-for",
)
# Only a complete set has one of these. The others alone come from a proxy between the adapter and
# the service, and describe its own connection.
FORWARDED_REQUEST = frozenset((b"x-forwarded-method", b"x-forwarded-uri"))
LONGEST_METHOD = 32

INCOMPLETE = "X-Original-Method, X-Original-URL and X-Original-Address must all be present"
MISSING = "X-Original-Method, X-Original-URL and X-Original-Address are missing"
CONTRADICTION = (
    "X-Forwarded-* and X-Original-* describe different requests; the adapter must send only one of the two sets"
)
BAD_METHOD = "the original method is not a single method"
BAD_URL = "the original URL is not an absolute http or https URL with a valid host"
BAD_ADDRESS = "the original address is malformed"

# A method is a token (RFC 9110 5.6.2). Two of them, joined because the header came twice, are none.
_METHOD = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z", re.ASCII)
# Scheme and authority, then the target. No user, no fragment, and nothing that ends a header.
_URL = re.compile(rb"(https?://[^/?#@\s\\]+)((?:/[^#\s]*)?)\Z", re.IGNORECASE)


class Malformed(Exception):  # noqa: N818 - says what it is
    """The original request is invalid. The message is one sentence for the person who sets up the adapter."""


class Original(Struct, frozen=True, gc=False):
    """The visitor's request."""

    method: str
    origin: str
    # Undecoded, with its query; and the part of it before the `?`.
    target: str
    path: str
    address: str


def read_original(headers: Headers) -> Original:
    """Return the original request; raise if it is invalid."""
    method, url, address = read_parts(headers)
    return Original(check_method(method), *read_url(url), read_address(address))


def method_header(names: Container[bytes]) -> bytes:
    """Return the header in which the adapter sends the method, given all header names."""
    is_original = b"x-original-url" in names or b"x-original-method" in names
    return b"x-original-method" if is_original else b"x-forwarded-method"


def read_parts(headers: Headers) -> tuple[str, bytes, bytes]:
    """Return method, URL and address as the adapter sent them."""
    method = headers.get(b"x-original-method")
    url = headers.get(b"x-original-url")
    address = headers.get(b"x-original-address")
    if method is not None and url is not None and address is not None:
        if not FORWARDED_REQUEST.isdisjoint(headers):
            _check_agreement(headers, method, url, address)
        return method.decode("latin-1"), url, address
    if method is not None or url is not None or address is not None:
        raise Malformed(INCOMPLETE)
    values = [headers.get(name) for name in FORWARDED]
    if None in values:
        raise Malformed(MISSING)
    method, scheme, host, target, addresses = (value for value in values if value is not None)
    # The proxy in front of us appended the last one itself; those before it are hearsay.
    return method.decode("latin-1"), scheme + b"://" + host + target, addresses.rpartition(b",")[2].strip()


def _check_agreement(headers: Headers, method: bytes, url: bytes, address: bytes) -> None:
    """Reject a second set of headers with another request: the adapter forwarded a forged set, or is misconfigured."""
    scheme, _, rest = url.partition(b"://")
    at = min((at for at in map(rest.find, (b"/", b"?")) if at >= 0), default=len(rest))
    said = (method, scheme.lower(), rest[:at].lower(), rest[at:], address)
    for name, expected in zip(FORWARDED, said, strict=True):
        value = headers.get(name)
        if value is not None and _as_said(name, value) != expected:
            raise Malformed(CONTRADICTION)


def _as_said(name: bytes, value: bytes) -> bytes:
    if name == b"x-forwarded-for":
        return value.rpartition(b",")[2].strip()
    return value.lower() if name in (b"x-forwarded-proto", b"x-forwarded-host") else value


def check_method(method: str) -> str:
    """Return a valid method; raise otherwise."""
    if len(method) > LONGEST_METHOD or _METHOD.match(method) is None:
        raise Malformed(BAD_METHOD)
    return method


def read_address(text: bytes) -> str:
    """Return a canonical address; raise if it is invalid."""
    address = canonical_address(text.decode("latin-1"))
    if address is None:
        raise Malformed(BAD_ADDRESS)
    return address


def read_url(url: bytes) -> tuple[str, str, str]:
    """Return origin, target and path of an original URL."""
    start, target = split_url(url)
    text = target.decode("latin-1")
    return read_origin(start), text, text.partition("?")[0]


def split_url(url: bytes) -> tuple[bytes, bytes]:
    """Return scheme and authority of an original URL, and its target, as they were sent."""
    match = _URL.match(url)
    if match is None:
        raise Malformed(BAD_URL)
    return match[1], match[2] or b"/"


@lru_cache(maxsize=256)
def read_origin(start: bytes) -> str:
    """Return scheme and authority in canonical form."""
    try:
        return canonical_origin(start.decode("latin-1"))
    except Refused:
        raise Malformed(BAD_URL) from None
