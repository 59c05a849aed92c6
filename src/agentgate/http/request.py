"""One HTTP request as handlers and guards see it: raw path, checked headers, byte-exact cookies."""

import re
from functools import lru_cache
from urllib.parse import unquote_plus

from agentgate.lib.errors import Refused

Headers = list[tuple[bytes, bytes]]

_COOKIE_VALUE = re.compile(rb"[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*\Z")


class Request:
    """The method, target and headers of a request. The body is read later, once the caller is known."""

    __slots__ = ("_first", "address", "headers", "method", "path", "query_string", "secure")

    def __init__(
        self, *, method: str, path: str, query_string: bytes, headers: Headers, address: str, secure: bool
    ) -> None:
        self.method = method
        self.path = path
        self.query_string = query_string
        self.headers = headers
        self.address = address
        self.secure = secure
        # The first value of each name, once one is read.
        self._first: dict[bytes, bytes] | None = None

    def header(self, name: str) -> str | None:
        """Return a header's value, or None. The protocol class rejects duplicates of headers that decide anything."""
        if self._first is None:
            self._first = dict(reversed(self.headers))
        value = self._first.get(_field_name(name))
        return None if value is None else value.decode("latin-1")

    def cookie(self, name: str) -> str | None:
        """Return a cookie's value; None when it is absent, malformed, or there twice with different values.

        A sibling domain can plant a second cookie of our name. Which of the two a parser picks is luck, so none is.
        """
        wanted = name.encode("ascii")
        found: set[bytes] = set()
        for key, value in self.headers:
            if key == b"cookie":
                # The spaces may be anywhere or nowhere; overlooking a pair for that would be luck as well.
                pairs = (pair.partition(b"=") for pair in value.split(b";"))
                found |= {content.strip(b" \t") for label, _, content in pairs if label.strip(b" \t") == wanted}
        if len(found) != 1:
            return None
        value = found.pop()
        return value.decode("ascii") if _COOKIE_VALUE.match(value) else None

    def query(self) -> dict[str, str]:
        """Return the parameters behind the `?`; reject a duplicate, or one that is not UTF-8."""
        parameters: dict[str, str] = {}
        if not self.query_string:
            return parameters
        for pair in filter(None, self.query_string.decode("latin-1").split("&")):
            name, _, value = pair.partition("=")
            try:
                name, value = unquote_plus(name, errors="strict"), unquote_plus(value, errors="strict")
            except UnicodeDecodeError:
                raise Refused("invalid_filter", "The query string must be percent-encoded UTF-8.") from None
            if "\0" in name + value:
                raise Refused("invalid_filter", "The query string must not contain the character NUL (%00).")
            if name in parameters:
                raise Refused("invalid_filter", f"{name} is given more than once. Send it once.")
            parameters[name] = value
        return parameters


# Names come from code, never from a client.
@lru_cache(maxsize=256)
def _field_name(name: str) -> bytes:
    return name.lower().encode("ascii")


def joined_headers(request: Request) -> dict[bytes, bytes]:
    """Return the headers by name, those that came more than once joined as HTTP joins them."""
    joined: dict[bytes, bytes] = {}
    for name, value in request.headers:
        joined[name] = joined[name] + b", " + value if name in joined else value
    return joined


# Browsers' headers are short; the rest of a long one is ignored.
LONGEST_HEADER = 512

_TAG = re.compile(r"\s*([A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*)\s*(?:;\s*[qQ]\s*=\s*([01](?:\.[0-9]{0,3})?)\s*)?\Z")


def preferred_languages(header: str | None) -> list[str]:
    """Return the language tags by weight; of equal weights the first one comes first."""
    weighed: list[tuple[float, str]] = []
    for part in (header or "")[:LONGEST_HEADER].split(","):
        match = _TAG.match(part)
        if match is not None and (weight := float(match[2] or 1)) > 0:
            weighed.append((-weight, match[1]))
    return [tag for _, tag in sorted(weighed, key=lambda each: each[0])]
