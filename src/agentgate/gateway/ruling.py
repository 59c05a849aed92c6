"""The ruling on a decided check: the first reason to deny the request, or none."""

from agentgate.agents.policy_checker import CheckedAgent
from agentgate.decision.engine import Ruling, apply_mode
from agentgate.decision.signals.facts import PartState
from agentgate.decision.signals.paths import OPEN_LABELS
from agentgate.gateway.agent_requests import rule_on_agent
from agentgate.gateway.pending_check import ALLOWED, DecidedCheck
from agentgate.lib.enums import Mode, Outcome
from agentgate.lib.limits import GATEWAY_REQUESTS_PER_MINUTE
from agentgate.sites.directory import SiteView
from agentgate.sites.rules.effective import managed_members, preset_members

# Labels of claims that a signature or the operator's address proves.
PROVEN = frozenset(("agent.verified", "agent.search_verified", "agent.operator_verified", "agent.program_verified"))
# What whole-site protection does not cover besides: standard paths, feeds, and programs that the owner wants.
UNCOVERED = OPEN_LABELS | PROVEN | {"ua.wanted"}
# Labels for which the agent policy accepts an unproven name: standard paths, feeds, and programs that the owner named.
NAME_SUFFICES = OPEN_LABELS | {"ua.wanted"}

CANNOT_TELL = "The crawler could not be verified yet: DNS has not responded. Try again later."
UNCHECKED = "The operator's networks are not checked yet: AgentGate has not read its list or DNS. Try again later."

_HINTS = (("agent.search_unknown", CANNOT_TELL), ("agent.operator_unchecked", UNCHECKED))


def rule(check: DecidedCheck, agent: CheckedAgent | None) -> Ruling:
    """Return the ruling: the first reason to deny the request, or none."""
    site, decision = check.site, check.decision
    if check.pending.fingerprint.kind.is_forged:
        # A header that only AgentGate may send, or a malformed Host: no token or rule allows such a request.
        return refuse(site, Outcome.BLOCK, "invalid_request")
    if check.pending.rates.visitor > GATEWAY_REQUESTS_PER_MINUTE:
        return refuse(site, Outcome.BLOCK, "rate_limited")
    verdict = decision.verdict
    # No token, signature or payment opens a path that the site itself closed.
    is_closed = verdict.listed and verdict.outcome is not Outcome.ALLOW
    waives = verdict.waives or (agent is not None and agent.waives_receipt)
    if not is_closed:
        against = _missing(check, agent, waives=waives)
        if against is not None:
            return against
        if check.protection.opened:
            return ALLOWED if site.mode is Mode.ENFORCE else Ruling(Outcome.ALLOW, "monitor")
    return _rule_by_verdict(check, asks=not waives)


def _rule_by_verdict(check: DecidedCheck, *, asks: bool) -> Ruling:
    """Return the ruling of the rules' verdict; with `asks`, whole-site protection may require a clearance."""
    site, verdict, parts = check.site, check.decision.verdict, check.pending.rates.parts
    outcome, reason = verdict.outcome, "agent_unverified" if _claims_an_agent(check.decision.labels) else "policy"
    if verdict.is_rate and outcome is Outcome.BLOCK:
        reason = "rate_limited"
    if outcome is Outcome.CHALLENGE and parts >= PartState.PAID:
        # A subresource cannot show a challenge.
        outcome = Outcome.ALLOW if _is_paid_part(check) else Outcome.BLOCK
    elif outcome is Outcome.ALLOW and asks and must_prove_itself(check):
        if parts >= PartState.PAID:
            outcome = Outcome.BLOCK
        else:
            outcome, reason = Outcome.CHALLENGE, check.shown.reason or "receipt_required"
    applied, would = apply_mode(outcome, site.mode)
    if site.mode is Mode.MONITOR:
        return Ruling(applied, "monitor", would)
    if applied is Outcome.ALLOW:
        return ALLOWED
    hint = next((hint for label, hint in _HINTS if label in check.decision.labels), None)
    return Ruling(applied, reason, response=verdict.response if outcome is verdict.outcome else None, hint=hint)


def must_prove_itself(check: DecidedCheck) -> bool:
    """Return whether whole-site protection requires a clearance of this request.

    It does of every client without a proven identity, except where the owner decided otherwise: by a rule, a list, a
    wanted program. A managed rule is not the owner's: some of them allow by a name or a protocol.
    """
    if not check.site.whole_site or check.shown.reason is None:
        return False
    decision = check.decision
    by_owner = decision.verdict.rule is not None and decision.verdict.rule not in managed_members()
    return not by_owner and UNCOVERED.isdisjoint(decision.labels) and not _is_paid_part(check)


def _is_paid_part(check: DecidedCheck) -> bool:
    """Return whether an allowed page has this part, and it is a file or its visitor has a clearance."""
    is_harmless = check.pending.page.kind.is_file or check.shown.reason is None
    # A costly page is never a subresource: `/blame/x.js` is a file by its name only.
    is_harmless = is_harmless and check.decision.verdict.rule not in preset_members()
    return is_harmless and check.pending.rates.parts == PartState.PAID


def _missing(check: DecidedCheck, agent: CheckedAgent | None, *, waives: bool) -> Ruling | None:
    """Return the denial that precedes the rules: by the agents' policy, or for a missing token or clearance."""
    is_open = check.protection.opened or not NAME_SUFFICES.isdisjoint(check.decision.labels)
    against = None if agent is None else rule_on_agent(check, agent, needs_proof=not is_open)
    if against is not None:
        return against
    if check.protection.required and check.shown.reason is not None and not waives:
        return refuse(check.site, Outcome.CHALLENGE, check.shown.reason)
    return None


def _claims_an_agent(labels: tuple[str, ...]) -> bool:
    return "agent.claimed" in labels and PROVEN.isdisjoint(labels)


def refuse(site: SiteView, outcome: Outcome, reason: str) -> Ruling:
    """Return the denial of a request in the site's mode."""
    applied, would = apply_mode(outcome, site.mode)
    return Ruling(applied, reason, None) if would is None else Ruling(applied, "monitor", would, cause=reason)


def unavailable(site: SiteView) -> Ruling:
    """Return the ruling when no decision is possible: enforce mode fails closed, monitor mode fails open."""
    return Ruling(Outcome.ALLOW if site.mode is Mode.MONITOR else Outcome.BLOCK, "service_unavailable")
