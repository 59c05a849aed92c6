"""Header layout: the names of a check's headers and their order, without the values.

Visitors have thousands of header sets and a few dozen layouts, so all this is worked out once per layout.
"""

import re
from collections.abc import Iterable, Sequence

from agentgate.decision.signals.words import WORDS
from agentgate.events.correlation import CORRELATED
from agentgate.gateway.receipts import JA4, TOKEN_HEADER
from agentgate.gateway.request.described_request import FORGED, HOST, TARGETS
from agentgate.gateway.request.original_request import FORWARDED_REQUEST, method_header
from agentgate.gateway.request.target_headers import names_target
from agentgate.gateway.route_protection import MethodClaims
from agentgate.http.connection.head import OF_CONNECTION
from agentgate.http.connection.head_names import KEPT
from agentgate.http.request_guard import MAX_HEADERS, is_plain_name, judge_host, judge_target
from agentgate.sites.request_methods import OVERRIDE_HEADERS, has_fields

# The TLS handshake, as an adapter that can see it writes it down.
# The adapter's own headers, which say nothing about the visitor.
ADAPTERS = (b":", b"x-original-", b"x-agentgate-", b"x-forwarded-", b"authorization", b"x-service-", JA4, *CORRELATED)
# A request with one of these comes from an agent, or claims to.
SIGNED = frozenset((b"signature-input", b"signature", b"crawler-max-price", b"crawler-exact-price"))
# Other headers that may identify the request.
_FURTHER = FORWARDED_REQUEST | {TARGETS, HOST}
# Headers of browsers that a server that posts to another does not send.
BROWSER_HEADERS = frozenset(
    (b"cookie", b"origin", b"sec-fetch-mode", b"sec-fetch-dest", b"accept-language", b"referer")
)
# Headers in which services sign their webhooks. HTTP message signatures (RFC 9421) are checked, as an agent's.
_WEBHOOK_NAMES = frozenset(WORDS.webhook_headers)
_WEBHOOK_FORM = re.compile(r"(?:.*-)?(?:signature|hmac\w*|hmacsignature|webhook)(?:-.*)?\Z", re.ASCII)
_OF_AGENTS = frozenset({"signature", "signature-input", "signature-agent", "accept-signature"})
_ORIGINAL = frozenset((b"x-original-method", b"x-original-url", b"x-original-address"))

# Values that header signals read. Of `Accept` and the languages they read the form, of the User-Agent its view.
READ_VALUES = frozenset(KEPT) - {JA4}


class HeaderLayout:
    """The names of a check's headers, in the order of arrival, and where the values are that are read."""

    __slots__ = (
        "_content_length",
        "_host",
        "accept",
        "content_type",
        "has_browser_headers",
        "has_fetch_metadata",
        "has_token",
        "is_complete",
        "is_forged",
        "is_plain",
        "is_signed",
        "ja4",
        "method",
        "overrides",
        "read_places",
        "retargets",
        "signatures",
        "visitor_names",
        "visitor_places",
    )

    def __init__(self, arrived: tuple[bytes, ...]) -> None:
        names = tuple(map(bytes.lower, arrived))
        places = {name: place for place, name in enumerate(names)}
        # The parser would read the same: no header is repeated, needs further parsing or describes the connection.
        self.is_plain = (
            len(places) == len(names) <= MAX_HEADERS
            and all(map(is_plain_name, names))
            and b"host" in places
            and OF_CONNECTION.isdisjoint(places)
        )
        self._host, self._content_length = places.get(b"host"), places.get(b"content-length")
        self.method = places.get(method_header(places))
        self.overrides = tuple(places[name] for name in OVERRIDE_HEADERS if name in places)
        # The adapter's own headers describe the request. If `X-Original-URL` is present, the forwarded headers are from
        # the visitor.
        adapters = _ORIGINAL if b"x-original-url" in places else FORWARDED_REQUEST
        self.retargets = any(map(names_target, places.keys() - adapters))
        self.has_browser_headers = not BROWSER_HEADERS.isdisjoint(places)
        self.has_fetch_metadata = b"sec-fetch-mode" in places
        self.content_type = places.get(b"content-type")
        self.ja4 = places.get(JA4)
        # The visitor's own headers. Signals read some of them.
        self.visitor_places = tuple(place for place, name in enumerate(names) if not name.startswith(ADAPTERS))
        self.visitor_names = tuple(names[place].decode("latin-1") for place in self.visitor_places)
        self.read_places = tuple(place for place in self.visitor_places if names[place] in READ_VALUES)
        self.accept = next((i for i, place in enumerate(self.read_places) if names[place] == b"accept"), None)
        self.signatures = _webhook_signatures(name.decode("latin-1") for name in names)
        self.has_token = TOKEN_HEADER in places
        self.is_signed = not SIGNED.isdisjoint(places)
        # The adapter described the original request completely in its own headers, and no others describe it.
        self.is_complete = places.keys() >= _ORIGINAL and _FURTHER.isdisjoint(places)
        # A header that only AgentGate may send, or a Host that is none.
        self.is_forged = FORGED in places

    def is_fit(self, target: bytes, values: Sequence[bytes]) -> bool:
        """Return whether raw headers may skip the parser, which would read the same and accept it."""
        if not self.is_plain or self._host is None or judge_target(target) is not None:
            return False
        if self._content_length is not None and values[self._content_length] != b"0":
            return False
        return judge_host(values[self._host]) is None

    def claims(self, method: str, values: Sequence[bytes]) -> MethodClaims:
        # Of several overrides, any may be the one that the server behind obeys, also one without a value.
        overrides = tuple([values[place] for place in self.overrides]) if self.overrides else ()
        if method != "POST":
            return MethodClaims(method, overrides, retargets=self.retargets)
        has_body_fields = has_fields(_value_at(self.content_type, values))
        return MethodClaims(method, overrides, has_body_fields, retargets=self.retargets)

    def headers(self, read: Sequence[bytes]) -> tuple[tuple[str, str], ...]:
        """Return the visitor's headers, given the values at `read_places`; the others are empty."""
        texts = dict(zip(self.read_places, read, strict=True))
        found = [texts.get(place, b"").decode("latin-1") for place in self.visitor_places]
        return tuple(zip(self.visitor_names, found, strict=True))

    def text_at(self, place: int | None, values: Sequence[bytes]) -> str | None:
        """Return the value at a position; None if the header is absent."""
        return None if place is None else values[place].decode("latin-1")


def _value_at(place: int | None, values: Sequence[bytes]) -> bytes | None:
    return None if place is None else values[place]


def _webhook_signatures(names: Iterable[str]) -> frozenset[str]:
    """Return the headers in which services sign their webhooks. Only the site can check the signature."""
    return frozenset(
        name
        for name in names
        if name in _WEBHOOK_NAMES or (name not in _OF_AGENTS and _WEBHOOK_FORM.match(name) is not None)
    )
