"""The outcome of the server's rules for a request, as the gateway decides it."""

from agentgate.protection.decision.engine import with_bands
from agentgate.protection.rules.compile import compile_rules
from agentgate.protection.rules.effective import effective_of
from agentgate.protection.scoring.models import ModelDirectory
from agentgate.protection.signals.facts import RequestFacts
from agentgate.protection.signals.observe import observe
from agentgate.protection.threat_data.intel import load_intel

INTEL, RULES, MODELS = load_intel(None), compile_rules(effective_of(None)), ModelDirectory().view
HOME = "81.2.69.160"


def decide(headers, **facts):
    given = {"now_ms": 0, "method": "GET", "target": "/", "address": HOME, **facts}
    observation = observe(RequestFacts(headers=tuple(headers), **given), INTEL)
    scores = MODELS.score(observation, content=False).values
    return RULES.evaluate(with_bands(observation.labels, scores), scores, route="*", action=None).outcome.value
