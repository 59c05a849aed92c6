"""What applies to a decided check: the first thing that stands against the request, or nothing."""

from agentgate.lib.enums import Mode, Outcome
from agentgate.lib.limits import GATEWAY_REQUESTS_PER_MINUTE
from agentgate.protection.agents.policy_checker import AgentRuling
from agentgate.protection.decision.outcome import apply_mode
from agentgate.protection.gateway.agent_requests import rule_on_agent
from agentgate.protection.gateway.answers import Ruling
from agentgate.protection.gateway.pending_check import DecidedCheck
from agentgate.protection.sites.directory import SiteView

# The signature, or the address of a search engine, says that the claim is true.
PROVEN = frozenset(("agent.verified", "agent.search_verified"))

CANNOT_TELL = "Whose crawler this is could not be checked yet: DNS has not answered. Come again later."

_ALLOWED = Ruling(Outcome.ALLOW, "allowed")


def rule(check: DecidedCheck, agent: AgentRuling | None) -> Ruling:
    """Return what applies to the request: the first thing that stands against it, or nothing."""
    site, decision = check.site, check.decision
    if check.pending.rates.visitor > GATEWAY_REQUESTS_PER_MINUTE:
        return refuse(site, Outcome.BLOCK, "rate_limited")
    against = None if agent is None else rule_on_agent(check, agent)
    if against is not None:
        return against
    waives = agent is not None and agent.waives_receipt
    if check.protection.required and check.shown.reason is not None and not waives:
        return refuse(site, Outcome.CHALLENGE, check.shown.reason)
    if site.mode is Mode.MONITOR:
        return Ruling(decision.outcome, "monitor", decision.would)
    if decision.outcome is Outcome.ALLOW:
        return _ALLOWED
    reason = "agent_unverified" if _claims_an_agent(decision.labels) else "policy"
    hint = CANNOT_TELL if "agent.search_unknown" in decision.labels else None
    return Ruling(decision.outcome, reason, response=decision.verdict.response, hint=hint)


def _claims_an_agent(labels: tuple[str, ...]) -> bool:
    return "agent.claimed" in labels and PROVEN.isdisjoint(labels)


def refuse(site: SiteView, outcome: Outcome, reason: str) -> Ruling:
    """Return what stands against a request, as the site's mode has it."""
    applied, would = apply_mode(outcome, site.mode)
    return Ruling(applied, reason, None) if would is None else Ruling(applied, "monitor", would, cause=reason)


def unavailable(site: SiteView) -> Ruling:
    """Return what is answered when nothing can be decided: enforce mode fails closed, monitor mode lets through."""
    return Ruling(Outcome.ALLOW if site.mode is Mode.MONITOR else Outcome.BLOCK, "service_unavailable")
