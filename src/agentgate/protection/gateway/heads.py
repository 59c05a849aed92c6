"""Head: what the headers of a check say, worked out once for all checks that have the same.

A head is found by a key that holds every value that is read here or by a signal (`http/connection/head.py`), so that
the same key means the same head. Heads between which neither signals nor models see a difference share a HeadKind.
"""

from collections.abc import Mapping, Sequence

from agentgate.http.connection.head import KEPT
from agentgate.lib.bounded_cache import BoundedCache
from agentgate.protection.gateway import original_request
from agentgate.protection.gateway.header_layout import JA4, HeaderLayout
from agentgate.protection.gateway.route_protection import MethodClaims
from agentgate.protection.scoring.score import FigureReading
from agentgate.protection.signals.facts import RequestFacts
from agentgate.protection.signals.observe import ObservedHeaders, observe_headers
from agentgate.protection.signals.request_class import RequestClass
from agentgate.protection.sites.request_methods import OVERRIDE_HEADERS, is_form
from agentgate.protection.threat_data.intel import Intel

Fields = Mapping[bytes, bytes]
# What a head is cached by: its bytes without the values that nobody reads, or the same as pairs.
HeadKey = bytes | tuple[tuple[bytes, bytes], ...]

_KEPT = frozenset(KEPT)
_KINDS, _LAYOUTS = 4_096, 1_024
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
        "is_correlated",
        "is_counted",
        "is_plain",
        "kind",
        "methods",
        "needs_fields",
        "observed",
        "signatures",
        "waits",
    )

    def __init__(self, layout: HeaderLayout, fields: Fields, kind: HeadKind, observed: ObservedHeaders) -> None:
        self.kind = kind
        # Its own: figures that are captured for training are those of this head, and not of another one of its kind.
        self.observed = observed
        self.methods = method_claims(kind.method, fields)
        self.signatures = layout.signatures
        # It is something that is done, whatever it asks for.
        self.is_counted = kind.request_class <= RequestClass.PAGE
        self.has_secret, self.is_complete = layout.has_secret, layout.is_complete
        self.is_correlated = layout.is_correlated
        user_agent = observed.user_agent
        self.is_agents = layout.is_signed or user_agent.claimed_agent is not None
        # Something must be waited for: who signed, or that a token is spent.
        self.waits = self.is_agents or layout.has_token
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
        # By names as they arrived.
        self._layouts: BoundedCache[tuple[bytes, ...], HeaderLayout] = BoundedCache(_LAYOUTS)

    def read_lines(self, target: bytes, names: tuple[bytes, ...], values: Sequence[bytes]) -> Head:
        """Read the headers of a GET as they arrived; UNFIT where only the parser may."""
        layout = self._layout_of(names)
        fields = dict(zip(layout.names, values, strict=True))
        return self._read(target, layout, fields, values) if layout.is_fit(target, fields) else UNFIT

    def read(self, target: bytes, fields: Fields) -> Head:
        """Read the headers of a GET that the parser has judged."""
        return self._read(target, self._layout_of(tuple(fields)), fields, tuple(fields.values()))

    def _read(self, target: bytes, layout: HeaderLayout, fields: Fields, values: Sequence[bytes]) -> Head:
        method = original_request.method_in(fields)
        texts = [values[place].decode("latin-1") for place in layout.visitor_places]
        headers = tuple(zip(layout.visitor_names, texts, strict=True))
        ja4 = fields[JA4].decode("latin-1") if JA4 in fields else None
        facts = RequestFacts(now_ms=0, method=method, target="", address="", headers=headers, ja4=ja4)
        observed = observe_headers(facts, self._intel)
        kind = self._kind_of(method, observed, is_ok_200=target.endswith(b"?ok=200"))
        return Head(layout, fields, kind, observed)

    def _layout_of(self, names: tuple[bytes, ...]) -> HeaderLayout:
        return self._layouts.get(names) or self._layouts.put(names, HeaderLayout(names))

    def _kind_of(self, method: str, observed: ObservedHeaders, *, is_ok_200: bool) -> HeadKind:
        user_agent = observed.user_agent
        counts, ua_lengths, languages = self._ranks
        key = (
            method,
            observed.request_class,
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
        found = self._kinds.get(key)
        return found or self._kinds.put(key, HeadKind(method, observed.request_class, is_ok_200=is_ok_200))


def method_claims(method: str, fields: Fields) -> MethodClaims:
    """Return what the headers say about the method."""
    # Of several overrides, any may be the one that the server behind obeys. One without a value is there all the same.
    overrides = tuple(fields[name] for name in OVERRIDE_HEADERS if name in fields)
    return MethodClaims(method, overrides, method == "POST" and is_form(fields.get(b"content-type")))


def read_parts(fields: Fields) -> tuple[MethodClaims, bytes, bytes]:
    """Return method, URL and address of an original request whose headers are not the usual three."""
    method, url, address = original_request.read_parts(fields)
    return method_claims(method, fields), url, address


def key_of(target: bytes, fields: Fields) -> tuple[tuple[bytes, bytes], ...]:
    """Return the key of a head that the parser read."""
    return ((b"", target), *((name, value if name in _KEPT else b"") for name, value in fields.items()))
