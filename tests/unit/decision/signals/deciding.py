"""The outcome of the server's rules for a request, as the gateway decides it."""

from agentgate.decision.engine import with_bands
from agentgate.decision.scoring.models import ModelDirectory
from agentgate.decision.signals.facts import RequestFacts
from agentgate.decision.signals.observe import observe
from agentgate.decision.threat_data.intel import load_intel
from agentgate.sites.rules.compile import compile_rules
from agentgate.sites.rules.effective import effective_of

INTEL, RULES, MODELS = load_intel(None), compile_rules(effective_of(None)), ModelDirectory().view
HOME = "81.2.69.160"


def decide(headers, **facts):
    given = {"now_ms": 0, "method": "GET", "target": "/", "address": HOME, **facts}
    observation = observe(RequestFacts(headers=tuple(headers), **given), INTEL)
    scores = MODELS.score(observation, content=None).values
    return RULES.evaluate(with_bands(observation.labels, scores), scores, route="*", action=None).outcome.value
