"""The result of a step-up: examples of human input, and everything that is not human."""

import math

import msgspec
import pytest

from agentgate.browser_check.records import AnswerInput, PressInput, StepInput
from agentgate.browser_check.repository import StoredChallenge
from agentgate.browser_check.step_up import (
    WAIT_MS,
    is_right,
    judged,
    places_of,
    pointer_traits,
    step_up_of,
    was_counted,
)
from agentgate.lib.enums import WidgetMode
from agentgate.lib.records import to_builtins
from tests.support.browser_client import solve

SEED = bytes(range(16))
STEPPED_MS = 1_000_000
CHALLENGE = StoredChallenge(
    id="ch_0",
    site=1,
    action="login",
    origin="https://shop.example",
    visitor="0" * 16,
    seed=SEED,
    level=0,
    widget=WidgetMode.MANAGED,
    c_data=None,
    issued_ms=STEPPED_MS - 500,
    expires_ms=STEPPED_MS + 300_000,
    stepped_ms=STEPPED_MS,
)
FIELD = (216.0, 72.0)
(X1, Y1), (X2, Y2) = PLACES = places_of(SEED)
REACH = math.hypot((X2 - X1) * FIELD[0] / 100, (Y2 - Y1) * FIELD[1] / 100)
HAND = PressInput(
    moves=12,
    way_px=REACH * 1.08,
    reach_px=REACH,
    travel_ms=380,
    hold_ms=74,
    off_x=6,
    off_y=-4,
    size_px=1,
    stroke_px=REACH,
    bend_px=9,
    pace=1.9,
)
FINGER = PressInput(hold_ms=68, off_x=7, off_y=3, size_px=23)
KEY = PressInput(hold_ms=81)
PRESSES = {"pointer": HAND, "touch": FINGER, "keyboard": KEY, "assistive": msgspec.UNSET}
FIRST = StepInput(input="pointer", after_ms=0, trusted=True, press=HAND)
SECOND = StepInput(input="pointer", after_ms=WAIT_MS, trusted=True, press=HAND)
SUMS = {"pointerMoves": 60, "clicks": 2}
change = msgspec.structs.replace


@pytest.fixture(scope="module")
def work():
    return solve(to_builtins(step_up_of(CHALLENGE).work))


def answer_of(steps, work=(), field=FIELD):
    return AnswerInput(kind="confirm", steps=list(steps), work=list(work), field=field)


def right(work, *, steps=(FIRST, SECOND), after_ms=WAIT_MS, challenge=CHALLENGE, sums=SUMS):
    return is_right(answer_of(steps, work), challenge, STEPPED_MS + after_ms, sums)


def by(means, press):
    return [change(step, input=means, press=press) for step in (FIRST, SECOND)]


def test_two_presses_with_the_wait_between_them_are_right(work):
    assert right(work)


@pytest.mark.parametrize("means", PRESSES)
def test_it_does_not_matter_what_the_button_is_pressed_with(work, means):
    assert right(work, steps=by(means, PRESSES[means]))


def test_a_person_may_take_minutes(work):
    slow = change(SECOND, after_ms=120_000)

    assert right(work, steps=(FIRST, slow), after_ms=200_000)


@pytest.mark.parametrize(
    "steps",
    [
        (),
        (FIRST,),
        (SECOND,),
        (FIRST, SECOND, SECOND),
        (change(FIRST, trusted=False), SECOND),
        (FIRST, change(SECOND, trusted=False)),
        (FIRST, change(SECOND, after_ms=WAIT_MS - 1)),
    ],
)
def test_other_steps_are_wrong(work, steps):
    assert not right(work, steps=steps)


def test_a_response_that_comes_before_anyone_could_have_given_it_is_wrong(work):
    assert not right(work, after_ms=WAIT_MS - 1)


def test_wrong_work_is_wrong(work):
    assert not right([number + 1 for number in work])
    assert not right(work[:-1])


def test_a_response_that_no_one_asked_for_is_wrong(work):
    assert not right(work, challenge=change(CHALLENGE, stepped_ms=None))


def test_the_response_to_another_challenge_is_wrong(work):
    other = next(seed for seed in (bytes([n]) * 16 for n in range(256)) if places_of(seed)[0][0] // 50 != X1 // 50)

    assert not right(work, challenge=change(CHALLENGE, seed=other))


@pytest.mark.parametrize(
    ("means", "press"),
    [
        # The input of common drivers: one move to the very center, pressed and released at once.
        ("pointer", change(HAND, moves=1, way_px=REACH, travel_ms=0, hold_ms=0.2, off_x=0.3, off_y=0)),
        # Twenty steps on a line, at once.
        ("pointer", change(HAND, moves=20, way_px=REACH, travel_ms=20, hold_ms=0.2)),
        # A robot: straight along an axis at one pace, and a short press somewhere in the button.
        ("pointer", change(HAND, bend_px=0, pace=1.1, hold_ms=6)),
        # Not where the button was; there without a way.
        ("pointer", change(HAND, reach_px=REACH + 200, way_px=REACH + 230)),
        ("pointer", change(HAND, way_px=REACH * 0.5)),
        ("touch", change(FINGER, hold_ms=0, off_x=0, off_y=0, size_px=1)),
        ("keyboard", change(KEY, hold_ms=0.8)),
        ("pointer", msgspec.UNSET),
        ("touch", msgspec.UNSET),
        ("keyboard", msgspec.UNSET),
    ],
)
def test_presses_that_no_hand_makes_are_wrong(work, means, press):
    assert not right(work, steps=by(means, press))


@pytest.mark.parametrize(
    ("means", "press"),
    [
        # A tapped touchpad; a remote desktop that sends the end of the way only; a slow hand; one that hits the center.
        ("pointer", change(HAND, hold_ms=2)),
        ("pointer", change(HAND, moves=1, travel_ms=0, way_px=REACH * 1.001)),
        ("pointer", change(HAND, travel_ms=60_000, moves=900, way_px=REACH * 9)),
        ("pointer", change(HAND, off_x=0, off_y=0)),
        ("touch", change(FINGER, size_px=1)),
        ("touch", change(FINGER, size_px=1, off_x=0, off_y=0)),
    ],
)
def test_hands_that_differ_pass(means, press):
    sums = {"pointerMoves": 2_000, "clicks": 9}

    assert judged(answer_of(by(means, press)), PLACES, sums) is None


@pytest.mark.parametrize(
    "sums", [{}, {"pointerMoves": 60}, {"pointerMoves": 60, "clicks": 1}, {"pointerMoves": 20, "clicks": 2}]
)
def test_presses_that_the_page_has_not_counted_are_wrong(work, sums):
    assert not right(work, sums=sums)


def test_what_both_presses_have_in_common_counts():
    centred = change(HAND, off_x=0, off_y=0)
    later = change(centred, hold_ms=HAND.hold_ms + 40)

    assert pointer_traits(by("pointer", HAND)) == 1
    assert pointer_traits(by("pointer", centred)) == 4
    assert pointer_traits([change(FIRST, press=centred), change(SECOND, press=later)]) == 3
    assert pointer_traits([change(FIRST, press=HAND), change(SECOND, press=later)]) == 1
    assert pointer_traits(by("keyboard", KEY)) == 0


def test_statistics_that_have_not_grown_since_the_check_was_requested_are_a_replay():
    steps, sums = by("pointer", HAND), {"pointerMoves": 60, "clicks": 5}

    assert was_counted(steps, sums, (30, 3))
    assert not was_counted(steps, sums, (30, 4))
    assert not was_counted(steps, sums, (50, 3))


def test_the_button_changes_sides_and_is_elsewhere_for_each_challenge():
    drawn = [places_of(bytes([n]) * 16) for n in range(256)]

    assert all(abs(x1 - x2) >= 32 for (x1, _), (x2, _) in drawn)
    assert all(0 <= at <= 100 for places in drawn for place in places for at in place)
    assert len({tuple(places) for places in drawn}) > 250
    assert 100 < sum(x1 < x2 for (x1, _), (x2, _) in drawn) < 156
