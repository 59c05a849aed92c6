"""How the agents' desk is asked about a request, and what its ruling means for one."""

from collections.abc import Mapping

from agentgate.agents.desk import AgentRuling, Wanted
from agentgate.agents.identity import SignedMessage
from agentgate.core.enums import Outcome
from agentgate.decide.outcome import apply_mode
from agentgate.detect.facts import Observation
from agentgate.gateway.answers import Ruling
from agentgate.gateway.original import Original
from agentgate.gateway.visit import Visit

# What the address says of a claim to be a search engine's crawler is for the rules to weigh.
SETTLED_CLAIMS = frozenset(("agent.search_verified", "agent.search_unconfirmed", "agent.search_forged"))


def message_of(headers: Mapping[bytes, bytes], original: Original) -> SignedMessage:
    """Return the request as its sender signed it."""
    scheme, _, authority = original.origin.partition("://")
    return SignedMessage(
        method=original.method, scheme=scheme, authority=authority, target=original.target, headers=headers
    )


def wanted_of(observation: Observation, action: str | None) -> Wanted:
    """Return what the request is for."""
    is_settled = not SETTLED_CLAIMS.isdisjoint(observation.labels)
    return Wanted(action=action, claimed=None if is_settled else observation.claimed_agent)


def rule_on_agent(visit: Visit, agent: AgentRuling) -> Ruling | None:
    """Return what stands against an agent's request in the site's mode; None when nothing does."""
    against = agent.against(has_receipt=visit.shown.reason is None)
    if against is None:
        return None
    if against.outcome is Outcome.CHALLENGE and visit.decision.verdict.outcome in (Outcome.BLOCK, Outcome.DROP):
        # No check that it could pass would open what the rules close.
        return None
    applied, would = apply_mode(against.outcome, visit.site.mode)
    if would is not None:
        return Ruling(applied, "monitor", would, cause=against.reason)
    return Ruling(applied, against.reason, hint=against.why, headers=tuple(agent.headers))
