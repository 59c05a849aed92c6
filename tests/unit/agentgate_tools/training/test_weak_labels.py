"""Weak labels: what proves a class, and what a bot that knows the rules can add."""

from typing import Any

from agentgate.lib.enums import DecisionLabelValue
from agentgate_tools.training.weak_labels import PASSED, WeakLabels, passed_interactively


def decision(number: int, visitor: str, *labels: str, **fields: Any) -> dict[str, Any]:
    return {"id": f"dec_{number}", "visitorId": visitor, "labels": list(labels), **fields}


def people(decisions: list[dict[str, Any]], most: int = 200) -> list[str]:
    found = WeakLabels(most)
    found.add(decisions, DecisionLabelValue.HUMAN, PASSED)
    return [each.decision_id for each in found.items]


def test_a_visitor_gives_one_label_however_often_it_passes() -> None:
    farm = [decision(number, "0" * 16) for number in range(500)]

    assert people([*farm, decision(500, "1" * 16)]) == ["dec_0", "dec_500"]


def test_evidence_against_a_person_is_not_overruled_by_a_passed_challenge() -> None:
    # One family with benign causes does not contradict; two do, and so does one that the default rules challenge.
    benign = decision(1, "a", "browser.debugger")
    contradicted = [
        decision(2, "b", "browser.webdriver"),
        decision(3, "c", "http.unlike_browser"),
        decision(4, "d", "browser.debugger", "input.jump", "net.datacenter"),
    ]

    assert people([benign, *contradicted]) == ["dec_1"]


def test_a_decision_that_has_a_label_keeps_it() -> None:
    found = WeakLabels(200, labeled=["dec_1"])
    found.add([decision(1, "a"), decision(2, "b")], DecisionLabelValue.HUMAN, PASSED)

    assert [each.decision_id for each in found.items] == ["dec_2"]


def test_one_kind_of_proof_has_a_limit() -> None:
    assert len(people([decision(number, f"{number}") for number in range(50)], most=20)) == 20


def test_only_a_passed_interactive_challenge_proves_a_person() -> None:
    assert passed_interactively({"solveType": "step_up"})
    assert passed_interactively({"solveType": "interactive"})
    assert not passed_interactively({"solveType": "managed"})
    assert not passed_interactively({"outcome": "allow"})
    # Monitor mode let it pass; enforce mode would not have.
    assert not passed_interactively({"solveType": "interactive", "wouldDecision": "challenge"})
