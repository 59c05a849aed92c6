"""AI operators: whether a program that names one comes from the operator's networks, and what verified ones do.

Published lists or DNS decide. Until one of them has been read, a name is neither verified nor forged.
"""

from collections.abc import Iterable

from agentgate.decision.signals.detectors.address import view_address
from agentgate.decision.signals.detectors.search_crawler import NOT_ASKED, status_by_address
from agentgate.decision.signals.signal_input import Labels, SignalInput
from agentgate.decision.threat_data.search_operators import SearchOperator
from agentgate.decision.threat_data.search_verification import CrawlerStatus
from agentgate.lib.enums import AgentVerdict, AiPurpose, AiUseChoice

VERIFIED, FORGED, UNCHECKED = "agent.operator_verified", "agent.operator_forged", "agent.operator_unchecked"
NAMED = "agent.named"
# The policy checker requires payment before the rules apply.
LABEL_OF_CHOICE = {
    AiUseChoice.ALLOW: "ai.allow",
    AiUseChoice.PRICE: "ai.allow",
    AiUseChoice.CHALLENGE: "ai.challenge",
    AiUseChoice.BLOCK: "ai.block",
}
Claims = tuple[tuple[str, ...], tuple[AiPurpose, ...]]
# Of key sets and of bundled names, in our words, to the three uses.
USE_OF_PURPOSE = {
    "agent": AiPurpose.AGENT,
    "fetch": AiPurpose.AGENT,
    "submit": AiPurpose.AGENT,
    "index": AiPurpose.SEARCH,
    "search": AiPurpose.SEARCH,
    "dataset": AiPurpose.TRAINING,
    "training": AiPurpose.TRAINING,
}


def ai_operator_labels(request: SignalInput) -> Labels:
    """Return `agent.operator*` and, for those whose identity is proven, `agent.use.*` and the site's setting."""
    agent = request.facts.agent
    is_signed = agent is not None and agent.verdict is AgentVerdict.VERIFIED
    if not is_signed and not request.user_agent.ai:
        return ()
    labels: tuple[str, ...] = ()
    if agent is not None and is_signed:
        uses = uses_of(request.intel.agent_purposes.get(agent.agent or ""), agent.purposes)
    else:
        labels, uses = _by_address(request)
    found = [*labels, *(f"agent.use.{use}" for use in uses)]
    if agent is not None and agent.is_named:
        # The policy checker applies an entry's denials before the rules.
        return [*found, NAMED, LABEL_OF_CHOICE[AiUseChoice.ALLOW]]
    return [*found, *(LABEL_OF_CHOICE[choice] for choice in _choices(request, uses))]


def _choices(request: SignalInput, uses: Iterable[AiPurpose]) -> set[AiUseChoice]:
    """Return the site's settings for these uses."""
    setting = request.facts.ai_use
    return set() if setting is None else {setting[use] for use in uses}


def uses_of(listed: str | None, stated: Iterable[str]) -> tuple[AiPurpose, ...]:
    """Return the uses of a verified agent: by the bundled list, else by its key set."""
    purposes = stated if listed is None else (listed,)
    return tuple({USE_OF_PURPOSE[purpose] for purpose in purposes if purpose in USE_OF_PURPOSE})


def _by_address(request: SignalInput) -> Claims:
    """Return the labels of the named operators, and the uses of those whose address is theirs."""
    view = view_address(request.facts.address, request.intel)
    if not NOT_ASKED.isdisjoint(view.labels):
        return (UNCHECKED,), ()
    claims = [(_status(request, view.search, operator), operator, use) for operator, use in request.user_agent.ai]
    proven = [(operator, use) for status, operator, use in claims if status is CrawlerStatus.VERIFIED]
    if not proven:
        is_forged = all(status is CrawlerStatus.FORGED for status, _, _ in claims)
        return (FORGED if is_forged else UNCHECKED,), ()
    names = {f"agent.operator.{operator.slug}" for operator, _ in proven}
    return (VERIFIED, *names), tuple({use for _, use in proven})


def _status(request: SignalInput, networks: int, operator: SearchOperator) -> CrawlerStatus:
    return CrawlerStatus.VERIFIED if networks & operator.bit else status_by_address(request, operator)
