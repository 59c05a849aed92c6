"""Explains a decision in sentences: what happened, the cause, and the evidence.

API, CLI, webhooks and console share the sentences. The labels in the rule's conditions show the cause, or else the
strongest labels. The catalog has the meanings of labels.
"""

import re

from msgspec import UNSET, UnsetType

from agentgate.events.queries.records import Decision
from agentgate.lib.enums import DecisionKind, Outcome
from agentgate.lib.records import Record
from agentgate.sites.rules.labels import FAMILY, LABELS
from agentgate.sites.rules.records import Rule

# The sentence names so many pieces of evidence; the list has all.
MOST_NAMED = 2
LONGEST_NAMED = 90

_MEANINGS = {label.name: label.meaning for label in LABELS}
# Cause -> the labels that show it, strongest first, and the words for it. The console has the same words.
CAUSES: dict[str, tuple[str, str]] = {
    "blocklist": (r"list\.block", "the site's blocklist has this visitor"),
    "signature": (r"agent\.invalid", "the agent's signature is invalid"),
    "forged_crawler": (r"agent\.(search|operator)_forged", "this client claims to be a known crawler and is not"),
    "ai_use": (r"ai\.(block|challenge)", "the site's AI use does not permit this client"),
    "scanner": (r"ua\.scanner", "this request came from a vulnerability scanner"),
    "automation": (
        r"browser\.(webdriver|automation|headless|injected|instrument_failed)|ua\.(headless|automation)",
        "a program controlled this browser",
    ),
    "replay": (r"cluster\.", "many visitors repeat the same input or device"),
    "rate": (r"rate\.", "too many requests came within a minute"),
    "script": (
        r"ua\.(http_library|missing|bare|malformed|short|unknown|package_manager|git|sync_client)",
        "this request came from a script, not a browser",
    ),
    "ai_agent": (
        r"ua\.ai_agent|agent\.(claimed|unverified)",
        "this client claims to be an AI agent and did not prove it",
    ),
    "crawler": (
        r"ua\.(crawler|search_engine|seo|archiver|academic|advertising|feed_reader|preview|uptime|checker|webhook)",
        "this request came from a crawler or another service",
    ),
    "unlike_browser": (
        r"http\.(order|unlike|tls|client_hints|fetch|accept_mismatch)|ua\.claims_browser",
        "this client claims to be a browser, and its request is unlike that browser's",
    ),
    "evidence": (
        r"evidence\.|probes\.(wrong|missing|no_layout|unproven|engine)|input\.|behavior\.|browser\.(?!evidence)",
        "the browser check found signs of automation",
    ),
    "content": (r"content\.", "the submitted text looks like spam"),
    "network": (r"net\.(tor|vpn|datacenter)", "this request came from a network that people rarely use"),
    "headers": (r"http\.(?!via|plain_origin)|model\.bot", "this request lacks what browsers send"),
}
# Why a request is decided without a rule. `policy` is decided by rules.
REASONS = {
    "receipt_required": "this route requires a passed browser check, and the request has no token or clearance cookie",
    "invalid_token": "the token was not issued for this site",
    "expired_token": "the token has expired",
    "token_used": "the token was already redeemed",
    "action_mismatch": "the token was issued for another action",
    "origin_mismatch": "the token was issued for another origin",
    "visitor_mismatch": "the token was issued to another visitor",
    "invalid_clearance": "the clearance cookie is invalid",
    "expired_clearance": "the clearance cookie has expired",
    "agent_signature_invalid": "the agent's signature is invalid",
    "rate_limited": "the rate limit was exceeded",
    "payment_required": "this action has a price, and the agent sent no offer",
    "payment_invalid": "the agent's payment offer is invalid",
    "agent_denied": "the site's policy does not permit this agent",
    "agent_unverified": "the client claims to be an agent and did not prove it",
    "service_unavailable": "AgentGate was unavailable",
}
NOTHING = "nothing suspicious was detected"
UNDECIDED = "no rule challenges or blocks what was detected"
DONE = {
    Outcome.ALLOW: "Allowed",
    Outcome.CHALLENGE: "Challenged",
    Outcome.BLOCK: "Blocked",
    Outcome.DROP: "Dropped",
}
WOULD = {
    Outcome.CHALLENGE: "Allowed in monitor mode; enforce mode would have challenged it",
    Outcome.BLOCK: "Allowed in monitor mode; enforce mode would have blocked it",
    Outcome.DROP: "Allowed in monitor mode; enforce mode would have dropped it",
}

_PATTERNS = {cause: re.compile(pattern) for cause, (pattern, _) in CAUSES.items()}


class Evidence(Record, frozen=True, kw_only=True):
    """A label of the decision and its meaning."""

    label: str
    meaning: str


class Explanation(Record, frozen=True, kw_only=True):
    """Why a decision was made. `sentence` is for people, `cause` for programs; `evidence`: labels that
    indicate a bot or that the rule names, strongest first."""

    sentence: str
    cause: str
    evidence: list[Evidence]


class ExplainedDecision(Decision, frozen=True, kw_only=True):
    """A decision with its explanation, as webhooks send it."""

    explanation: str


def explain(decision: Decision, rule: Rule | UnsetType = UNSET) -> Explanation:
    """Explain a decision; the rule that matched, if it is known, names the evidence that counted."""
    asked = set() if isinstance(rule, UnsetType) else _asked(rule, decision.labels)
    outcome = decision.outcome if isinstance(decision.would_decision, UnsetType) else decision.would_decision
    would = outcome is not decision.outcome
    labels = sorted(
        (label for label in decision.labels if label in asked or _rank(label) is not None),
        key=lambda label: (label not in asked, len(CAUSES) if (rank := _rank(label)) is None else rank),
    )
    cause, words = _cause(decision, outcome, labels)
    meanings = [_lower(meaning_of(label)) for label in labels if cause in CAUSES]
    named = [meaning for meaning in meanings if len(meaning) <= LONGEST_NAMED][:MOST_NAMED]
    because = f": {', and '.join(named)}" if named else ""
    return Explanation(
        sentence=f"{WOULD[outcome] if would else DONE[outcome]}: {words}{because}.",
        cause=cause,
        evidence=[Evidence(label=label, meaning=meaning_of(label)) for label in labels],
    )


def with_explanation(decision: Decision) -> ExplainedDecision:
    """Return a decision as webhooks send it."""
    fields = {name: getattr(decision, name) for name in Decision.__struct_fields__}
    return ExplainedDecision(**fields, explanation=explain(decision).sentence)


def meaning_of(label: str) -> str:
    """Return the catalog's words for a label; of a family's member, the family's words and the member."""
    if label in _MEANINGS:
        return _MEANINGS[label]
    family, _, member = label.rpartition(".")
    meaning = _MEANINGS.get(family + FAMILY)
    return label if meaning is None else f"{meaning}: {member}"


def _cause(decision: Decision, outcome: Outcome, labels: list[str]) -> tuple[str, str]:
    reason = next((each for each in decision.reasons if each in REASONS), None)
    if reason is not None:
        return reason, REASONS[reason]
    if decision.kind is DecisionKind.REQUEST and outcome is Outcome.ALLOW:
        if isinstance(decision.matched_rule, UnsetType):
            return ("no_rule", UNDECIDED) if labels else ("none", NOTHING)
        return "rule", f"the rule {decision.matched_rule} matched"
    for label in labels:
        rank = _rank(label)
        if rank is not None:
            cause = list(CAUSES)[rank]
            return cause, CAUSES[cause][1]
    if isinstance(decision.matched_rule, UnsetType):
        return "none", NOTHING if outcome is Outcome.ALLOW else "the site's default action applies"
    return "rule", f"the rule {decision.matched_rule} matched"


def _rank(label: str) -> int | None:
    """Return the place of the first cause that a label shows."""
    return next((place for place, pattern in enumerate(_PATTERNS.values()) if pattern.match(label)), None)


def _asked(rule: Rule, labels: list[str]) -> set[str]:
    match = rule.match
    exact = {
        label
        for labels_of in (match.all_labels, match.any_labels)
        if not isinstance(labels_of, UnsetType)
        for label in labels_of
    }
    prefixes = () if isinstance(match.any_prefix, UnsetType) else tuple(match.any_prefix)
    return {label for label in labels if label in exact or (prefixes and label.startswith(prefixes))}


def _lower(meaning: str) -> str:
    """Continue a sentence; abbreviations keep their capitals."""
    return meaning if meaning[:2].isupper() else meaning[0].lower() + meaning[1:]
