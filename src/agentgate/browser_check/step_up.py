"""Step-up: the interactive challenge. A visitor presses a button, it moves, and the visitor presses it again.

Every input device works. For a pointer, a finger or a key, the SDK sends input statistics of each press, and the
service judges them: `judged` returns why a response is not human-like.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import UNSET

from agentgate.browser_check.probes.checker import DrawnProbes
from agentgate.browser_check.records import AnswerInput, Probes, StepInput, StepUp, Work
from agentgate.browser_check.repository import StoredChallenge
from agentgate.browser_check.work import is_solved, step_up_work
from agentgate.lib.enums import WidgetMode

KIND = "confirm"
STEPS = 2
# Long enough to notice that something happens, and to do the proof of work; short enough to wait for.
WAIT_MS = 600

ButtonPosition = tuple[int, int]
# Positions of the button, in percent of its field's free width and height. The second is never near the first.
COLUMNS = ((0, 34), (66, 100))
WHOLE = 100

# Traits of presses that are not human-like. One or two have benign causes (a tapped touchpad, a remote desktop, a hand
# that happens to hit the center), so they are added up over all presses.
FEWEST_MOVES = 4
FEWEST_TRAVEL_MS = 60.0
SHORTEST_HOLD_MS = 10.0
SHORTEST_KEY_MS = 20.0
CENTRE_PX = 1.0
STRAIGHT_RATIO = 1.0005
STROKE_PX, STROKE_MOVES = 60.0, 8
STRAIGHT_PX = 0.8
# A hand's fastest step is nearly twice as long as the mean: it starts and ends at rest.
EVEN_PACE = 1.35
SAME_HOLD_MS = 3.0
LARGEST_POINT_PX = 1.0
MOST_POINTER_TRAITS = 5
# The limit for a client whose pointer and keys already looked automated.
MOST_ROBOT_TRAITS = 2
MOST_TOUCH_TRAITS = 4
# How far the distance between two presses may differ from the distance between the button's positions, and the least
# share of the way between the presses that the pointer must travel.
TOLERANCE_PX = 60.0
LEAST_WAY = 0.9


def step_up_of(challenge: StoredChallenge, draw: DrawnProbes | None = None, *, is_assistant: bool = False) -> StepUp:
    """Return the step-up of a challenge. Its work and positions remain the same until a wrong response."""
    return StepUp(
        kind=KIND,
        steps=STEPS,
        wait_ms=WAIT_MS,
        work=work_of(challenge),
        places=places_of(seed_of(challenge)),
        probes=UNSET if draw is None else Probes(draw=draw.draw, programs=draw.programs),
        assistant=True if is_assistant else UNSET,
    )


def work_of(challenge: StoredChallenge) -> Work:
    """Return the step-up's work: more if the evidence requires the check than if the site does."""
    return step_up_work(seed_of(challenge), is_doubtful=challenge.widget is not WidgetMode.INTERACTIVE)


def seed_of(challenge: StoredChallenge) -> bytes:
    """Return the seed of the current step-up: another one after each wrong response."""
    if not challenge.answers:
        return challenge.seed
    return hashlib.blake2b(
        bytes((challenge.answers,)), key=challenge.seed, digest_size=len(challenge.seed), person=b"answers"
    ).digest()


def places_of(seed: bytes) -> list[ButtonPosition]:
    """Return the button's position for each press: at one side, then at the other."""
    drawn = hashlib.blake2b(seed, digest_size=8, person=b"places").digest()
    sides = COLUMNS if drawn[0] & 1 else COLUMNS[::-1]
    places = []
    for index, (low, high) in enumerate(sides):
        across, down = drawn[1 + 2 * index], drawn[2 + 2 * index]
        places.append((low + across * (high - low) // 255, down * WHOLE // 255))
    return places


def is_right(answer: AnswerInput, challenge: StoredChallenge, now_ms: int, sums: Mapping[str, Any] | None) -> bool:
    """Return whether a response has the right presses, human-like and not too early.

    `sums` are the page's interaction statistics; None if the presses need not be human-like.
    """
    # The page reports the waiting time; only our own clock proves it.
    if challenge.stepped_ms is None or now_ms - challenge.stepped_ms < WAIT_MS:
        return False
    if len(answer.steps) != STEPS or not all(step.trusted for step in answer.steps):
        return False
    if answer.steps[-1].after_ms < WAIT_MS:
        return False
    if sums is not None and judged(answer, places_of(seed_of(challenge)), sums) is not None:
        return False
    return is_solved(work_of(challenge), answer.work, challenge.seed)


def judged(answer: AnswerInput, places: Sequence[ButtonPosition], interaction: Mapping[str, Any]) -> str | None:
    """Return why the presses are not a person's, or None."""
    steps = answer.steps
    if any(step.input != "assistive" and step.press is UNSET for step in steps):
        return "a trusted press has no input statistics"
    if not was_counted(steps, interaction):
        return "the page's input statistics lack the presses"
    pointers = [step for step in steps if step.input == "pointer"]
    if len(pointers) == STEPS and (wrong := _wrong_way(answer, places)):
        return wrong
    return _unlike_hands(steps)


def _unlike_hands(steps: Sequence[StepInput]) -> str | None:
    """Return why no hand makes such presses."""
    if pointer_traits(steps) > MOST_POINTER_TRAITS:
        return "the pointer movement is not human-like"
    if sum(_touch_traits(step) for step in steps if step.input == "touch") > MOST_TOUCH_TRAITS:
        return "the touches are not human-like"
    keys = [step for step in steps if step.input == "keyboard"]
    if len(keys) == STEPS and all(_hold_ms(step) < SHORTEST_KEY_MS for step in keys):
        return "the key presses are not human-like"
    return None


def was_counted(
    steps: Sequence[StepInput], interaction: Mapping[str, Any], before: tuple[float, float] = (0, 0)
) -> bool:
    """Return whether the page counted the moves and clicks of the presses, in addition to its earlier ones."""
    counted = counts_of(interaction)
    if counted is None:
        return False
    told = sum(step.press.moves for step in steps if step.press is not UNSET)
    moves, clicks = counted
    return clicks - before[1] >= len(steps) and moves - before[0] >= told


def counts_of(interaction: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return how many moves and clicks the page has counted; None if it sent no counts."""
    moves, clicks = interaction.get("pointerMoves"), interaction.get("clicks")
    if not isinstance(moves, int | float) or not isinstance(clicks, int | float):
        return None
    return moves, clicks


def _wrong_way(answer: AnswerInput, places: Sequence[ButtonPosition]) -> str | None:
    """Return the problem with the pointer's path between two presses, or None."""
    second = answer.steps[-1].press
    if second is UNSET or answer.field is UNSET:
        return "a trusted press has no input statistics"
    (x1, y1), (x2, y2) = places
    width, height = answer.field
    expected = math.hypot((x2 - x1) * width / WHOLE, (y2 - y1) * height / WHOLE)
    if abs(second.reach_px - expected) > TOLERANCE_PX:
        return "the second press is not where the button was"
    if second.way_px < second.reach_px * LEAST_WAY:
        return "the pointer arrived without moving"
    return None


def _hold_ms(step: StepInput) -> float:
    return math.inf if step.press is UNSET else step.press.hold_ms


def _is_centred(step: StepInput) -> bool:
    return step.press is not UNSET and max(abs(step.press.off_x), abs(step.press.off_y)) <= CENTRE_PX


def pointer_traits(steps: Sequence[StepInput]) -> int:
    """Count the traits of presses by pointer that hands do not have: of each press, and of both together."""
    pointers = [step for step in steps if step.input == "pointer"]
    alike = 0
    if len(pointers) == STEPS:
        holds = [_hold_ms(step) for step in pointers]
        alike = all(map(_is_centred, pointers)) + (max(holds) - min(holds) < SAME_HOLD_MS)
    return alike + sum(map(_pointer_traits, pointers))


def _pointer_traits(step: StepInput) -> int:
    press = step.press
    if press is UNSET:
        return 0
    is_stroke = press.stroke_px >= STROKE_PX
    is_straight = (press.reach_px > 0 and press.way_px / press.reach_px < STRAIGHT_RATIO) or (
        is_stroke and press.bend_px <= STRAIGHT_PX
    )
    is_even = is_stroke and press.moves >= STROKE_MOVES and 0 < press.pace < EVEN_PACE
    return (
        (press.moves < FEWEST_MOVES)
        + (press.travel_ms < FEWEST_TRAVEL_MS)
        + (press.hold_ms < SHORTEST_HOLD_MS)
        + _is_centred(step)
        + is_straight
        + is_even
    )


def is_by_device(steps: Sequence[StepInput], *, has_raster: bool) -> bool:
    """Return whether the presses were timed as a device's, where the system times input in whole milliseconds."""
    presses = [step.press for step in steps if step.press is not UNSET]
    events = sum(press.moves for press in presses) + STEPS + 1
    return not has_raster or sum(press.off for press in presses) * 2 <= events


def _touch_traits(step: StepInput) -> int:
    press = step.press
    if press is UNSET:
        return 0
    return (press.hold_ms < SHORTEST_HOLD_MS) + _is_centred(step) + (press.size_px <= LARGEST_POINT_PX)
