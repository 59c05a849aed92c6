"""HeaderFingerprint: what signals make of the headers of a check, computed once for all checks with the same headers.

Its cache key holds every header value that this module or a signal reads (`http/connection/head.py`), so that the same
key means the same fingerprint. Those that neither signals nor models tell apart share a FingerprintKind.
"""

from collections.abc import Mapping, Sequence

from agentgate.http.connection.head import KEPT
from agentgate.lib.bounded_cache import BoundedCache
from agentgate.protection.gateway import original_request
from agentgate.protection.gateway.header_layout import HeaderLayout
from agentgate.protection.gateway.route_protection import MethodClaims
from agentgate.protection.scoring.score import FigureReading
from agentgate.protection.signals.detectors.user_agent import view_user_agent
from agentgate.protection.signals.facts import RequestFacts
from agentgate.protection.signals.languages import LanguageForm, language_form
from agentgate.protection.signals.observe import ObservedHeaders, observe_headers
from agentgate.protection.signals.request_class import RequestClass, class_of
from agentgate.protection.threat_data.intel import Intel
from agentgate.protection.threat_data.views import UserAgentView

Fields = Mapping[bytes, bytes]
# The cache key: the bytes of the head without the values that nobody reads, or the same as pairs.
FingerprintKey = bytes | tuple[tuple[bytes, bytes], ...]

_KEPT = frozenset(KEPT)
_KINDS, _LAYOUTS, _LABELS = 4_096, 1_024, 2_048
# A longer key is not cached: visitors choose most of it.
LONGEST_KEY = 2_048


class FingerprintKind:
    """What signals and models can tell apart of headers, and the form of a yes. There is one object of each."""

    __slots__ = ("is_ok_200", "method", "request_class")

    def __init__(self, method: str, request_class: RequestClass, *, is_ok_200: bool) -> None:
        self.method = method
        self.request_class = request_class
        self.is_ok_200 = is_ok_200


class HeaderFingerprint:
    """The headers of a check, as far as decisions depend on them."""

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

    def __init__(
        self, layout: HeaderLayout, methods: MethodClaims, kind: FingerprintKind, observed: ObservedHeaders
    ) -> None:
        self.kind = kind
        # Not shared by the kind: figures captured for training are those of these very headers.
        self.observed = observed
        self.methods = methods
        self.signatures = layout.signatures
        # Whether the request counts towards the rates.
        self.is_counted = kind.request_class <= RequestClass.PAGE
        self.has_secret, self.is_complete = layout.has_secret, layout.is_complete
        user_agent = observed.user_agent
        self.is_agents = layout.is_signed or user_agent.claimed_agent is not None
        # Whether the check must wait for a signature or for a token to be spent.
        self.waits = self.is_agents or layout.has_token
        # Whether values that are not in the key are read.
        self.needs_fields = self.waits or self.has_secret or not self.is_complete
        # Whether the labels depend on nothing but these headers and the key of the decision cache.
        self.is_plain = not user_agent.search


# Stands for headers that only the parser may read.
UNFIT = object.__new__(HeaderFingerprint)


class HeaderFingerprints:
    """Computes fingerprints, with one set of threat data and models."""

    def __init__(self, intel: Intel, figures: FigureReading) -> None:
        self._intel = intel
        self._ranks = tuple(map(figures.ranks_of, ("header_count", "ua_length", "accept_language_count")))
        self._kinds: BoundedCache[tuple[object, ...], FingerprintKind] = BoundedCache(_KINDS)
        self._labels: BoundedCache[tuple[object, ...], tuple[tuple[str, ...], RequestClass]] = BoundedCache(_LABELS)
        # By names as they arrived.
        self._layouts: BoundedCache[tuple[bytes, ...], HeaderLayout] = BoundedCache(_LAYOUTS)

    def read_lines(self, target: bytes, names: tuple[bytes, ...], values: Sequence[bytes]) -> HeaderFingerprint:
        """Read the headers of a GET as they arrived; UNFIT where only the parser may."""
        layout = self._layout_of(names)
        return self._read(target, layout, values) if layout.is_fit(target, values) else UNFIT

    def read(self, target: bytes, fields: Fields) -> HeaderFingerprint:
        """Read the headers of a GET that the parser has judged."""
        return self._read(target, self._layout_of(tuple(fields)), tuple(fields.values()))

    def _read(self, target: bytes, layout: HeaderLayout, values: Sequence[bytes]) -> HeaderFingerprint:
        method = layout.text_at(layout.method, values) or ""
        user_agent = view_user_agent(layout.text_at(layout.user_agent, values), self._intel)
        languages = layout.text_at(layout.languages, values)
        labels, request_class = self._read_labels(layout, method, user_agent, language_form(languages), values)
        language_count = languages.count(",") + 1 if languages else 0
        observed = ObservedHeaders(labels, user_agent, len(layout.visitor_names), language_count)
        kind = self._kind_of(method, request_class, observed, is_ok_200=target.endswith(b"?ok=200"))
        return HeaderFingerprint(layout, layout.claims(method, values), kind, observed)

    def _read_labels(
        self, layout: HeaderLayout, method: str, view: UserAgentView, form: LanguageForm, values: Sequence[bytes]
    ) -> tuple[tuple[str, ...], RequestClass]:
        """Return the labels and the class of a request, cached by everything that header signals read."""
        read = [values[place] for place in layout.read_places]
        key = (
            layout,
            method,
            view.labels,
            view.engine,
            view.major,
            view.platform,
            view.mobile,
            view.device,
            view.is_mail_program,
            form,
            None if layout.ja4 is None else values[layout.ja4],
            *read,
        )
        found = self._labels.get(key)
        if found is None:
            headers, ja4 = layout.headers(values), layout.text_at(layout.ja4, values)
            facts = RequestFacts(now_ms=0, method=method, target="", address="", headers=headers, ja4=ja4)
            request_class = class_of(method, dict(headers), is_browser=bool(view.engine))
            found = observe_headers(facts, self._intel).labels, request_class
            if sum(map(len, read)) <= LONGEST_KEY:
                self._labels.put(key, found)
        return found

    def _layout_of(self, names: tuple[bytes, ...]) -> HeaderLayout:
        return self._layouts.get(names) or self._layouts.put(names, HeaderLayout(names))

    def _kind_of(
        self, method: str, request_class: RequestClass, observed: ObservedHeaders, *, is_ok_200: bool
    ) -> FingerprintKind:
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
        found = self._kinds.get(key)
        return found or self._kinds.put(key, FingerprintKind(method, request_class, is_ok_200=is_ok_200))


def read_parts(fields: Fields) -> tuple[MethodClaims, bytes, bytes]:
    """Return method, URL and address of an original request whose headers are not the usual three."""
    method, url, address = original_request.read_parts(fields)
    return HeaderLayout(tuple(fields)).claims(method, tuple(fields.values())), url, address


def key_of(target: bytes, fields: Fields) -> tuple[tuple[bytes, bytes], ...]:
    """Return the cache key of headers that the parser read."""
    return ((b"", target), *((name, value if name in _KEPT else b"") for name, value in fields.items()))
