"""Agents: what their signature proved, and what the User-Agent claims without proof."""

from agentgate.decision.signals.signal_input import Labels, SignalInput
from agentgate.lib.enums import AgentVerdict

LABEL_OF_VERDICT = {
    AgentVerdict.VERIFIED: "agent.verified",
    AgentVerdict.INVALID: "agent.invalid",
    AgentVerdict.UNVERIFIED: "agent.unverified",
}
# Purposes that an agent may name; free words would let it choose labels.
PURPOSES = frozenset({"training", "search", "fetch", "dataset", "seo", "archive", "advertising", "index", "submit"})


def agent_labels(request: SignalInput) -> Labels:
    """Return `agent.*`."""
    agent, claimed = request.facts.agent, request.user_agent.claim_labels
    if agent is None:
        return claimed
    labels = set(claimed)
    label = LABEL_OF_VERDICT.get(agent.verdict)
    if label is not None:
        labels.add(label)
    labels.update(f"agent.purpose.{purpose}" for purpose in agent.purposes if purpose in PURPOSES)
    return list(labels)
