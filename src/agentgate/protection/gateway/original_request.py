"""The original request: what the adapter says that the visitor asked for. Nothing of it is taken from the visitor."""

import re
from collections.abc import Mapping
from typing import TypeVar

from msgspec import Struct

from agentgate.http.address import canonical_address
from agentgate.lib.errors import Refused
from agentgate.protection.sites.validate import canonical_origin

Headers = Mapping[bytes, bytes]
Text = TypeVar("Text", str, bytes)

# What Traefik sends and cannot rename.
FORWARDED = (
    b"x-forwarded-method",
    b"x-forwarded-proto",
    b"x-forwarded-host",
    b"x-forwarded-uri",
    b"x-forwarded-for",
)
LONGEST_METHOD = 32
# Origins, addresses and URLs of late, in their canonical form: making them costs more than a lookup.
MOST_REMEMBERED = 20_000
MOST_URLS, LONGEST_URL = 8_192, 512

# A method is a token (RFC 9110 5.6.2). Two of them, joined because the header came twice, are none.
_METHOD = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z", re.ASCII)
_USUAL_METHODS = {name.encode(): name for name in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")}
# Scheme and authority, then what the server behind will see. No user, no fragment, and nothing that ends a header.
# Each character is a byte: bytes of raw UTF-8 such as A0 and 85 are blanks to a pattern of text, and here they are not.
_URL = re.compile(r"(https?://[^/?#@\s\\]+)((?:/[^#\s]*)?)\Z", re.IGNORECASE | re.ASCII)


# Origin, target and path.
Asked = tuple[str, str, str]


class Original(Struct, frozen=True, gc=False):
    """The visitor's request."""

    method: str
    origin: str
    # Undecoded, with its query; and the part of it before the `?`.
    target: str
    path: str
    address: str


class OriginalReader:
    """Reads the adapter's headers. What is wrong is said in one sentence, for whoever sets the adapter up."""

    def __init__(self) -> None:
        self._origins: dict[str, str] = {}
        self._addresses: dict[bytes, str] = {}
        # As they were sent.
        self._urls: dict[bytes, Asked] = {}

    def read(self, headers: Headers) -> Original | str:
        """Return the original request, or what is wrong with it."""
        method = headers.get(b"x-original-method")
        url = headers.get(b"x-original-url")
        address = headers.get(b"x-original-address")
        if method is None and url is None and address is None:
            return self._read_forwarded(headers)
        if method is None or url is None or address is None:
            return "X-Original-Method, X-Original-URL and X-Original-Address must all be there"
        parts = self._urls.get(url)
        found = self._addresses.get(address)
        usual = _USUAL_METHODS.get(method)
        if parts is None or found is None or usual is None:
            return self._original(method.decode("latin-1"), url, address)
        origin, target, path = parts
        return Original(usual, origin, target, path, found)

    def read_url(self, url: bytes) -> Asked | None:
        """Return origin, target and path of an original URL; None when it is none."""
        return self._urls.get(url) or self._new_url(url)

    def read_address(self, address: bytes) -> str:
        """Return an original address in its canonical form; nothing when it is none."""
        return self._addresses.get(address) or self._new_address(address)

    def _new_url(self, url: bytes) -> Asked | None:
        match = _URL.match(url.decode("latin-1"))
        origin = "" if match is None else self._origins.get(match[1]) or self._new_origin(match[1])
        if match is None or not origin:
            return None
        target = match[2] or "/"
        asked = origin, target, target.partition("?")[0]
        if len(url) <= LONGEST_URL:
            if len(self._urls) >= MOST_URLS:
                self._urls.clear()
            self._urls[url] = asked
        return asked

    def _read_forwarded(self, headers: Headers) -> Original | str:
        values = [headers.get(name) for name in FORWARDED]
        if None in values:
            return "X-Original-Method, X-Original-URL and X-Original-Address are missing"
        method, scheme, host, target, addresses = (value.decode("latin-1") for value in values if value is not None)
        # The proxy in front of us appended the last one itself; those before it are hearsay.
        address = addresses.rpartition(",")[2].strip().encode("latin-1")
        return self._original(method, f"{scheme}://{host}{target}".encode("latin-1"), address)

    def _original(self, method: str, url: bytes, address: bytes) -> Original | str:
        if len(method) > LONGEST_METHOD or not _METHOD.match(method):
            return "the original method is not one method"
        asked = self.read_url(url)
        if asked is None:
            return "the original URL is not one absolute http or https URL of a well-formed host"
        found = self.read_address(address)
        return Original(method, *asked, found) if found else "the original address is malformed"

    def _new_origin(self, text: str) -> str:
        try:
            origin = canonical_origin(text)
        except Refused:
            return ""
        return _remember(self._origins, text, origin)

    def _new_address(self, text: bytes) -> str:
        return _remember(self._addresses, text, canonical_address(text.decode("latin-1")) or "")


def _remember(known: dict[Text, str], text: Text, value: str) -> str:
    # Visitors choose hosts and addresses, so what is remembered is bounded.
    if len(known) >= MOST_REMEMBERED:
        known.clear()
    if value:
        known[text] = value
    return value
