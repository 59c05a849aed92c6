"""Decision IDs: in the order of time, never twice, one spelling each."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgate.events.decision_ids import (
    EPOCH_MS,
    LARGEST_ID,
    DecisionIds,
    encode_id,
    first_id,
    id_day,
    id_time_ms,
    read_id,
    write_id,
)
from agentgate.lib.clock import DAY_MS, FixedClock

NOW_MS = 1_794_744_000_123


def test_ids_of_one_millisecond_differ_and_ascend():
    ids = DecisionIds(FixedClock(NOW_MS), 7)
    made = [ids.next() for _ in range(10_000)]
    assert made == sorted(set(made))


def test_a_clock_that_goes_back_never_makes_an_id_twice():
    clock = FixedClock(NOW_MS)
    ids = DecisionIds(clock, 7)
    before = [ids.next() for _ in range(50)]
    clock.advance(ms=-5_000)
    after = [ids.next() for _ in range(50)]
    assert not set(before) & set(after)
    assert min(after) > max(before)


def test_workers_never_meet():
    clock = FixedClock(NOW_MS)
    made = [ids.next() for ids in (DecisionIds(clock, worker) for worker in range(1024)) for _ in range(4)]
    assert len(set(made)) == len(made)


def test_a_worker_that_gets_another_number_continues_above_its_last_id():
    ids = DecisionIds(FixedClock(NOW_MS), 7)
    before = [ids.next() for _ in range(50)]
    ids.worker = 3
    after = [ids.next() for _ in range(5_000)]
    assert ids.worker == 3
    assert after == sorted(set(after))
    assert min(after) > max(before)
    assert {made >> 12 & 1023 for made in after} == {3}


def test_a_clock_before_the_first_moment_makes_ids_of_its_worker():
    ids = DecisionIds(FixedClock(EPOCH_MS - 5), 7)
    made = [ids.next() for _ in range(10)]
    assert made == sorted(set(made))
    assert {each >> 12 & 1023 for each in made} == {7}


def test_a_worker_beyond_the_last_is_rejected():
    with pytest.raises(ValueError, match="between 0 and 1023"):
        DecisionIds(FixedClock(NOW_MS), 1024)


def test_the_id_tells_time_and_day():
    made = DecisionIds(FixedClock(NOW_MS), 1023).next()
    assert id_time_ms(made) == NOW_MS
    assert id_day(made) == NOW_MS // DAY_MS
    assert first_id(NOW_MS) <= made < first_id(NOW_MS + 1)


def test_a_moment_before_the_first_id_has_the_least_id():
    assert first_id(0) == first_id(EPOCH_MS) == 0


@given(st.integers(0, LARGEST_ID))
def test_an_id_reads_back_and_keeps_its_order(number: int):
    text = write_id(number)
    assert encode_id(number) == text.encode()
    assert len(text) == 17
    assert read_id(text) == number
    assert number == 0 or write_id(number - 1) < text


@pytest.mark.parametrize(
    "text",
    ["", "dec_", "dec_0", "dec_8000000000000", "dec_00000000000ii", "DEC_0000000000000", "dec_0000000000000\n", "x"],
)
def test_what_no_decision_ever_had_is_not_an_id(text: str):
    assert read_id(text) is None
