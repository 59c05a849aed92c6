"""What applies to a decided check: the first thing that stands against the request, or nothing."""

from agentgate.lib.enums import Mode, Outcome
from agentgate.lib.limits import GATEWAY_REQUESTS_PER_MINUTE
from agentgate.protection.agents.policy_checker import AgentRuling
from agentgate.protection.decision.engine import EngineDecision
from agentgate.protection.decision.outcome import apply_mode
from agentgate.protection.gateway.agent_requests import rule_on_agent
from agentgate.protection.gateway.answers import Ruling
from agentgate.protection.gateway.pending_check import DecidedCheck
from agentgate.protection.signals.part_budget import PartState
from agentgate.protection.sites.directory import SiteView

# The signature, or the address of a search engine, says that the claim is true.
PROVEN = frozenset(("agent.verified", "agent.search_verified"))
# What whole-site protection asks.
ASKED = frozenset(("ua.browser", "ua.missing", "ua.malformed"))
# What programs ask for by a standard, and programs that owners send themselves; being some agent does not matter there.
OPENED_BY_RULE = frozenset(("path.standard", "path.feed", "path.webhook", "http.webhook_signature", "ua.checker"))

CANNOT_TELL = "Whose crawler this is could not be checked yet: DNS has not answered. Come again later."

_ALLOWED = Ruling(Outcome.ALLOW, "allowed")


def rule(check: DecidedCheck, agent: AgentRuling | None) -> Ruling:
    """Return what applies to the request: the first thing that stands against it, or nothing."""
    site, decision = check.site, check.decision
    if check.pending.rates.visitor > GATEWAY_REQUESTS_PER_MINUTE:
        return refuse(site, Outcome.BLOCK, "rate_limited")
    verdict = decision.verdict
    # No token, signature or payment opens a path that the site itself closed.
    is_closed = verdict.listed and verdict.outcome is not Outcome.ALLOW
    waives = verdict.waives or (agent is not None and agent.waives_receipt)
    if not is_closed:
        if check.protection.opened:
            return _ALLOWED if site.mode is Mode.ENFORCE else Ruling(Outcome.ALLOW, "monitor")
        against = _missing(check, agent, waives=waives)
        if against is not None:
            return against
    return _rule_by_verdict(check, asks=not waives)


def _rule_by_verdict(check: DecidedCheck, *, asks: bool) -> Ruling:
    """Return what the rules' verdict means for this request; with `asks`, whole-site protection may ask for proof."""
    site, verdict, parts = check.site, check.decision.verdict, check.pending.rates.parts
    outcome, reason = verdict.outcome, "agent_unverified" if _claims_an_agent(check.decision.labels) else "policy"
    if outcome is Outcome.CHALLENGE and parts >= PartState.PAID:
        # Nobody can answer a challenge there. The page that was allowed has all its parts; without one there are none.
        outcome = Outcome.ALLOW if parts == PartState.PAID else Outcome.BLOCK
    elif outcome is Outcome.ALLOW and asks and must_prove_itself(check):
        outcome, reason = Outcome.CHALLENGE, check.shown.reason or "receipt_required"
    applied, would = apply_mode(outcome, site.mode)
    if site.mode is Mode.MONITOR:
        return Ruling(applied, "monitor", would)
    if applied is Outcome.ALLOW:
        return _ALLOWED
    hint = CANNOT_TELL if "agent.search_unknown" in check.decision.labels else None
    return Ruling(applied, reason, response=verdict.response if outcome is verdict.outcome else None, hint=hint)


def must_prove_itself(check: DecidedCheck) -> bool:
    """Say whether a site that is protected as a whole asks this request for a clearance.

    Browsers are asked, and whoever says that it is one or does not say what it is; programs that say so themselves are
    left to the rules, as is everything that a rule allows and everything that proved who it is.
    """
    if not check.site.whole_site or check.shown.reason is None or check.decision.verdict.rule is not None:
        return False
    if check.pending.rates.parts >= PartState.PAID or check.pending.method == "OPTIONS":
        return False
    labels = check.decision.labels
    return PROVEN.isdisjoint(labels) and not ASKED.isdisjoint(labels)


def _is_opened_by_rule(decision: EngineDecision) -> bool:
    """Return whether a rule allows a path that programs request by a standard, for any agent."""
    verdict = decision.verdict
    is_opened = verdict.outcome is Outcome.ALLOW and verdict.rule is not None
    return is_opened and not OPENED_BY_RULE.isdisjoint(decision.labels)


def _missing(check: DecidedCheck, agent: AgentRuling | None, *, waives: bool) -> Ruling | None:
    """Return what a request lacks that is asked for before the rules: the agents' policy, a token or clearance."""
    against = None if agent is None or _is_opened_by_rule(check.decision) else rule_on_agent(check, agent)
    if against is not None:
        return against
    if check.protection.required and check.shown.reason is not None and not waives:
        return refuse(check.site, Outcome.CHALLENGE, check.shown.reason)
    return None


def _claims_an_agent(labels: tuple[str, ...]) -> bool:
    return "agent.claimed" in labels and PROVEN.isdisjoint(labels)


def refuse(site: SiteView, outcome: Outcome, reason: str) -> Ruling:
    """Return what stands against a request, as the site's mode has it."""
    applied, would = apply_mode(outcome, site.mode)
    return Ruling(applied, reason, None) if would is None else Ruling(applied, "monitor", would, cause=reason)


def unavailable(site: SiteView) -> Ruling:
    """Return the ruling when no decision is possible: enforce mode fails closed, monitor mode lets through."""
    return Ruling(Outcome.ALLOW if site.mode is Mode.MONITOR else Outcome.BLOCK, "service_unavailable")
