"""Clocks: never backwards, movable in tests; and the one way in which a moment is written."""

import time

import pytest

from agentgate.lib.clock import DAY_MS, FixedClock, SystemClock, to_rfc3339, utc_day


def test_the_system_clock_says_milliseconds_since_1970() -> None:
    before_s = time.time()

    now_ms = SystemClock().now_ms()

    assert before_s - 0.001 <= now_ms / 1000 <= time.time()


def test_the_system_clock_never_runs_backwards(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SystemClock()
    readings_ns = iter([5_000_000_000, 2_000_000_000, 5_000_999_999, 6_000_000_000])
    monkeypatch.setattr(time, "time_ns", lambda: next(readings_ns))

    assert [clock.now_ms() for _ in range(4)] == [5_000, 5_000, 5_000, 6_000]


def test_a_fixed_clock_stands_still_until_it_is_moved() -> None:
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
