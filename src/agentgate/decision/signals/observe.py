"""observe: run every signal over the facts of one request. Pure and synchronous.

It runs in two steps, because most requests have the headers of an earlier one: first method and headers, then the rest.
"""

from collections.abc import Callable, Iterable

from msgspec import Struct

from agentgate.decision.signals.assistants import assistant_labels
from agentgate.decision.signals.detectors import CONTENT_SIGNALS, HEADER_SIGNALS, REQUEST_SIGNALS
from agentgate.decision.signals.detectors.user_agent import view_user_agent
from agentgate.decision.signals.facts import Observation, RequestFacts
from agentgate.decision.signals.families import evidence_labels
from agentgate.decision.signals.header_forms import LanguageForm, count_languages, language_form
from agentgate.decision.signals.numbers import measure
from agentgate.decision.signals.signal_input import Labels, SignalInput
from agentgate.decision.threat_data.intel import Intel
from agentgate.decision.threat_data.views import UserAgentView


class ObservedHeaders(Struct, frozen=True, gc=False):
    """Labels and numeric features of method and headers alone."""

    labels: tuple[str, ...]
    user_agent: UserAgentView
    header_count: int
    language_count: int
    user_agent_length: int


def observe(facts: RequestFacts, intel: Intel) -> Observation:
    """Return the labels, sorted and each once, and the numeric features."""
    headers = dict(facts.headers)
    cookies, languages = headers.get("cookie"), headers.get("accept-language")
    view = view_user_agent(headers.get("user-agent"), intel)
    request = SignalInput(facts, intel, headers, tuple(headers), view, language_form(languages))
    observed = ObservedHeaders(
        _labels(HEADER_SIGNALS, request),
        view,
        len(facts.headers),
        count_languages(languages),
        len(headers.get("user-agent", "")),
    )
    return _observe_rest(request, observed, cookies.count(";") + 1 if cookies else 0)


def labels_of_headers(facts: RequestFacts, intel: Intel, view: UserAgentView, form: LanguageForm) -> tuple[str, ...]:
    """Run the signals of method and headers, which read no other facts, with a User-Agent and languages as given."""
    headers = dict(facts.headers)
    return _labels(HEADER_SIGNALS, SignalInput(facts, intel, headers, tuple(headers), view, form))


def observe_rest(observed: ObservedHeaders, facts: RequestFacts, intel: Intel, *, cookie_count: int) -> Observation:
    """Return the same as `observe` for a request whose headers were observed; headers in the facts are ignored."""
    return _observe_rest(
        SignalInput(facts, intel, {}, (), observed.user_agent, LanguageForm.NONE), observed, cookie_count
    )


def _observe_rest(request: SignalInput, observed: ObservedHeaders, cookie_count: int) -> Observation:
    facts = request.facts
    labels = [*observed.labels, *_labels(REQUEST_SIGNALS, request)]
    if facts.evidence is not None or facts.content is not None:
        labels += _labels(CONTENT_SIGNALS, request)
    if facts.evidence is not None:
        labels += evidence_labels(labels)
        labels += assistant_labels(labels, facts)
    labels.sort()
    numbers = measure(
        facts,
        header_count=observed.header_count,
        ua_length=observed.user_agent_length,
        accept_language_count=observed.language_count,
        cookie_count=cookie_count,
    )
    return Observation(
        labels=tuple(labels),
        numbers=numbers,
        claimed_agent=observed.user_agent.claimed_agent,
        program=observed.user_agent.program,
    )


def _labels(signals: Iterable[Callable[[SignalInput], Labels]], request: SignalInput) -> tuple[str, ...]:
    labels: list[str] = []
    for signal in signals:
        labels += signal(request)
    return tuple(labels)
