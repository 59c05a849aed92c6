"""Head: what the headers of a check say, worked out once for all checks that have the same.

A head is found by a key that holds every value that is read here or by a signal (`http/connection/head.py`), so that
the same key means the same head. Heads between which neither signals nor models see a difference share a HeadKind.
"""

from collections.abc import Mapping

from agentgate.http.connection.head import KEPT
from agentgate.http.request_guard import judge_head
from agentgate.lib.bounded_cache import BoundedCache
from agentgate.protection.credentials.bearer_secret import SECRET_HEADER
from agentgate.protection.gateway import original_request
from agentgate.protection.gateway.original_request import FORWARDED_REQUEST
from agentgate.protection.gateway.receipts import TOKEN_HEADER
from agentgate.protection.gateway.route_protection import MethodClaims
from agentgate.protection.scoring.score import FigureReading
from agentgate.protection.signals.detectors.webhook import signatures_of
from agentgate.protection.signals.facts import RequestFacts
from agentgate.protection.signals.observe import ObservedHeaders, observe_headers
from agentgate.protection.signals.request_class import RequestClass, class_of
from agentgate.protection.sites.request_methods import OVERRIDE_HEADERS, is_form
from agentgate.protection.threat_data.intel import Intel

Fields = Mapping[bytes, bytes]
# What a head is cached by: its bytes without the values that nobody reads, or the same as pairs.
HeadKey = bytes | tuple[tuple[bytes, bytes], ...]

# The TLS handshake, as an adapter that can see it writes it down.
JA4 = b"x-ja4"
# The adapter's own headers, which say nothing about the visitor.
ADAPTERS = (b"x-original-", b"x-agentgate-", b"x-forwarded-", b"authorization", b"x-service-", JA4)
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
_ORIGINAL = (b"x-original-method", b"x-original-url", b"x-original-address")
_KEPT = frozenset(KEPT)
_KINDS = 4_096
# No longer head is cached: visitors choose most of it.
LONGEST_KEY = 2_048


class HeadKind:
    """What signals and models can tell apart of a head, and how a yes must look. There is one of each."""

    __slots__ = ("is_ok_200", "method", "request_class")

    def __init__(self, method: str, request_class: RequestClass, *, is_ok_200: bool) -> None:
        self.method = method
        self.request_class = request_class
        self.is_ok_200 = is_ok_200


class Head:
    """The headers of a check."""

    __slots__ = (
        "has_secret",
        "is_agents",
        "is_complete",
        "is_counted",
        "is_plain",
        "kind",
        "methods",
        "needs_fields",
        "observed",
        "signatures",
        "waits",
    )

    def __init__(self, fields: Fields, kind: HeadKind, observed: ObservedHeaders) -> None:
        self.kind = kind
        # Its own: figures that are captured for training are those of this head, and not of another one of its kind.
        self.observed = observed
        self.methods = method_claims(kind.method, fields)
        # Headers in which senders of webhooks sign: that is what they are known by.
        self.signatures = signatures_of(name.decode("latin-1") for name in fields)
        # It is something that is done, whatever it asks for.
        self.is_counted = kind.request_class <= RequestClass.PAGE
        self.has_secret = SECRET_HEADER in fields
        # The adapter said all there is to know of the original request, in headers of its own and in no others.
        self.is_complete = all(name in fields for name in _ORIGINAL) and FORWARDED_REQUEST.isdisjoint(fields)
        user_agent = observed.user_agent
        self.is_agents = not SIGNED.isdisjoint(fields) or user_agent.claimed_agent is not None
        # Something must be waited for: who signed, or that a token is spent.
        self.waits = self.is_agents or TOKEN_HEADER in fields
        # Values that are not in the key are read.
        self.needs_fields = self.waits or self.has_secret or not self.is_complete
        # Its labels depend on nothing but the head, and on what a decision is cached by.
        self.is_plain = not user_agent.search


# A head that only the parser may read.
UNFIT = object.__new__(Head)


class Heads:
    """Reads heads, with one set of threat data and models."""

    def __init__(self, intel: Intel, figures: FigureReading) -> None:
        self._intel = intel
        self._ranks = tuple(map(figures.ranks_of, ("header_count", "ua_length", "accept_language_count")))
        self._kinds: BoundedCache[tuple[object, ...], HeadKind] = BoundedCache(_KINDS)

    def read(self, target: bytes, fields: Fields) -> Head:
        """Read the headers of a GET; the caller has judged them."""
        method = original_request.method_in(fields)
        headers = tuple(
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in fields.items()
            if not name.startswith(ADAPTERS)
        )
        ja4 = fields[JA4].decode("latin-1") if JA4 in fields else None
        facts = RequestFacts(now_ms=0, method=method, target="", address="", headers=headers, ja4=ja4)
        observed = observe_headers(facts, self._intel)
        request_class = class_of(method, dict(headers), is_browser=bool(observed.user_agent.engine))
        kind = self._kind_of(method, request_class, observed, is_ok_200=target.endswith(b"?ok=200"))
        return Head(fields, kind, observed)

    def _kind_of(
        self, method: str, request_class: RequestClass, observed: ObservedHeaders, *, is_ok_200: bool
    ) -> HeadKind:
        user_agent = observed.user_agent
        counts, ua_lengths, languages = self._ranks
        key = (
            method,
            request_class,
            is_ok_200,
            observed.labels,
            user_agent.claim_labels,
            user_agent.claimed_agent,
            user_agent.search,
            user_agent.programs,
            counts[observed.header_count],
            ua_lengths[user_agent.length],
            languages[observed.language_count],
        )
        return self._kinds.get(key) or self._kinds.put(key, HeadKind(method, request_class, is_ok_200=is_ok_200))


def method_claims(method: str, fields: Fields) -> MethodClaims:
    """Return what the headers say about the method."""
    # Of several overrides, any may be the one that the server behind obeys. One without a value is there all the same.
    overrides = tuple(fields[name] for name in OVERRIDE_HEADERS if name in fields)
    return MethodClaims(method, overrides, method == "POST" and is_form(fields.get(b"content-type")))


def read_parts(fields: Fields) -> tuple[MethodClaims, bytes, bytes]:
    """Return method, URL and address of an original request whose headers are not the usual three."""
    method, url, address = original_request.read_parts(fields)
    return method_claims(method, fields), url, address


def is_fit(target: bytes, fields: Fields | None) -> bool:
    """Say whether a head that was cut may be answered without the parser: it would read the same, and judge it good."""
    if fields is None or not OF_CONNECTION.isdisjoint(fields) or fields.get(b"content-length", b"0") != b"0":
        return False
    return judge_head(b"GET", target, version="1.1", fields=fields, repeated=()) is None


def key_of(target: bytes, fields: Fields) -> tuple[tuple[bytes, bytes], ...]:
    """Return the key of a head that the parser read."""
    return ((b"", target), *((name, value if name in _KEPT else b"") for name, value in fields.items()))
