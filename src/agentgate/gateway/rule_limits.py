"""Counts checks against the rates of a site's rules (`LimitCounter`), and requests that are not just pages."""

from collections.abc import Callable

from msgspec.structs import replace

from agentgate.decision.decider import Decider
from agentgate.decision.rates.windows import NAME_PER_MINUTE, Counted
from agentgate.decision.signals.facts import PartState
from agentgate.decision.signals.request_class import RequestClass
from agentgate.gateway.header_fingerprints import HeaderFingerprint
from agentgate.gateway.pages import SitePage
from agentgate.gateway.pending_check import DecidedCheck, PendingCheck
from agentgate.gateway.ruling import PROVEN
from agentgate.gateway.visitors import Visitor
from agentgate.http.address import subnet_of
from agentgate.lib.enums import AgentVerdict
from agentgate.sites.open_paths import SenderClaims
from agentgate.sites.rules.rate import RuleLimit

COUNTED = PartState.COUNTED
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


def count_part(
    decider: Decider, fingerprint: HeaderFingerprint, page: SitePage, counted: Counted, now_ms: int
) -> tuple[int, int, PartState]:
    """Count a possible subresource, or a program that shares the budget of its name."""
    kind, request_class = page.kind, fingerprint.kind.request_class
    if kind.is_file and request_class > RequestClass.PAGE:
        found = decider.count_file(counted, fingerprint.tag, now_ms)
        # No program that reads feeds or shows previews opens a page for the pictures and sound that it loads.
        return found if fingerprint.program is None or found[2] is PartState.OVER else (*found[:2], PartState.NAMED)
    if fingerprint.program is not None:
        rates = decider.count_again(counted, now_ms)
        has_room = decider.has_room(counted.site, fingerprint.program, NAME_PER_MINUTE, now_ms)
        return *rates, PartState.NAMED if has_room else COUNTED
    target = hash((kind.origin, page.target)) if fingerprint.methods.is_plain else None
    if request_class is RequestClass.PART:
        return decider.count_part(counted, fingerprint.tag, target, now_ms)
    if request_class is RequestClass.FETCH:
        return decider.count_fetch(counted, fingerprint.tag, target, now_ms)
    return *decider.count_again(counted, now_ms), COUNTED


def open_path(
    decider: Decider, fingerprint: HeaderFingerprint, page: SitePage, visitor: Visitor, now_ms: int
) -> SitePage:
    """Return the page as it is for a sender that the site opened the path to, if the sender's budget has room."""
    kind, path = page.kind, page.kind.open_path
    if path is None or kind.opened is None:
        return page
    opened = SitePage(page.target, kind.opened)
    if path.is_sender(fingerprint.signatures, visitor.address):
        return opened
    if not fingerprint.is_nameable:
        return page
    claims = SenderClaims(
        fingerprint.signatures, fingerprint.observed.user_agent.programs, is_browsers=fingerprint.is_browsers
    )
    budget = path.find_budget(claims, has_named_route=kind.has_named_route)
    if budget is None:
        return page
    has_room = decider.has_room(visitor.site, budget.counted_as, budget.per_minute, now_ms)
    return opened if has_room else page
