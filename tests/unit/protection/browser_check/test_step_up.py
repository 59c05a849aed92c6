"""The answer to a step-up: what a person's looks like, and everything that is not one."""

import msgspec
import pytest

from agentgate.lib.enums import WidgetMode
from agentgate.lib.records import to_builtins
from agentgate.protection.browser_check.ports import Binding, StoredChallenge
from agentgate.protection.browser_check.records import AnswerInput, StepInput
from agentgate.protection.browser_check.step_up import WAIT_MS, is_right, step_up_of
from tests.browser_client import solve

SEED = bytes(range(16))
STEPPED_MS = 1_000_000
CHALLENGE = StoredChallenge(
    id="ch_0",
    binding=Binding(site=1, action="login", origin="https://shop.example", visitor="0" * 16),
    seed=SEED,
    level=0,
    widget=WidgetMode.MANAGED,
    c_data=None,
    issued_ms=STEPPED_MS - 500,
    expires_ms=STEPPED_MS + 300_000,
    stepped_ms=STEPPED_MS,
)
FIRST = StepInput(input="pointer", after_ms=0, trusted=True)
SECOND = StepInput(input="pointer", after_ms=WAIT_MS, trusted=True)


@pytest.fixture(scope="module")
def work():
    return solve(to_builtins(step_up_of(SEED).work))


def right(work, *, steps=(FIRST, SECOND), after_ms=WAIT_MS, challenge=CHALLENGE):
    answer = AnswerInput(kind="confirm", steps=list(steps), work=work)
    return is_right(answer, challenge, STEPPED_MS + after_ms)


def test_two_presses_with_the_wait_between_them_are_right(work):
    assert right(work)


@pytest.mark.parametrize("means", ["pointer", "touch", "keyboard", "assistive"])
def test_it_does_not_matter_what_the_button_is_pressed_with(work, means):
    steps = [msgspec.structs.replace(step, input=means) for step in (FIRST, SECOND)]

    assert right(work, steps=steps)


def test_a_person_may_take_minutes(work):
    slow = msgspec.structs.replace(SECOND, after_ms=120_000)

    assert right(work, steps=(FIRST, slow), after_ms=200_000)


@pytest.mark.parametrize(
    "steps",
    [
        (),
        (FIRST,),
        (SECOND,),
        (FIRST, SECOND, SECOND),
        (msgspec.structs.replace(FIRST, trusted=False), SECOND),
        (FIRST, msgspec.structs.replace(SECOND, trusted=False)),
        (FIRST, msgspec.structs.replace(SECOND, after_ms=WAIT_MS - 1)),
    ],
)
def test_other_steps_are_wrong(work, steps):
    assert not right(work, steps=steps)


def test_an_answer_that_comes_before_anybody_could_have_given_it_is_wrong(work):
    assert not right(work, after_ms=WAIT_MS - 1)


def test_wrong_work_is_wrong(work):
    assert not right([number + 1 for number in work])
    assert not right(work[:-1])


def test_an_answer_that_nobody_asked_for_is_wrong(work):
    assert not right(work, challenge=msgspec.structs.replace(CHALLENGE, stepped_ms=None))
