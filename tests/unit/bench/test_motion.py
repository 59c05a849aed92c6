"""The lab's hands: what they do looks like hands, and can be done."""

import math
import random
from itertools import pairwise

import pytest

from bench.adversaries.motion import Hand, move, type_text
from bench.adversaries.personas import PERSONAS

BOX = (600.0, 400.0, 120.0, 36.0)
TEXT = "Maria Lopez wrote to maria.lopez@mail.example, twice"


def hands():
    return sorted({persona.hand for persona in PERSONAS}, key=repr)


@pytest.mark.parametrize("hand", hands())
def test_ways_end_in_the_box_and_are_not_straight(hand):
    bent = []
    for seed in range(7):
        way = move((80.0, 90.0), BOX, hand, random.Random(seed))
        _, x, y = way[-1]
        length = sum(math.dist(a[1:], b[1:]) for a, b in pairwise(way))
        straight = math.dist((80.0, 90.0), (x, y))

        assert BOX[0] - 6 < x < BOX[0] + BOX[2] + 6
        assert BOX[1] - 6 < y < BOX[1] + BOX[3] + 6
        bent.append(length / straight)
        assert 0.1 < sum(pause for pause, _, _ in way) < 8
    assert min(bent) > 1.0003
    assert sorted(bent)[3] > 1.002


def test_speed_rises_and_falls():
    way = move((80.0, 90.0), BOX, Hand(overshoot=0, tremor=0), random.Random(4))
    steps = [math.dist(a[1:], b[1:]) for a, b in pairwise(way)]
    peak = max(steps)

    assert 0.2 < steps.index(peak) / len(steps) < 0.7
    assert max(steps[:5] + steps[-5:]) < peak / 3


@pytest.mark.parametrize("hand", hands())
def test_each_key_goes_down_once_and_up_once(hand):
    for seed in range(7):
        held = set()
        written = []
        for key in type_text(TEXT, hand, random.Random(seed)):
            assert key.pause >= 0
            if key.down:
                assert key.name not in held
                held.add(key.name)
                if key.name == "BackSpace":
                    written.pop()
                elif key.name != "Shift_L":
                    written.append(key.name)
                    assert ("Shift_L" in held) == (key.name.isupper() or key.name == "@")
            else:
                held.remove(key.name)

        assert not held
        assert "".join(written) == TEXT


def test_quick_typists_overlap_and_no_one_is_even():
    keys = type_text("the quick brown fox jumps over the lazy dog", Hand(gap_s=0.09, hold_s=0.1), random.Random(2))
    down = 0
    most = 0
    for key in keys:
        down += 1 if key.down else -1
        most = max(most, down)

    assert most > 1
    assert len({round(key.pause, 3) for key in keys}) > len(keys) / 3
