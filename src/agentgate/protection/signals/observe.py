"""observe: run every signal over the facts of one request. Pure and synchronous.

In two steps, because most requests have the headers of an earlier one: what method and headers say, then all the rest.
"""

from collections.abc import Callable, Iterable

from msgspec import Struct

from agentgate.protection.signals.detectors import CONTENT_SIGNALS, HEADER_SIGNALS, REQUEST_SIGNALS
from agentgate.protection.signals.detectors.user_agent import view_user_agent
from agentgate.protection.signals.facts import Observation, RequestFacts
from agentgate.protection.signals.families import evidence_labels
from agentgate.protection.signals.languages import LanguageForm, language_form
from agentgate.protection.signals.numbers import measure
from agentgate.protection.signals.signal_input import Labels, SignalInput
from agentgate.protection.threat_data.intel import Intel
from agentgate.protection.threat_data.views import UserAgentView


class ObservedHeaders(Struct, frozen=True, gc=False):
    """What method and headers say on their own."""

    labels: tuple[str, ...]
    user_agent: UserAgentView
    header_count: int
    language_count: int


def observe(facts: RequestFacts, intel: Intel) -> Observation:
    """Return the labels, sorted and each once, and the figures."""
    observed, request = _observe_headers(facts, intel)
    cookies = request.headers.get("cookie")
    return _observe_rest(request, observed, cookies.count(";") + 1 if cookies else 0)


def observe_headers(facts: RequestFacts, intel: Intel) -> ObservedHeaders:
    """Run the signals of method and headers. They read no other facts."""
    return _observe_headers(facts, intel)[0]


def observe_rest(observed: ObservedHeaders, facts: RequestFacts, intel: Intel, *, cookie_count: int) -> Observation:
    """Return the same as `observe` for a request whose headers were observed; headers in the facts are ignored."""
    return _observe_rest(
        SignalInput(facts, intel, {}, (), observed.user_agent, LanguageForm.NONE), observed, cookie_count
    )


def _observe_headers(facts: RequestFacts, intel: Intel) -> tuple[ObservedHeaders, SignalInput]:
    headers = dict(facts.headers)
    user_agent = view_user_agent(headers.get("user-agent"), intel)
    languages = headers.get("accept-language")
    language_count = languages.count(",") + 1 if languages else 0
    request = SignalInput(facts, intel, headers, tuple(headers), user_agent, language_form(languages))
    labels = tuple(_labels(HEADER_SIGNALS, request))
    return ObservedHeaders(labels, user_agent, len(facts.headers), language_count), request


def _observe_rest(request: SignalInput, observed: ObservedHeaders, cookie_count: int) -> Observation:
    facts = request.facts
    labels = [*observed.labels, *_labels(REQUEST_SIGNALS, request)]
    if facts.evidence is not None or facts.content is not None:
        labels += _labels(CONTENT_SIGNALS, request)
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


def _labels(signals: Iterable[Callable[[SignalInput], Labels]], request: SignalInput) -> list[str]:
    labels: list[str] = []
    for signal in signals:
        labels += signal(request)
    return labels
