"""The verdict: every combination of proof, rules and solution."""

from itertools import product

import pytest

from agentgate.browser_check.judge import (
    DEFINITE,
    EXCUSED,
    OF_ASSISTANTS,
    PROGRAMS,
    Proof,
    judge,
    recorded,
)
from agentgate.lib.enums import Mode, Outcome
from agentgate.sites.rules.labels import is_label

PASSED, STEP_UP, FAILED = Outcome.ALLOW, Outcome.CHALLENGE, Outcome.BLOCK
ALLOW, CHALLENGE, BLOCK, DROP = Outcome


def proof(*, work=True, instrument=True, asked=False, answer=None, **fields):
    return Proof(work=work, instrument=instrument, asked=asked or answer is not None, answer=answer, **fields)


@pytest.mark.parametrize(
    ("outcome", "given", "labels", "verdict"),
    [
        (ALLOW, proof(), (), PASSED),
        (ALLOW, proof(asked=True), (), STEP_UP),
        (ALLOW, proof(answer=True), (), PASSED),
        (ALLOW, proof(answer=False), (), FAILED),
        # The rules were evaluated and allow an automated browser.
        (ALLOW, proof(), ("browser.webdriver",), PASSED),
        (ALLOW, proof(answer=True), ("browser.webdriver",), PASSED),
        (CHALLENGE, proof(), (), STEP_UP),
        (CHALLENGE, proof(asked=True), (), STEP_UP),
        (CHALLENGE, proof(answer=True), (), PASSED),
        (CHALLENGE, proof(answer=True), ("behavior.none", "evidence.doubtful", "ua.browser"), PASSED),
        (CHALLENGE, proof(answer=False), (), FAILED),
    ],
)
def test_what_the_rules_allow_or_challenge(outcome, given, labels, verdict):
    assert judge(given, outcome, labels) is verdict


@pytest.mark.parametrize("label", sorted(DEFINITE))
def test_someone_who_is_certainly_no_person_is_still_challenged_after_a_right_response(label):
    assert is_label(label)
    assert judge(proof(answer=True), CHALLENGE, ("behavior.none", label)) is FAILED


@pytest.mark.parametrize("label", ["input.robotic", "input.ruled_path", "input.even_path", "input.abrupt"])
def test_a_robot_has_to_press_like_a_hand(label):
    assert judge(proof(answer=True, traits=2), CHALLENGE, (label,)) is PASSED
    assert judge(proof(answer=True, traits=3), CHALLENGE, (label,)) is FAILED
    assert judge(proof(answer=True, traits=3), CHALLENGE, ("input.centred",)) is PASSED


def test_presses_of_assistive_tools_excuse_no_evidence_of_a_program():
    assert judge(proof(answer=True, assistive=True), CHALLENGE, ("browser.patched",)) is PASSED
    assert judge(proof(answer=True, assistive=True), CHALLENGE, ("probes.wrong",)) is FAILED


@pytest.mark.parametrize("label", sorted(OF_ASSISTANTS))
def test_the_person_of_an_assistant_passes_by_pressing(label):
    labels = ("assistant.challenge", label)

    assert judge(proof(answer=True, traits=2), CHALLENGE, labels) is PASSED
    assert judge(proof(answer=True, traits=3), CHALLENGE, labels) is FAILED
    assert judge(proof(answer=True, by_device=False), CHALLENGE, labels) is FAILED
    assert judge(proof(), CHALLENGE, labels) is STEP_UP


@pytest.mark.parametrize("label", sorted(DEFINITE - OF_ASSISTANTS))
def test_an_assistant_excuses_nothing_else(label):
    assert judge(proof(answer=True), CHALLENGE, ("assistant.challenge", label)) is FAILED


@pytest.mark.parametrize("label", sorted(PROGRAMS))
@pytest.mark.parametrize("outcome", [ALLOW, CHALLENGE])
@pytest.mark.parametrize("given", [proof(), proof(answer=True)])
def test_a_program_by_its_own_name_gets_no_token(label, outcome, given):
    assert is_label(label)
    assert judge(given, outcome, (label,)) is FAILED
    for excuse in EXCUSED:
        assert is_label(excuse)
        assert judge(given, outcome, (label, excuse)) is not FAILED


@pytest.mark.parametrize("outcome", [BLOCK, DROP])
@pytest.mark.parametrize("answer", [None, True, False])
def test_what_the_rules_block_never_passes(outcome, answer):
    assert judge(proof(answer=answer), outcome, ()) is FAILED


@pytest.mark.parametrize("outcome", Outcome)
@pytest.mark.parametrize("answer", [None, True, False])
@pytest.mark.parametrize("wrong", [{"work": False}, {"instrument": False}, {"work": False, "instrument": False}])
def test_a_wrong_proof_never_passes(outcome, answer, wrong):
    assert judge(proof(answer=answer, **wrong), outcome, ()) is FAILED


def test_enforce_mode_records_what_applied():
    for verdict, outcome in product((PASSED, STEP_UP, FAILED), Outcome):
        applied, would = recorded(verdict, outcome, Mode.ENFORCE)
        assert would is None
        assert (applied is ALLOW) == (verdict is PASSED and outcome is ALLOW)


def test_monitor_mode_records_what_would_have_applied():
    for verdict, outcome in product((PASSED, STEP_UP, FAILED), Outcome):
        applied, would = recorded(verdict, outcome, Mode.MONITOR)
        assert applied is ALLOW
        assert would == (recorded(verdict, outcome, Mode.ENFORCE)[0] if (verdict, outcome) != (PASSED, ALLOW) else None)
