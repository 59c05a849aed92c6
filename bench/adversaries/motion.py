"""How hands move and type: pure, from a random generator, so that the same seed gives the same person.

Pointer: minimum-jerk speed along a curve with a bow, tremor that is correlated in time, an overshoot with a correction
on longer ways, and a duration after Fitts's law. Keys: hold times and gaps are lognormal, pairs typed with two hands
are quicker, quick typists press the next key before they have let go of the last, and all people mistype occasionally.
"""

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

# Most mice report 125 times a second; the system adds a little noise to that.
SAMPLE_S = 0.008
LEFT_HAND = frozenset("qwertasdfgzxcvb12345")
NEAR = {"a": "s", "e": "r", "i": "o", "n": "m", "o": "p", "r": "t", "s": "d", "t": "y", "l": "k", "d": "f"}

Point = tuple[float, float]


@dataclass(frozen=True)
class Hand:
    """How a person moves and types."""

    # Seconds for a way of one target's width, and for each doubling of it (Fitts's law).
    reach_s: float = 0.12
    doubling_s: float = 0.13
    # How far the way is bent, as a share of its length, and how much the hand shakes, in pixels.
    bow: float = 0.12
    tremor: float = 0.7
    overshoot: float = 0.35
    # Typing: mean seconds between presses, mean hold, and how often a wrong key is hit.
    gap_s: float = 0.17
    hold_s: float = 0.09
    typo: float = 0.03
    # Seconds of thought before each step.
    thought_s: float = 0.6


def minimum_jerk(share: float) -> float:
    """Return how far along a movement is after this share of its time."""
    return share**3 * (10 - 15 * share + 6 * share**2)


def duration_s(hand: Hand, distance: float, width: float, rng: random.Random) -> float:
    """Return how long a way takes."""
    difficulty = math.log2(distance / max(width, 4) + 1)
    return max(0.08, (hand.reach_s + hand.doubling_s * difficulty) * rng.lognormvariate(0, 0.18))


def _stroke(
    start: Point, end: Point, seconds: float, hand: Hand, rng: random.Random
) -> Iterator[tuple[float, float, float]]:
    """Yield (pause, x, y) of one movement."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = math.hypot(dx, dy) or 1.0
    # A wrist turns about a joint: its ways are bent to one side or the other, and hardly ever straight.
    side = rng.choice((-1, 1)) * hand.bow * (0.35 + abs(rng.gauss(0, 0.7))) * length
    skew = rng.uniform(0.25, 0.5)
    # Two control points: the bow is larger early in the movement, when the hand is fast.
    nx, ny = -dy / length, dx / length
    one = (start[0] + dx * skew + nx * side, start[1] + dy * skew + ny * side)
    two = (start[0] + dx * 0.8 + nx * side * 0.35, start[1] + dy * 0.8 + ny * side * 0.35)
    # People differ in how early their speed peaks.
    lean = rng.uniform(0.85, 1.2)
    shake_x = shake_y = 0.0
    passed = 0.0
    while passed < seconds:
        pause = max(0.002, rng.gauss(SAMPLE_S, 0.0009))
        if rng.random() < 0.01:
            pause += rng.uniform(0.008, 0.03)
        passed += pause
        t = minimum_jerk(min(1.0, passed / seconds) ** lean)
        shake_x = 0.82 * shake_x + rng.gauss(0, hand.tremor * 0.5)
        shake_y = 0.82 * shake_y + rng.gauss(0, hand.tremor * 0.5)
        a, b, c, d = (1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t**2, t**3
        calm = 1 - 0.7 * t
        x = a * start[0] + b * one[0] + c * two[0] + d * end[0] + shake_x * calm
        y = a * start[1] + b * one[1] + c * two[1] + d * end[1] + shake_y * calm
        yield pause, x, y


def move(
    start: Point, box: tuple[float, float, float, float], hand: Hand, rng: random.Random
) -> list[tuple[float, float, float]]:
    """Return (pause, x, y) of the way from a point into a box (left, top, width, height)."""
    left, top, width, height = box
    # People aim at the middle and hit around it; wide fields are hit nearer to the side they come from.
    x = left + width * min(0.9, max(0.1, rng.gauss(0.5 if width < 200 else 0.35, 0.14)))
    y = top + height * min(0.85, max(0.15, rng.gauss(0.52, 0.13)))
    distance = math.hypot(x - start[0], y - start[1])
    seconds = duration_s(hand, distance, min(width, height), rng)
    if distance < 250 or rng.random() > hand.overshoot:
        return list(_stroke(start, (x, y), seconds, hand, rng))
    past = 1 + rng.uniform(0.02, 0.07)
    beyond = (start[0] + (x - start[0]) * past, start[1] + (y - start[1]) * past + rng.gauss(0, 3))
    way = list(_stroke(start, beyond, seconds, hand, rng))
    _, px, py = way[-1]
    way.append((rng.uniform(0.04, 0.12), px, py))
    return way + list(_stroke((px, py), (x, y), rng.uniform(0.12, 0.25), hand, rng))


def press_s(rng: random.Random) -> float:
    """Return how long a mouse button is held."""
    return min(0.25, max(0.04, rng.lognormvariate(math.log(0.085), 0.28)))


@dataclass(frozen=True)
class Key:
    """A key that goes down or up after a pause. The names are X11 key names."""

    pause: float
    name: str
    down: bool


def type_text(text: str, hand: Hand, rng: random.Random) -> list[Key]:
    """Return the presses and releases that write a text."""
    strokes: list[tuple[float, float, str]] = []
    now = 0.0
    before = ""
    for character in text:
        wrong = NEAR.get(character)
        if wrong and rng.random() < hand.typo:
            now += _gap(before, wrong, hand, rng)
            strokes.append((now, now + _hold(hand, rng), wrong))
            now += rng.uniform(0.2, 0.5)
            strokes.append((now, now + _hold(hand, rng), "BackSpace"))
            before = ""
        now += _gap(before, character, hand, rng)
        strokes.append((now, now + _hold(hand, rng), character))
        before = character
    return _in_order(strokes, rng)


def _gap(before: str, character: str, hand: Hand, rng: random.Random) -> float:
    other_hand = before and (before in LEFT_HAND) != (character.lower() in LEFT_HAND)
    factor = 0.8 if other_hand else 1.0 if before else 1.4
    if character == " " or before == " ":
        factor *= 1.15
    if character.isupper() or character in "@!?":
        factor *= 1.6
    pause = hand.gap_s * factor * rng.lognormvariate(-0.06, 0.36)
    return pause + (rng.uniform(0.2, 0.9) if rng.random() < 0.03 else 0)


def _hold(hand: Hand, rng: random.Random) -> float:
    return min(0.3, max(0.03, hand.hold_s * rng.lognormvariate(-0.03, 0.26)))


def _in_order(strokes: list[tuple[float, float, str]], rng: random.Random) -> list[Key]:
    events: list[tuple[float, str, bool]] = []
    free_s = 0.0
    for position, (down, up, name) in enumerate(strokes):
        begin, end = max(down, free_s), up
        following = strokes[position + 1] if position + 1 < len(strokes) else None
        # The same key cannot go down twice; shifted keys wait for the ones before them to be released.
        alone = following is not None and (following[2] == name or _shifted(following[2]) or _shifted(name))
        if alone and following is not None and end >= following[0]:
            end = max(begin + 0.02, following[0] - 0.012)
            free_s = end + 0.008
        if _shifted(name):
            lead = rng.uniform(0.05, 0.12)
            begin = max(begin, free_s) + lead
            end = max(end, begin + 0.05)
            events += [(begin - lead * 0.7, "Shift_L", True), (end + rng.uniform(0.01, 0.04), "Shift_L", False)]
            free_s = end + 0.05
        events += [(begin, name, True), (max(end, begin + 0.02), name, False)]
    events.sort(key=lambda event: event[0])
    keys = []
    now = 0.0
    for at, name, down_now in events:
        keys.append(Key(max(0.0, at - now), name, down_now))
        now = max(now, at)
    return keys


def _shifted(name: str) -> bool:
    return len(name) == 1 and (name.isupper() or name in '@!?:"_+')
