"""A decision explains itself: what happened, the cause, the evidence."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from agentgate.events.queries.records import Decision
from agentgate.lib.enums import DecisionKind, Outcome
from agentgate.lib.moment import Moment
from agentgate.sites.rules.explanations import CAUSES, NOTHING, REASONS, UNDECIDED, explain, with_explanation
from agentgate.sites.rules.labels import LABELS
from agentgate.sites.rules.records import Rule, RuleAction, RuleMatch

WORDS = Path(__file__).parents[4] / "console" / "src" / "words"
SCRIPT = ["net.asn.64500", "http.accept_language_missing", "ua.http_library"]


def decision(**changes: Any) -> Decision:
    usual: dict[str, Any] = {
        "id": "dec_1",
        "site_id": "s",
        "time": Moment(0),
        "kind": DecisionKind.REQUEST,
        "route": "*",
        "method": "GET",
        "outcome": Outcome.BLOCK,
        "mode": "enforce",
        "reasons": ["policy"],
        "labels": SCRIPT,
        "status": 403,
        "duration_us": 1,
        "matched_rule": "no-scripts",
    }
    return Decision(**usual | changes)


def test_the_sentence_names_what_happened_the_cause_and_the_evidence() -> None:
    found = explain(decision())

    assert found.sentence == (
        "Blocked: this request came from a script, not a browser: the User-Agent names an HTTP library or command-line"
        " client, and the Accept-Language header is missing."
    )
    assert found.cause == "script"
    assert [each.label for each in found.evidence] == ["ua.http_library", "http.accept_language_missing"]


def test_labels_that_the_rule_names_come_first() -> None:
    match = RuleMatch(all_labels=["net.asn.64500"], any_prefix=["http."])
    rule = Rule(name="no-scripts", match=match, action=RuleAction.BLOCK)

    labels = [each.label for each in explain(decision(), rule).evidence]

    assert labels == ["http.accept_language_missing", "net.asn.64500", "ua.http_library"]


def test_a_request_that_monitor_mode_allowed_was_allowed() -> None:
    found = explain(decision(outcome=Outcome.ALLOW, would_decision=Outcome.CHALLENGE))

    assert found.sentence.startswith(
        "Allowed in monitor mode; enforce mode would have challenged it: this request came"
    )


@pytest.mark.parametrize("reason", REASONS)
def test_a_reason_without_a_rule_is_the_cause(reason: str) -> None:
    found = explain(decision(reasons=[reason], labels=[], outcome=Outcome.CHALLENGE))

    assert (found.cause, found.sentence) == (reason, f"Challenged: {REASONS[reason]}.")


def test_an_allowed_request_had_nothing_suspicious() -> None:
    allowed = decision(outcome=Outcome.ALLOW, labels=["ua.browser"])

    assert explain(allowed).sentence == "Allowed: the rule no-scripts matched."
    found = explain(decision(outcome=Outcome.ALLOW, labels=["ua.browser"], reasons=["allowed"], matched_rule="x"))
    assert found.evidence == []


def test_an_allowed_request_with_evidence_does_not_claim_that_nothing_was_found() -> None:
    allowed = decision(outcome=Outcome.ALLOW, labels=SCRIPT, reasons=["allowed"], matched_rule=UNSET)

    assert explain(allowed).sentence == f"Allowed: {UNDECIDED}."
    assert explain(allowed).evidence
    unremarkable = decision(outcome=Outcome.ALLOW, labels=["ua.browser"], reasons=["allowed"], matched_rule=UNSET)
    assert explain(unremarkable).sentence == f"Allowed: {NOTHING}."


@pytest.mark.parametrize(("label", "cause"), [("agent.operator_forged", "forged_crawler"), ("ai.block", "ai_use")])
def test_a_forged_operator_and_the_ai_use_are_causes(label: str, cause: str) -> None:
    assert explain(decision(labels=[label, "ua.crawler", "ua.ai_agent"])).cause == cause


def test_webhooks_send_the_decision_with_its_sentence() -> None:
    sent = with_explanation(decision())

    assert sent.explanation == explain(decision()).sentence
    assert sent.labels == SCRIPT


def test_every_cause_is_shown_by_a_label_of_the_catalog() -> None:
    names = [label.name.removesuffix(".*") for label in LABELS]
    shown = {explain(decision(labels=[name], reasons=["policy"])).cause for name in names}

    assert shown >= set(CAUSES)


def test_the_console_has_the_same_words_for_each_cause() -> None:
    english = json.loads((WORDS / "en.json").read_text(encoding="utf-8"))
    words = {**{cause: text for cause, (_, text) in CAUSES.items()}, **REASONS, "none": NOTHING, "no_rule": UNDECIDED}

    assert {cause: english.get(f"cause.{cause}") for cause in words} == words
