"""LimitCounter: counts checks against the rates of a site's rules, by visitor, network, agent or clearance."""

from collections.abc import Callable

from msgspec.structs import replace

from agentgate.decision.rates.windows import Counted
from agentgate.gateway.pending_check import DecidedCheck, PendingCheck
from agentgate.gateway.ruling import PROVEN
from agentgate.gateway.visitors import Visitor
from agentgate.http.address import subnet_of
from agentgate.lib.enums import AgentVerdict
from agentgate.sites.rules.rate import RuleLimit

_ASN = "net.asn."
IsOver = Callable[[RuleLimit, int, int | str, int], bool]


class LimitCounter:
    """Counts checks and finds the rates that they exceed."""

    def __init__(self, is_over: IsOver) -> None:
        self._is_over = is_over

    def exceeded(self, check: DecidedCheck, visitor: Visitor, counted: Counted, now_ms: int) -> int:
        """Count a check once for each rate that its rules reach; return the bits of those that it exceeds."""
        bits = 0
        for limit in check.limits:
            client = _client_of(limit.by, check, visitor, counted)
            if client is not None and self._is_over(limit, visitor.site, client, now_ms):
                bits |= limit.bit
        return bits


def with_exceeded(pending: PendingCheck, bits: int) -> PendingCheck:
    """Return a check that exceeds these rates."""
    return replace(pending, traits=pending.traits._replace(sure=pending.traits.sure | bits))


def _client_of(by: str, check: DecidedCheck, visitor: Visitor, counted: Counted) -> int | str | None:
    """Return what a rate counts; None for a request without an agent where agents are counted.

    What a client can omit falls back to what it cannot: the clearance to the address, the ASN to the network.
    """
    if by == "network":
        return subnet_of(visitor.address)
    if by == "asn":
        asn = next((label for label in visitor.labels if label.startswith(_ASN)), None)
        return asn or subnet_of(visitor.address)
    if by == "agent":
        return _agent_of(check)
    if by == "clearance" and counted.clearance_id:
        return f"clearance {counted.clearance_id}"
    return visitor.number


def _agent_of(check: DecidedCheck) -> str | None:
    """Return the agent. A claimed name does not use up the requests of the proven one."""
    agent = check.agent
    if agent is not None and agent.verdict is AgentVerdict.VERIFIED:
        return f"verified {agent.agent}"
    claimed = check.decision.observation.claimed_agent
    if claimed is None:
        return None
    return f"{'claimed' if PROVEN.isdisjoint(check.decision.labels) else 'proven'} {claimed}"
