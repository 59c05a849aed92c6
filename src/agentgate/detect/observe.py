"""observe: run every signal over the facts of one request. Pure and synchronous; this is the hot path."""

from agentgate.detect.facts import Observation, RequestFacts
from agentgate.detect.intel import Intel
from agentgate.detect.look import Look
from agentgate.detect.numbers import measure
from agentgate.detect.signals import SIGNALS
from agentgate.detect.signals.user_agent import view_user_agent


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
