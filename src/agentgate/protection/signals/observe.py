"""observe: run every signal over the facts of one request. Pure and synchronous; this is the hot path."""

from agentgate.protection.signals.detectors import SIGNALS
from agentgate.protection.signals.detectors.user_agent import view_user_agent
from agentgate.protection.signals.facts import Observation, RequestFacts
from agentgate.protection.signals.numbers import measure
from agentgate.protection.signals.signal_input import Look
from agentgate.protection.threat_data.intel import Intel


def observe(facts: RequestFacts, intel: Intel) -> Observation:
    """Return the labels, sorted and each once, and the figures."""
    headers = dict(facts.headers)
    user_agent = view_user_agent(headers.get("user-agent"), intel)
    look = Look(facts, intel, headers, tuple(headers), user_agent)
    labels: list[str] = []
    for signal in SIGNALS:
        labels += signal(look)
    labels.sort()
    return Observation(labels=tuple(labels), numbers=measure(look), claimed_agent=user_agent.claimed_agent)
