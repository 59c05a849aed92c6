"""Labels of what was found before the decision: paths, settings of the site, tokens, agents, clusters, rates."""

from agentgate.decision.signals.facts import NETWORK_EXTREME, NETWORK_HIGH, VISITOR_EXTREME, VISITOR_HIGH, PartState
from agentgate.decision.signals.signal_input import Labels, SignalInput
from agentgate.lib.enums import AgentVerdict, AiUseChoice
from agentgate.sites.rules.labels import EXACT_NAMES, LABELS, slug

DISALLOWED = "robots.disallowed"
CLOSED = frozenset((AiUseChoice.BLOCK, AiUseChoice.CHALLENGE))
LABEL_OF_VERDICT = {
    AgentVerdict.VERIFIED: "agent.verified",
    AgentVerdict.INVALID: "agent.invalid",
    AgentVerdict.UNVERIFIED: "agent.unverified",
}
# Purposes that an agent may name; free words would let it choose labels.
PURPOSES = frozenset({"training", "search", "fetch", "dataset", "seo", "archive", "advertising", "index", "submit"})
_OF_PART = {int(PartState.OVER): ("rate.parts.high",), int(PartState.NAMED): ("agent.program_named",)}
CLUSTER_LABELS = tuple(label.name for label in LABELS if label.source in {"cluster", "privacy_pass"})


def standard_path_labels(request: SignalInput) -> Labels:
    """Return `path.*`, which the gateway reads with the site's feeds, and `site.*` of the site's load."""
    return request.facts.path + request.facts.load


def site_labels(request: SignalInput) -> Labels:
    """Return `http.host_unknown`, `http.plain_origin`, `ua.wanted` and `decoy.touched`."""
    labels = ["http.host_unknown"] if request.facts.is_foreign_host else []
    if request.facts.is_plain:
        labels.append("http.plain_origin")
    wanted = request.facts.wanted
    if wanted and not wanted.isdisjoint(request.user_agent.programs):
        labels.append("ua.wanted")
    if request.facts.has_opened_decoy:
        labels.append("decoy.touched")
    return labels


def receipt_labels(request: SignalInput) -> Labels:
    """Return `receipt.*` of the states that have a label."""
    states = request.facts.receipt
    if not states:
        return ()
    return [label for state in dict.fromkeys(states) if (label := f"receipt.{state}") in EXACT_NAMES]


def agent_labels(request: SignalInput) -> Labels:
    """Return `agent.*`: what a signature proved, and what the User-Agent claims without proof."""
    agent, claimed = request.facts.agent, request.user_agent.claim_labels
    if agent is None:
        return claimed
    labels = set(claimed)
    label = LABEL_OF_VERDICT.get(agent.verdict)
    if label is not None:
        labels.add(label)
    labels.update(f"agent.purpose.{purpose}" for purpose in agent.purposes if purpose in PURPOSES)
    return list(labels)


def robots_labels(request: SignalInput) -> Labels:
    """Return `robots.disallowed` and the crawler's name. The text of the header decides, so a name is enough."""
    facts, name = request.facts, request.user_agent.claimed_agent
    if name is None or facts.robots is None:
        return ()
    setting = facts.ai_use
    is_closed = setting is not None and any(setting[use] in CLOSED for _, use in request.user_agent.ai)
    if not facts.robots.disallows(name.lower(), is_closed=is_closed):
        return ()
    return DISALLOWED, f"{DISALLOWED}.{slug(name)}"


def cluster_labels(request: SignalInput) -> Labels:
    """Return `cluster.*` and `privacy_pass.*`; nothing if no browser check took part."""
    evidence = request.facts.evidence
    found = () if evidence is None else evidence.get("clusters", ())
    return [label for label in CLUSTER_LABELS if label in found]


def rate_labels(request: SignalInput) -> Labels:
    """Return `rate.*`, and `agent.program_named`; `extreme` comes together with `high`."""
    rates = request.facts.rates
    labels = _OF_PART.get(rates.parts, ())
    if rates.visitor < VISITOR_HIGH and rates.network < NETWORK_HIGH:
        return labels
    return [*labels] + [
        label
        for count, least, label in (
            (rates.visitor, VISITOR_HIGH, "rate.visitor.high"),
            (rates.visitor, VISITOR_EXTREME, "rate.visitor.extreme"),
            (rates.network, NETWORK_HIGH, "rate.network.high"),
            (rates.network, NETWORK_EXTREME, "rate.network.extreme"),
        )
        if count >= least
    ]
