"""Deciding about a check without a cached decision: signals, models, rules, and the response."""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from agentgate.decision.engine import ObservedRequest, conclude
from agentgate.decision.scoring.score import ModelView
from agentgate.decision.signals.facts import AgentFacts, Observation, PartState
from agentgate.decision.signals.observe import observe_rest
from agentgate.decision.signals.request_class import RequestClass
from agentgate.decision.threat_data.intel import Intel
from agentgate.events.records import Pattern
from agentgate.gateway.answers import Answers, Ruling
from agentgate.gateway.denials import word_of
from agentgate.gateway.event_log import GatewayEventLog
from agentgate.gateway.pending_check import DecidedCheck, PendingCheck
from agentgate.gateway.receipts import Shown, fit
from agentgate.gateway.request.described_request import DENIAL
from agentgate.gateway.route_protection import Protection
from agentgate.gateway.ruling import PROVEN, refuse, rule
from agentgate.lib.enums import Outcome
from agentgate.sites.rules.effective import managed_members
from agentgate.sites.rules.evaluate import STRICTNESS


class Views(Struct, frozen=True, gc=False):
    """The threat data and models of a snapshot."""

    intel: Intel
    models: ModelView


class CachedDecision:
    """The response to checks of one kind, as bytes, and a template of their events."""

    __slots__ = ("decided", "earns", "end", "is_whole", "may_be_suggested", "middle", "pattern", "ruling", "start")

    def __init__(self, decided: DecidedCheck, ruling: Ruling, answers: Answers, event_log: GatewayEventLog) -> None:
        self.decided = decided
        self.ruling = ruling
        self.earns = earns(decided, ruling)
        self.may_be_suggested = may_be_suggested(decided, ruling)
        kind = decided.pending.fingerprint.kind
        # Whether these bytes are the complete response. A denial for a described request may depend on more.
        self.is_whole = not kind.form.respond or ruling.outcome is Outcome.ALLOW
        word = None
        if not self.is_whole and kind.form.respond == DENIAL:
            word = word_of(ruling, kind)
            self.is_whole = word is not None
        # Before the date, between the date and the decision's ID, and after that.
        self.start, self.middle, self.end = answers.prepare(ruling, is_ok_200=kind.form.is_ok_200, word=word)
        self.pattern = Pattern(event_log.event_of(decided, ruling, answers.status_of(ruling), 0))


def earns(decided: DecidedCheck, ruling: Ruling) -> bool:
    """Return whether the request was an allowed navigation, whose parts may be loaded; in monitor mode likewise."""
    pending, shown = decided.pending, decided.shown
    # A program whose name shares a budget is counted as such, and opens no page.
    if pending.fingerprint.kind.request_class is not RequestClass.PAGE or pending.rates.parts != PartState.COUNTED:
        return False
    if (ruling.would or ruling.outcome) is not Outcome.ALLOW:
        return False
    if shown.reason is None or not PROVEN.isdisjoint(decided.decision.labels):
        return True
    return not decided.site.whole_site and decided.decision.verdict.rule is None and not decided.protection.opened


# Programs that no suggestion offers to allow, and reasons that no allowed path removes.
_NOT_OFFERED = frozenset(
    ("ua.scanner", "ua.automation", "ua.headless", "ua.ai_agent", "agent.search_forged", "agent.operator_forged")
)
_NOT_OPENED = frozenset(("rate_limited", "invalid_request"))


def may_be_suggested(decided: DecidedCheck, ruling: Ruling) -> bool:
    """Return whether the request was denied, or would be, by a decision that an allowed path changes.

    No suggestion is made for requests that the owner's own lists and rules deny.
    """
    decision, fingerprint = decided.decision, decided.pending.fingerprint
    if (ruling.would or ruling.outcome) is Outcome.ALLOW or (ruling.cause or ruling.reason) in _NOT_OPENED:
        return False
    by_owner = decision.verdict.rule is not None and decision.verdict.rule not in managed_members()
    if by_owner or decision.verdict.listed or fingerprint.kind.is_forged or decided.pending.page.kind.is_foreign:
        return False
    return _NOT_OFFERED.isdisjoint(decision.labels)


def decide_check(pending: PendingCheck, views: Views) -> tuple[DecidedCheck, Ruling]:
    """Decide under each possible protection of the page, and return the strictest decision."""
    is_forged = pending.fingerprint.kind.is_forged
    decided = [
        decide_under(pending, protection, fit(pending.shown, protection), views)
        for protection in pending.page.kind.protections
    ]
    # A header that only AgentGate may send, or a malformed Host: no token or rule allows such a request.
    return strictest(
        (each, refuse(pending.site, Outcome.BLOCK, "invalid_request") if is_forged else rule(each, None))
        for each in decided
    )


def decide_under(
    pending: PendingCheck, protection: Protection, shown: Shown, views: Views, agent: AgentFacts | None = None
) -> DecidedCheck:
    """Run signals, models and rules under one protection, with the facts that a signature proved."""
    observation = observe(pending, protection, shown, views, agent)
    scores = views.models.score(observation, content=None)
    observed = ObservedRequest(
        observation, scores, protection.route, protection.action, pending.started_ns, pending.traits, agent
    )
    return DecidedCheck(pending, protection, shown, conclude(observed, pending.site), agent)


def observe(
    pending: PendingCheck, protection: Protection, shown: Shown, views: Views, agent: AgentFacts | None = None
) -> Observation:
    """Run the signals on a check."""
    facts = pending.facts(protection, shown, agent)
    return observe_rest(pending.fingerprint.observed, facts, views.intel, cookie_count=pending.cookie_count)


def strictest(decisions: Iterable[tuple[DecidedCheck, Ruling]]) -> tuple[DecidedCheck, Ruling]:
    """Return the strictest decision; of equal ones the first with a token, which has to be spent, or else the first."""
    possible = tuple(decisions)
    check, ruling = max(
        possible, key=lambda each: (STRICTNESS[each[1].would or each[1].outcome], each[0].shown.token is not None)
    )
    limits = tuple(dict.fromkeys(limit for each, _ in possible for limit in each.decision.verdict.limits))
    return (replace(check, limits=limits) if limits else check), ruling
