"""Clocks: never backwards, movable in tests; and the one way in which a moment is written."""

import time

import pytest

from agentgate.lib.clock import DAY_MS, HOUR_MS, FixedClock, SystemClock, to_rfc3339, utc_day


def test_the_system_clock_shows_milliseconds_since_1970() -> None:
    before_s = time.time()

    now_ms = SystemClock().now_ms()

    assert before_s - 0.001 <= now_ms / 1000 <= time.time()


def test_the_system_clock_never_runs_backwards(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SystemClock()
    readings_ns = iter([5_000_000_000, 2_000_000_000, 5_000_999_999, 6_000_000_000])
    monkeypatch.setattr(time, "time_ns", lambda: next(readings_ns))

    assert [clock.now_ms() for _ in range(4)] == [5_000, 5_000, 5_000, 6_000]


class Machine:
    """The machine's clock and its monotonic time, in milliseconds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wall_ms = self.monotonic_ms = 1_000_000_000
        monkeypatch.setattr(time, "time_ns", lambda: self.wall_ms * 1_000_000)
        monkeypatch.setattr(time, "monotonic_ns", lambda: self.monotonic_ms * 1_000_000)

    def pass_by(self, ms: int) -> None:
        self.wall_ms += ms
        self.monotonic_ms += ms


def test_put_back_by_an_hour_time_continues_at_its_usual_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    machine, clock = Machine(monkeypatch), SystemClock()
    before_ms = clock.now_ms()

    machine.wall_ms -= HOUR_MS
    assert clock.now_ms() == before_ms
    machine.pass_by(1_234)

    assert clock.now_ms() == before_ms + 1_234
    assert clock.ahead_ms == HOUR_MS


def test_once_the_machine_is_right_again_its_clock_counts_and_a_second_step_back_continues_from_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine, clock = Machine(monkeypatch), SystemClock()
    clock.now_ms()
    machine.wall_ms -= HOUR_MS
    clock.now_ms()
    machine.wall_ms += 3 * HOUR_MS
    assert (clock.now_ms(), clock.ahead_ms) == (machine.wall_ms, 0)
    latest_ms = machine.wall_ms

    machine.wall_ms -= HOUR_MS
    clock.now_ms()
    machine.pass_by(10)

    assert clock.now_ms() == latest_ms + 10


def test_a_clock_shows_no_earlier_time_than_it_was_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch)
    clock = SystemClock(machine.wall_ms + HOUR_MS)
    assert clock.now_ms() == machine.wall_ms + HOUR_MS

    machine.pass_by(HOUR_MS // 2)

    assert clock.now_ms() == machine.wall_ms + HOUR_MS


def test_a_fixed_clock_is_still_until_it_is_moved() -> None:
    clock = FixedClock(1_000)
    assert (clock.now_ms(), clock.now_ms()) == (1_000, 1_000)

    clock.advance(ms=1, seconds=2, hours=1, days=1)
    assert clock.now_ms() == 1_000 + 1 + 2_000 + 3_600_000 + DAY_MS

    clock.advance(ms=-5)
    assert clock.now_ms() == 1_000 + 1 + 2_000 + 3_600_000 + DAY_MS - 5


@pytest.mark.parametrize(
    ("moment_ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1, "1970-01-01T00:00:00.001Z"),
        (1_769_851_800_050, "2026-01-31T09:30:00.050Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (-62_135_596_800_000, "0001-01-01T00:00:00.000Z"),
        (-30_610_224_000_001, "0999-12-31T23:59:59.999Z"),
    ],
)
def test_a_moment_is_written_in_utc_with_four_digits_of_year_and_three_of_fraction(moment_ms: int, text: str) -> None:
    assert to_rfc3339(moment_ms) == text


def test_a_day_begins_at_midnight_utc() -> None:
    assert (utc_day(DAY_MS - 1), utc_day(DAY_MS)) == ("1970-01-01", "1970-01-02")
