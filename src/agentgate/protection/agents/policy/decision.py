"""What a site's agent policy means for one agent and one action. The policy itself is stored with the site."""

from msgspec import Struct, UnsetType

from agentgate.lib.enums import AgentPolicyAction, AgentPolicyDecision, AgentPolicyDefault
from agentgate.protection.sites.agent_policy import DEFAULT_POLICY, AgentActionTerms, AgentEntry, AgentPolicy

__all__ = ["DEFAULT_POLICY", "AgentActionTerms", "AgentEntry", "AgentPolicy", "PolicyDecision", "policy_decision"]

_DEFAULTS = {
    AgentPolicyDefault.ALLOW: AgentPolicyAction.ALLOW,
    AgentPolicyDefault.CHALLENGE: AgentPolicyAction.CHALLENGE,
    AgentPolicyDefault.BLOCK: AgentPolicyAction.DENY,
}


class PolicyDecision(Struct, frozen=True, gc=False):
    """How a site stands to a verified agent that wants something."""

    decision: AgentPolicyAction
    # The policy names the agent, so its signature stands for the browser token that others need.
    is_named: bool


def policy_decision(policy: AgentPolicy, agent: str, action: str | None) -> PolicyDecision:
    """Return how a site stands to a verified agent. What is said about the action goes before what is said in general.

    A denied agent stays denied for every action: who writes `deny` does not expect an exception further down.
    """
    entry = policy.entry_for(agent)
    if entry is None:
        return PolicyDecision(_DEFAULTS[policy.default], is_named=False)
    if entry.decision is AgentPolicyDecision.DENY:
        return PolicyDecision(AgentPolicyAction.DENY, is_named=True)
    if action is not None and not isinstance(entry.actions, UnsetType):
        return PolicyDecision(entry.actions.get(action, AgentPolicyAction.ALLOW), is_named=True)
    return PolicyDecision(AgentPolicyAction.ALLOW, is_named=True)
