"""observe: run every signal over the facts of one request. Pure and synchronous.

In two steps, because most requests have the headers of an earlier one: what method and headers say, then all the rest.
"""

from collections.abc import Callable, Iterable

from msgspec import Struct

from agentgate.http.connection.head import KEPT
from agentgate.protection.signals.detectors import CONTENT_SIGNALS, HEADER_SIGNALS, REQUEST_SIGNALS
from agentgate.protection.signals.detectors.user_agent import view_user_agent
from agentgate.protection.signals.facts import Observation, RequestFacts
from agentgate.protection.signals.families import evidence_labels
from agentgate.protection.signals.languages import LanguageForm, language_form
from agentgate.protection.signals.numbers import measure
from agentgate.protection.signals.request_class import RequestClass, class_of
from agentgate.protection.signals.signal_input import Labels, Look
from agentgate.protection.threat_data.intel import Intel
from agentgate.protection.threat_data.views import UserAgentView

# Values that header signals may read as they are. Of the User-Agent they read its view, of the languages their form.
VALUES = tuple(name.decode() for name in KEPT if name not in {b"user-agent", b"accept-language"})
# No longer header set is cached: visitors choose most of it.
LONGEST_HEADERS = 2_048


class ObservedHeaders(Struct, frozen=True, gc=False):
    """What method and headers say on their own."""

    labels: tuple[str, ...]
    request_class: RequestClass
    user_agent: UserAgentView
    header_count: int
    language_count: int


def observe(facts: RequestFacts, intel: Intel) -> Observation:
    """Return the labels, sorted and each once, and the figures."""
    observed, look = _observe_headers(facts, intel)
    cookies = look.headers.get("cookie")
    return _observe_rest(look, observed, cookies.count(";") + 1 if cookies else 0)


def observe_headers(facts: RequestFacts, intel: Intel) -> ObservedHeaders:
    """Return what method and headers say. Nothing else of the facts is looked at."""
    return _observe_headers(facts, intel)[0]


def observe_rest(observed: ObservedHeaders, facts: RequestFacts, intel: Intel, *, cookie_count: int) -> Observation:
    """Return the same as `observe` for a request with these headers; those of the facts are not looked at."""
    return _observe_rest(Look(facts, intel, {}, (), observed.user_agent, LanguageForm.NONE), observed, cookie_count)


def _observe_headers(facts: RequestFacts, intel: Intel) -> tuple[ObservedHeaders, Look]:
    headers = dict(facts.headers)
    user_agent = view_user_agent(headers.get("user-agent"), intel)
    languages = headers.get("accept-language")
    language_count = languages.count(",") + 1 if languages else 0
    look = Look(facts, intel, headers, tuple(headers), user_agent, language_form(languages))
    labels, request_class = _read_headers(look)
    return ObservedHeaders(labels, request_class, user_agent, len(facts.headers), language_count), look


def _read_headers(look: Look) -> tuple[tuple[str, ...], RequestClass]:
    """Return the labels and the class of a request, cached by everything that header signals read."""
    facts, view, headers = look.facts, look.user_agent, look.headers
    key = (
        facts.method,
        look.names,
        len(facts.headers),
        facts.ja4,
        view.labels,
        view.engine,
        view.major,
        view.platform,
        view.mobile,
        view.device,
        view.is_mail_program,
        look.language_form,
        *map(headers.get, VALUES),
    )
    cached = look.intel.header_labels
    found = cached.get(key)
    if found is None:
        request_class = class_of(facts.method, headers, is_browser=bool(view.engine))
        found = tuple(_labels(HEADER_SIGNALS, look)), request_class
        if sum(map(len, look.names)) + sum(len(headers.get(name, "")) for name in VALUES) <= LONGEST_HEADERS:
            cached.put(key, found)
    return found


def _observe_rest(look: Look, observed: ObservedHeaders, cookie_count: int) -> Observation:
    facts = look.facts
    labels = [*observed.labels, *_labels(REQUEST_SIGNALS, look)]
    if facts.evidence is not None or facts.content is not None:
        labels += _labels(CONTENT_SIGNALS, look)
    if facts.evidence is not None:
        labels += evidence_labels(labels)
    labels.sort()
    numbers = measure(
        facts,
        header_count=observed.header_count,
        ua_length=observed.user_agent.length,
        accept_language_count=observed.language_count,
        cookie_count=cookie_count,
    )
    return Observation(
        labels=tuple(labels),
        numbers=numbers,
        claimed_agent=observed.user_agent.claimed_agent,
        program=observed.user_agent.program,
    )


def _labels(signals: Iterable[Callable[[Look], Labels]], look: Look) -> list[str]:
    labels: list[str] = []
    for signal in signals:
        labels += signal(look)
    return labels
