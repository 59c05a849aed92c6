"""Requests of agents at the gateway: input for the policy checker, and the effect of its ruling."""

from msgspec.structs import replace

from agentgate.agents.identity import SignedMessage
from agentgate.agents.policy_checker import AgentClaim, CheckedAgent
from agentgate.decision.engine import Ruling, apply_mode
from agentgate.decision.signals.facts import Observation
from agentgate.gateway.pending_check import DecidedCheck, PendingCheck
from agentgate.lib.enums import AiPurpose, Outcome

# Labels by which the address confirms or refutes a claim to be an operator's program. The rules weigh them.
SETTLED_CLAIMS = frozenset(
    (
        *("agent.search_verified", "agent.search_unconfirmed", "agent.search_unknown", "agent.search_forged"),
        *("agent.operator_verified", "agent.operator_forged"),
    )
)
# The address belongs to the AI operator, and no search engine is named besides.
PROVEN_CLAIM = {"agent.operator_verified"}


def claim_of(observation: Observation) -> AgentClaim:
    """Return the agent that a request claims to come from, compared with the address."""
    labels = observation.labels
    settled = SETTLED_CLAIMS.intersection(labels)
    return AgentClaim(
        None if settled else observation.claimed_agent,
        observation.claimed_agent if settled == PROVEN_CLAIM else None,
        uses=frozenset(use for use in AiPurpose if f"agent.use.{use}" in labels),
        is_unchecked="agent.operator_unchecked" in labels,
    )


def message_of(pending: PendingCheck) -> SignedMessage:
    scheme, _, authority = pending.page.kind.origin.partition("://")
    return SignedMessage(pending.method, scheme, authority, pending.page.target, pending.fields)


def rule_on_agent(check: DecidedCheck, agent: CheckedAgent, *, needs_proof: bool) -> Ruling | None:
    """Return the denial of an agent's request in the site's mode, or None."""
    against = agent.against(has_receipt=check.shown.reason is None, needs_proof=needs_proof)
    if against is None:
        return None
    if against.outcome is Outcome.CHALLENGE and check.decision.verdict.outcome in (Outcome.BLOCK, Outcome.DROP):
        # Passing a check would not help: the rules block or drop the request anyway.
        return None
    applied, would = apply_mode(against.outcome, check.site.mode)
    if would is not None:
        return Ruling(applied, "monitor", would, cause=against.reason)
    return replace(against, headers=tuple(agent.headers))
