"""Header layout: what the names of a check's headers and their order say, whatever the values.

Visitors have thousands of header sets and a few dozen layouts, so all this is worked out once per layout.
"""

from collections.abc import Mapping

from agentgate.http.request_guard import MAX_HEADERS, is_plain_name, judge_host, judge_target
from agentgate.protection.credentials.bearer_secret import SECRET_HEADER
from agentgate.protection.decision.correlation import CORRELATED
from agentgate.protection.gateway.original_request import FORWARDED_REQUEST
from agentgate.protection.gateway.receipts import TOKEN_HEADER
from agentgate.protection.signals.detectors.webhook import signatures_of

# The TLS handshake, as an adapter that can see it writes it down.
JA4 = b"x-ja4"
# The adapter's own headers, which say nothing about the visitor.
ADAPTERS = (b"x-original-", b"x-agentgate-", b"x-forwarded-", b"authorization", b"x-service-", JA4, *CORRELATED)
# Whoever sends one of these is an agent, or wants to be taken for one.
SIGNED = frozenset((b"signature-input", b"signature", b"crawler-max-price", b"crawler-exact-price"))
# Heads with one of these go through the parser: they say what becomes of the connection, or that there is a body.
OF_CONNECTION = frozenset(
    (
        b"connection",
        b"content-encoding",
        b"expect",
        b"keep-alive",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    )
)
_ORIGINAL = frozenset((b"x-original-method", b"x-original-url", b"x-original-address"))


class HeaderLayout:
    """The names of a check's headers, in the order of arrival."""

    __slots__ = (
        "has_secret",
        "has_token",
        "is_complete",
        "is_correlated",
        "is_plain",
        "is_signed",
        "names",
        "signatures",
        "visitor_names",
        "visitor_places",
    )

    def __init__(self, arrived: tuple[bytes, ...]) -> None:
        self.names = names = tuple(map(bytes.lower, arrived))
        present = frozenset(names)
        # The parser would read the same: no name comes twice, needs a second look or says something of the connection.
        self.is_plain = (
            len(present) == len(names) <= MAX_HEADERS
            and all(map(is_plain_name, names))
            and b"host" in present
            and OF_CONNECTION.isdisjoint(present)
        )
        # Where the visitor's own headers are, and their names.
        self.visitor_places = tuple(place for place, name in enumerate(names) if not name.startswith(ADAPTERS))
        self.visitor_names = tuple(names[place].decode("latin-1") for place in self.visitor_places)
        # Headers in which senders of webhooks sign: that is what they are known by.
        self.signatures = signatures_of(name.decode("latin-1") for name in names)
        self.has_secret = SECRET_HEADER in present
        self.has_token = TOKEN_HEADER in present
        self.is_signed = not SIGNED.isdisjoint(present)
        # The adapter said all there is to know of the original request, in headers of its own and in no others.
        self.is_complete = present >= _ORIGINAL and FORWARDED_REQUEST.isdisjoint(present)
        # The request has an ID elsewhere, which is recorded.
        self.is_correlated = not present.isdisjoint(CORRELATED)

    def is_fit(self, target: bytes, fields: Mapping[bytes, bytes]) -> bool:
        """Say whether a head that was cut may be answered without the parser: it would read the same, and allow it."""
        if not self.is_plain or fields.get(b"content-length", b"0") != b"0":
            return False
        return judge_target(target) is None and judge_host(fields[b"host"]) is None
