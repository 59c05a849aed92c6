"""Counting different visitors by the smallest numbers of each day."""

import random
import struct

import pytest

from agentgate.events.storage.queries.counts import KEPT, estimate_sources


def sketch(visitors: set[int]) -> bytes:
    smallest = sorted(visitors)[:KEPT]
    return struct.pack(f">{len(smallest)}Q", *smallest)


def visitors(chance: random.Random, number: int) -> set[int]:
    return {chance.getrandbits(64) for _ in range(number)}


def test_few_visitors_are_counted_exactly_each_once() -> None:
    chance = random.Random(1)
    first, second, today = (visitors(chance, 600) for _ in range(3))

    assert estimate_sources([sketch(first), sketch(second), sketch(first)], [list(today), list(second)]) == 1800
    assert estimate_sources([], []) == 0
    assert estimate_sources([b""], [[2**64 - 1, 0]]) == 2


def test_the_last_number_that_is_exact_is_one_below_what_a_day_keeps() -> None:
    found = visitors(random.Random(2), KEPT - 1)

    assert estimate_sources([sketch(found)], []) == KEPT - 1


@pytest.mark.parametrize("number", [5_000, 60_000])
def test_many_visitors_are_estimated_within_a_few_percent(number: int) -> None:
    everybody = list(visitors(random.Random(3), number))
    days = [set(everybody[start : start + number // 2]) for start in range(0, number // 2, number // 20)]

    found = estimate_sources([sketch(day) for day in days], [everybody[-number // 2 :]])

    assert abs(found - number) < number * 0.08


@pytest.mark.parametrize("days", [1, 2, 31, 92])
@pytest.mark.parametrize("different", [300, KEPT, 9_000])
def test_the_estimate_matches_the_smallest_numbers_of_all_days(days: int, different: int) -> None:
    chance = random.Random(days * different)
    everybody = sorted(visitors(chance, different))
    # Quiet days tell all of their visitors, busy ones only the smallest; most visitors come on several days.
    sizes = [chance.choice((0, 1, different // 30, different)) for _ in range(days - 1)]
    of_days = [set(chance.sample(everybody, size)) for size in sizes]
    smallest = sorted(set().union(*of_days, everybody[: different // 2]))[:KEPT]

    found = estimate_sources([sketch(day) for day in of_days], [everybody[: different // 2]])

    expected = len(smallest) if len(smallest) < KEPT else round((KEPT - 1) * 2**64 / smallest[-1])
    assert found == expected
