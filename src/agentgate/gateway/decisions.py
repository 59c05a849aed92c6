"""Deciding about a check without a cached decision: signals, models, rules, and the response."""

from collections.abc import Sequence

from msgspec.structs import replace

from agentgate.agents.policy_checker import CheckedAgent
from agentgate.decision.engine import Views, conclude
from agentgate.decision.signals.facts import Observation, PartState, RequestFacts
from agentgate.decision.signals.observe import observe_rest
from agentgate.decision.signals.request_class import RequestClass
from agentgate.events.records import Pattern
from agentgate.gateway.answers import SEALED, Answers
from agentgate.gateway.block_feed.feed import offense_of
from agentgate.gateway.denials import FinalDenial, denial_of, word_of
from agentgate.gateway.event_log import GatewayEventLog
from agentgate.gateway.header_fingerprints import FingerprintKind
from agentgate.gateway.pages import PageKind
from agentgate.gateway.pending_check import DecidedCheck, PendingCheck
from agentgate.gateway.receipts import Shown
from agentgate.gateway.request.described_request import DENIAL
from agentgate.gateway.route_protection import Protection
from agentgate.gateway.ruling import PROVEN, UNCOVERED, rule
from agentgate.lib.enums import Outcome
from agentgate.sites.rules.effective import managed_members
from agentgate.sites.rules.evaluate import STRICTNESS, Traits

# A protection that could apply to the request, and the token or clearance shown for it.
Route = tuple[Protection, Shown]
# All that a decision depends on: page, headers, rank of the number of cookies, labels of the address, what was shown,
# ranks of the rates of visitor and network, how the request was counted, and traits if the site's rules read any.
# Made for each check, so it is a plain tuple: a named one takes longer.
DecisionKey = tuple[
    PageKind, FingerprintKind, int, tuple[str, ...], Shown | None, int, int, PartState, Traits | None
]  # fmt: skip
# Of a client that exceeds rates of rules: with their bits.
ExceededKey = tuple[DecisionKey, int]


class CachedDecision:
    """The response to checks of one kind, as bytes, and a template of their events."""

    __slots__ = (
        "decided", "denial", "earns", "end", "is_whole", "may_be_suggested", "middle", "offense", "pattern", "start",
    )  # fmt: skip

    def __init__(self, decided: DecidedCheck, answers: Answers, event_log: GatewayEventLog) -> None:
        self.decided = decided
        self.earns = earns(decided)
        self.may_be_suggested = may_be_suggested(decided)
        self.offense = offense_of(decided)
        ruling, kind = decided.ruling, decided.pending.fingerprint.kind
        # Whether these bytes are the complete response. A denial for a described request may depend on more.
        self.is_whole = not kind.form.respond or ruling.outcome is Outcome.ALLOW
        word = None
        # The denial that is sealed for each request, without its decision's ID.
        self.denial: FinalDenial | None = None
        if not self.is_whole and kind.form.respond == DENIAL:
            word = word_of(ruling, kind)
            self.is_whole = word is not None
            if word is None:
                word, self.denial = SEALED, denial_of(ruling, kind.method, None)
        # Before the date, between the date and the decision's ID, and after that.
        # The adapter adds a decoy to allowed pages.
        is_page = ruling.outcome is Outcome.ALLOW and kind.request_class is RequestClass.PAGE
        more = ((b"x-service-decoy", decoy),) if is_page and (decoy := decided.pending.page.kind.decoy) else ()
        self.start, self.middle, self.end = answers.prepare(ruling, is_ok_200=kind.form.is_ok_200, word=word, more=more)
        self.pattern = Pattern(event_log.event_of(decided, answers.status_of(ruling), 0))
        self.pattern.is_open_page = is_open_page(decided)


def earns(decided: DecidedCheck) -> bool:
    """Return whether the request was an allowed navigation, whose parts may be loaded; in monitor mode likewise."""
    pending, shown, ruling = decided.pending, decided.shown, decided.ruling
    # A program whose name shares a budget is counted as such, and opens no page.
    if pending.fingerprint.kind.request_class is not RequestClass.PAGE or pending.rates.parts != PartState.COUNTED:
        return False
    if (ruling.would or ruling.outcome) is not Outcome.ALLOW:
        return False
    if shown.reason is None or not PROVEN.isdisjoint(decided.decision.labels):
        return True
    return not decided.site.whole_site and decided.decision.verdict.rule is None and not decided.protection.opened


def is_open_page(decided: DecidedCheck) -> bool:
    """Return whether the request is part of the site's load: a page load without clearance or proven identity.

    Denied requests do not count, except challenges while the site is busy: otherwise these would end it.
    """
    pending, labels = decided.pending, decided.decision.labels
    request_class = pending.fingerprint.kind.request_class
    if request_class > RequestClass.PROGRAM or pending.rates.parts != PartState.COUNTED or pending.page.kind.is_file:
        return False
    if decided.shown.reason is None or not UNCOVERED.isdisjoint(labels) or not _LIMITED.isdisjoint(labels):
        return False
    outcome = decided.ruling.would or decided.ruling.outcome
    return outcome is Outcome.ALLOW or (outcome is Outcome.CHALLENGE and bool(decided.site.load_labels))


# The rates of one address or network are limited by themselves.
_LIMITED = frozenset(("rate.visitor.high", "rate.network.high"))
# Programs that no suggestion offers to allow, and reasons that no allowed path removes.
_NOT_OFFERED = frozenset(
    ("ua.scanner", "ua.automation", "ua.headless", "ua.ai_agent", "agent.search_forged", "agent.operator_forged")
)
_NOT_OPENED = frozenset(("rate_limited", "invalid_request"))


def may_be_suggested(decided: DecidedCheck) -> bool:
    """Return whether the request was denied, or would be, by a decision that an allowed path changes.

    No suggestion is made for requests that the owner's own lists and rules deny.
    """
    decision, ruling, fingerprint = decided.decision, decided.ruling, decided.pending.fingerprint
    if (ruling.would or ruling.outcome) is Outcome.ALLOW or (ruling.cause or ruling.reason) in _NOT_OPENED:
        return False
    by_owner = decision.verdict.rule is not None and decision.verdict.rule not in managed_members()
    if by_owner or decision.verdict.listed or fingerprint.kind.is_forged or decided.pending.page.kind.is_foreign:
        return False
    return _NOT_OFFERED.isdisjoint(decision.labels)


def decide_check(
    pending: PendingCheck, routes: Sequence[Route], views: Views, agents: Sequence[CheckedAgent] = ()
) -> DecidedCheck:
    """Decide under each protection that could apply, and return the strictest decision.

    Of equally strict ones: the first with a token, which has to be spent, or else the first.
    """
    of_agents: Sequence[CheckedAgent | None] = agents or [None] * len(routes)
    possible = [decide_under(pending, *route, views, agent) for route, agent in zip(routes, of_agents, strict=True)]
    check = max(
        possible, key=lambda each: (STRICTNESS[each.ruling.would or each.ruling.outcome], each.shown.token is not None)
    )
    limits = tuple(dict.fromkeys(limit for each in possible for limit in each.decision.verdict.limits))
    return replace(check, limits=limits) if limits else check


def decide_under(
    pending: PendingCheck, protection: Protection, shown: Shown, views: Views, agent: CheckedAgent | None
) -> DecidedCheck:
    """Run signals, models and rules under one protection, with the facts that a signature proved, and rule on it."""
    facts = pending.facts(protection, shown, None if agent is None else agent.facts)
    decision = conclude(
        observe(pending, facts, views),
        facts,
        pending.site,
        views.models,
        traits=pending.traits,
        started_ns=pending.started_ns,
    )
    check = DecidedCheck(pending, protection, shown, decision, facts.agent)
    return replace(check, ruling=rule(check, agent))


def observe(pending: PendingCheck, facts: RequestFacts, views: Views) -> Observation:
    """Run the signals on a check."""
    return observe_rest(pending.fingerprint.observed, facts, views.intel, cookie_count=pending.cookie_count)
