"""Programs: the same seed and number always give the same program, so that a pool's results remain valid."""

import hashlib
import re

import msgspec
import pytest

from agentgate.browser_check.probes.generate import FAMILIES, GENERATOR, SIMPLE, family_of, make_program
from agentgate.browser_check.probes.layouts import LEAST_BOXES, MOST_BOXES, count_boxes

SEED = bytes(range(32))
# Of 280 programs. A change of the program for a number requires an increased GENERATOR and a new shipped pool.
GOLDEN = {1: "d2352f09ae301730b35e66c1141f3a8f"}
# What changed in engines within the last years, or changes with zoom, fonts or language.
UNSTEADY = re.compile(r"table|columns:|scroll|cq[wh]|round\(|anchor|:has|var\(|color|perspective|writing-mode|column-")


def programs(count):
    return [make_program(SEED, number) for number in range(count)]


def test_a_number_gives_the_same_program_forever():
    written = msgspec.json.encode(programs(280))

    assert hashlib.sha256(written).hexdigest()[:32] == GOLDEN[GENERATOR]


def test_no_two_programs_are_the_same():
    assert len({msgspec.json.encode(program) for program in programs(280)}) == 280
    assert make_program(SEED, 7) != make_program(SEED[::-1], 7)


def test_half_of_all_are_deep_and_every_family_has_its_share():
    families = [family_of(number) for number in range(1400)]

    assert families.count("deep") == 700
    assert {families.count(family) for family in SIMPLE} == {100}
    assert set(families) == set(FAMILIES)


def test_deep_programs_are_large_and_measured_late():
    for number in range(7, 1400, 14):
        tree, measures = make_program(SEED, number)
        boxes = count_boxes(tree)
        measured = [measure[1] for measure in measures if measure[0] == "r"]

        assert LEAST_BOXES <= boxes <= MOST_BOXES
        assert [measure[0] for measure in measures] == ["A", "A", "r", "r", "r", "r"]
        assert len(set(measured)) == 4
        assert min(measured) >= 3 + (boxes - 3) * 3 // 10


def test_only_steady_words_are_used():
    for number in range(420):
        text = msgspec.json.encode(make_program(SEED, number)[0]).decode()

        assert not UNSTEADY.search(text.replace("grid-template-columns:", "").replace("grid-column:", "")), text


def test_every_measure_names_a_box_that_exists():
    for program in programs(280):
        tree, measures = program
        for measure in measures:
            if measure[0] in {"r", "A", "c"}:
                assert 0 <= measure[1] < count_boxes(tree)


@pytest.mark.parametrize("number", range(7, 107, 14))
def test_nested_flex_boxes_have_a_basis_and_may_shrink_to_nothing(number):
    def check(box):
        if isinstance(box, str):
            return
        if "display:flex" in box[0]:
            for child in box[1:]:
                css = child if isinstance(child, str) else child[0]
                assert re.search(r"flex:\d \d \d+px;min-width:0", css), css
        for child in box[1:]:
            check(child)

    check(make_program(SEED, number)[0])
