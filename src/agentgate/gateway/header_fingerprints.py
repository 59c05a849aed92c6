"""HeaderFingerprint: labels and features of the headers of a check, computed once for all checks with the same headers.

Its key has three parts, which visitors combine freely: the header set (`http/connection/head.py` cuts it out), the
User-Agent and the languages. Every value that this module or a signal reads is in one of them. Fingerprints that
neither signals nor models tell apart share a FingerprintKind.
"""

from collections.abc import Sequence
from zlib import crc32

from msgspec.structs import replace

from agentgate.decision.scoring.score import FigureReading
from agentgate.decision.signals.detectors.user_agent import LOOKED_AT_CHARACTERS, view_user_agent
from agentgate.decision.signals.facts import RequestFacts
from agentgate.decision.signals.header_forms import LanguageForm, accept_form, count_languages, language_form
from agentgate.decision.signals.observe import ObservedHeaders, labels_of_headers
from agentgate.decision.signals.request_class import RequestClass, class_of
from agentgate.decision.threat_data.intel import Intel
from agentgate.decision.threat_data.views import UserAgentView
from agentgate.gateway.header_layout import HeaderLayout
from agentgate.gateway.request import original_request
from agentgate.gateway.request.described_request import HOST, TARGETS, CheckForm, describe, read_form
from agentgate.gateway.request.navigation import OLD_BROWSER, is_navigation, is_old_browser
from agentgate.gateway.request.target_headers import HOST_HEADERS
from agentgate.gateway.route_protection import MethodClaims
from agentgate.http.connection.head_names import KEPT
from agentgate.http.request_guard import Fields
from agentgate.lib.bounded_cache import BoundedCache

# The key of a header set: the bytes of the head without the values outside the set, or the same as pairs.
HeaderSetKey = bytes | tuple[tuple[bytes, bytes], ...]

# Classes of programs that share a budget by name.
NAMED_CLASSES = frozenset(("ua.checker", "ua.feed_reader", "ua.preview", "ua.uptime"))
_KEPT = frozenset(KEPT)
HOST_NAMES = frozenset(name.encode() for name in HOST_HEADERS)
_KINDS, _LAYOUTS, _LABELS, _USER_AGENTS, _LANGUAGES = 4_096, 1_024, 2_048, 8_192, 2_048
# A longer key is not cached: visitors choose most of it.
LONGEST_KEY = 2_048
LONGEST_LANGUAGES = 256


class FingerprintKind:
    """The distinctions that signals and models make between headers, and the response's form. One object of each."""

    __slots__ = ("form", "is_forged", "is_page", "method", "request_class")

    def __init__(
        self, method: str, request_class: RequestClass, form: CheckForm, *, is_forged: bool, is_page: bool
    ) -> None:
        self.method = method
        self.request_class = request_class
        self.form = form
        self.is_forged = is_forged
        # Whether a denial may be shown as a page.
        self.is_page = is_page


class UserAgentKind:
    """The distinctions that signals and models make between User-Agents. `length` is from the first one of the kind."""

    __slots__ = ("is_browser", "length", "view")

    def __init__(self, view: UserAgentView, length: int, *, is_browser: bool) -> None:
        self.view = view
        self.length = length
        # Whether the name can be a browser's that requests pages without saying so in other headers.
        self.is_browser = is_browser


class LanguageKind:
    """The distinctions that signals and models make in `Accept-Language`. `count` is from the first one of the kind."""

    __slots__ = ("count", "form")

    def __init__(self, form: LanguageForm, count: int) -> None:
        self.form = form
        self.count = count


class HeaderSet:
    """The headers of a check but for User-Agent and languages, as far as they are read."""

    __slots__ = ("form", "is_cached", "ja4", "layout", "method", "methods", "read")

    def __init__(self, target: bytes, layout: HeaderLayout, values: Sequence[bytes], *, is_cached: bool = True) -> None:
        self.layout = layout
        self.form = read_form(target.partition(b"?")[2])
        self.method = layout.text_at(layout.method, values) or ""
        self.methods = layout.claims(self.method, values)
        self.ja4 = layout.text_at(layout.ja4, values)
        # The values that signals read.
        self.read = tuple([values[place] for place in layout.read_places])
        # Whether it comes again as this object, so that something can be cached by it.
        self.is_cached = is_cached


# Programs by name: a clearance exempts none of them from a rule.
UNEXEMPT = frozenset(("ua.scanner", "ua.automation", "ua.http_library", "ua.ai_agent"))

# Marks headers that only the parser may read.
UNFIT = object.__new__(HeaderSet)
FingerprintKey = tuple[HeaderSet, UserAgentKind, LanguageKind]


class HeaderFingerprint:
    """The headers of a check, as far as decisions depend on them."""

    __slots__ = (
        "_headers",
        "is_agents",
        "is_browsers",
        "is_complete",
        "is_counted",
        "is_nameable",
        "is_plain",
        "is_program",
        "ja4",
        "kind",
        "methods",
        "needs_fields",
        "observed",
        "program",
        "signatures",
        "tag",
        "waits",
    )

    def __init__(self, headers: HeaderSet, kind: FingerprintKind, observed: ObservedHeaders) -> None:
        layout, user_agent = headers.layout, observed.user_agent
        self._headers = headers
        self.kind = kind
        self.observed = observed
        self.methods = headers.methods
        self.ja4 = headers.ja4
        # Whether no clearance exempts the client from rules.
        self.is_program = not UNEXEMPT.isdisjoint((*observed.labels, *user_agent.claim_labels))
        self.signatures = layout.signatures
        # The name whose shared budget the request takes from, if it names a program.
        self.program = program_of(user_agent)
        # Whether only the rates must be counted.
        self.is_counted = kind.request_class <= RequestClass.PAGE and self.program is None
        # The browser that may load a page's subresources, as far as its headers identify it.
        self.tag = _tag_of(user_agent, has_fetch_metadata=layout.has_fetch_metadata)
        # Whether a browser sent it, or a program with a browser's headers.
        self.is_browsers = bool(user_agent.engine) or layout.has_browser_headers
        # Whether the client can be a program under its own name: its headers are not a browser's, and its User-Agent is
        # not a plain browser's.
        self.is_nameable = not layout.has_browser_headers and (not user_agent.engine or bool(user_agent.programs))
        self.is_complete = layout.is_complete
        self.is_agents = layout.is_signed or user_agent.claimed_agent is not None
        # Whether the check must wait for a signature or for a token to be spent.
        self.waits = (self.is_agents or layout.has_token) and not layout.is_forged
        # Whether values that are in none of the keys are read.
        self.needs_fields = self.waits or not self.is_complete
        # Whether the labels depend only on these headers and the key of the decision cache.
        self.is_plain = not user_agent.search and not user_agent.ai

    def with_figures_of(self, user_agent: bytes | None, languages: bytes | None) -> "HeaderFingerprint":
        """Return the same fingerprint with the lengths and counts of these very values, captured for training."""
        text = None if languages is None else languages.decode("latin-1")
        figures = replace(self.observed, user_agent_length=len(user_agent or b""), language_count=count_languages(text))
        return HeaderFingerprint(self._headers, self.kind, figures)


class HeaderFingerprints:
    """Computes fingerprints, with one set of threat data and models."""

    def __init__(self, intel: Intel, figures: FigureReading) -> None:
        self._intel = intel
        self._ranks = tuple(map(figures.ranks_of, ("header_count", "ua_length", "accept_language_count")))
        self.user_agents: BoundedCache[bytes | None, UserAgentKind] = BoundedCache(_USER_AGENTS)
        self.languages: BoundedCache[bytes | None, LanguageKind] = BoundedCache(_LANGUAGES)
        self._user_agent_kinds: BoundedCache[tuple[UserAgentView, int, bool], UserAgentKind] = BoundedCache(_KINDS)
        self._language_kinds: BoundedCache[tuple[LanguageForm, int], LanguageKind] = BoundedCache(_KINDS)
        self._kinds: BoundedCache[tuple[object, ...], FingerprintKind] = BoundedCache(_KINDS)
        self._labels: BoundedCache[tuple[object, ...], tuple[tuple[str, ...], RequestClass]] = BoundedCache(_LABELS)
        # By names as they arrived.
        self._layouts: BoundedCache[tuple[bytes, ...], HeaderLayout] = BoundedCache(_LAYOUTS)

    # The three keys.

    def read_lines(
        self, target: bytes, names: tuple[bytes, ...], values: Sequence[bytes], *, is_cached: bool = True
    ) -> HeaderSet:
        """Read the headers of a GET as they arrived; UNFIT where only the parser may."""
        layout = self._layout_of(names)
        return HeaderSet(target, layout, values, is_cached=is_cached) if layout.is_fit(target, values) else UNFIT

    def read_fields(self, target: bytes, fields: Fields, *, is_cached: bool = True) -> HeaderSet:
        """Read the headers of a GET that the parser has judged."""
        return HeaderSet(target, self._layout_of(tuple(fields)), tuple(fields.values()), is_cached=is_cached)

    def read_described(self, target: bytes, fields: Fields, *, is_cached: bool = True) -> HeaderSet:
        """Read the headers of a described GET; UNFIT where they depend on values outside the key of the set."""
        form = read_form(target.partition(b"?")[2])
        if form.is_forwarded or form.is_wrong or not HOST_NAMES.isdisjoint(fields):
            return UNFIT
        kept = describe(fields, form)
        return (
            UNFIT
            if any(name.startswith(b":") for name in kept)
            else self.read_fields(target, kept, is_cached=is_cached)
        )

    def find_user_agent(self, value: bytes | None) -> UserAgentKind:
        found = self.user_agents.get(value)
        if found is None:
            length = len(value or b"")
            text = None if value is None else value.decode("latin-1")
            view, is_browser = view_user_agent(text, self._intel), is_old_browser(text or "")
            key = view, self._ranks[1][length], is_browser
            found = self._user_agent_kinds.get(key) or self._user_agent_kinds.put(
                key, UserAgentKind(view, length, is_browser=is_browser)
            )
            if length <= LOOKED_AT_CHARACTERS:
                self.user_agents.put(value, found)
        return found

    def find_languages(self, value: bytes | None) -> LanguageKind:
        """Return the kind of an `Accept-Language`."""
        found = self.languages.get(value)
        if found is None:
            text = None if value is None else value.decode("latin-1")
            form, count = language_form(text), count_languages(text)
            key = form, self._ranks[2][count]
            found = self._language_kinds.get(key) or self._language_kinds.put(key, LanguageKind(form, count))
            if len(value or b"") <= LONGEST_LANGUAGES:
                self.languages.put(value, found)
        return found

    # The fingerprint.

    def make(self, key: FingerprintKey) -> HeaderFingerprint:
        """Return the fingerprint of a header set, a User-Agent and languages."""
        headers, user_agent, languages = key
        view = user_agent.view
        labels, request_class = self._read_labels(headers, view, languages.form)
        observed = ObservedHeaders(labels, view, len(headers.layout.visitor_names), languages.count, user_agent.length)
        is_page = headers.form.respond != "" and _may_be_page(headers, user_agent)
        return HeaderFingerprint(headers, self._kind_of(headers, request_class, observed, is_page=is_page), observed)

    def _read_labels(
        self, headers: HeaderSet, view: UserAgentView, form: LanguageForm
    ) -> tuple[tuple[str, ...], RequestClass]:
        """Return the labels and the class of a request, cached by everything that header signals read."""
        # Of `Accept`, they read the form alone.
        read, place = headers.read, headers.layout.accept
        if place is not None:
            accept = accept_form(read[place].decode("latin-1")).encode("latin-1")
            read = (*read[:place], accept, *read[place + 1 :])
        key = (headers.layout, headers.method, headers.ja4, read, view, form)
        found = self._labels.get(key)
        if found is None:
            named = headers.layout.headers(read)
            facts = RequestFacts(now_ms=0, method=headers.method, target="", address="", headers=named, ja4=headers.ja4)
            request_class = class_of(headers.method, dict(named), is_browser=bool(view.engine))
            found = labels_of_headers(facts, self._intel, view, form), request_class
            if headers.is_cached:
                self._labels.put(key, found)
        return found

    def _layout_of(self, names: tuple[bytes, ...]) -> HeaderLayout:
        return self._layouts.get(names) or self._layouts.put(names, HeaderLayout(names))

    def _kind_of(
        self, headers: HeaderSet, request_class: RequestClass, observed: ObservedHeaders, *, is_page: bool
    ) -> FingerprintKind:
        user_agent = observed.user_agent
        counts, lengths, languages = self._ranks
        key = (
            headers.method,
            request_class,
            headers.form,
            headers.layout.is_forged,
            is_page,
            observed.labels,
            user_agent.claim_labels,
            user_agent.claimed_agent,
            user_agent.search,
            user_agent.ai,
            user_agent.programs,
            counts[observed.header_count],
            lengths[observed.user_agent_length],
            languages[observed.language_count],
        )
        found = self._kinds.get(key)
        return found or self._kinds.put(
            key,
            FingerprintKind(
                headers.method, request_class, headers.form, is_forged=headers.layout.is_forged, is_page=is_page
            ),
        )


def program_of(view: UserAgentView) -> str | None:
    """Return the name, or else the class, of a program that only its User-Agent names; None for all others."""
    # Checkers drive browsers; in the other classes a browser's name is a person's program or phone.
    is_persons = "ua.browser" in view.labels and "ua.checker" not in view.labels
    if is_persons or NAMED_CLASSES.isdisjoint(view.labels):
        return None
    return view.program or next(label for label in view.labels if label in NAMED_CLASSES)


def _tag_of(view: UserAgentView, *, has_fetch_metadata: bool) -> int:
    """Return the same number for the same browser in every process."""
    browser = (view.engine, view.major, view.platform, view.mobile, view.device, view.labels, has_fetch_metadata)
    return crc32(repr(browser).encode())


def read_parts(fields: Fields) -> tuple[MethodClaims, bytes, bytes]:
    """Return method, URL and address of an original request whose headers are not the usual three."""
    method, url, address = original_request.read_parts(fields)
    claims = HeaderLayout(tuple(fields)).claims(method, tuple(fields.values()))
    if TARGETS in fields or HOST in fields:
        claims = replace(claims, targets=fields.get(TARGETS, b""), host=fields.get(HOST, b""))
    return claims, url, address


def _may_be_page(headers: HeaderSet, user_agent: UserAgentKind) -> bool:
    """Return whether the request may be a navigation, as far as the values of the header set show."""
    texts = dict(headers.layout.headers(headers.read))
    # Of these two the values are not known here.
    texts.pop("x-requested-with", None)
    texts["user-agent"] = OLD_BROWSER if user_agent.is_browser else ""
    return is_navigation(texts.get, headers.method)


def key_of(target: bytes, fields: Fields) -> tuple[tuple[bytes, bytes], ...]:
    """Return the key of a header set that the parser read."""
    return ((b"", target), *((name, value if name in _KEPT else b"") for name, value in fields.items()))
