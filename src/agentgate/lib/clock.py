"""Time is handed in, so that a test can hold it still and a job can be replayed.

Inside the service a moment is an integer: milliseconds since 1970 in UTC. RFC 3339 exists at the edge only.
"""

import functools
import time
from datetime import UTC, datetime
from typing import Protocol

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
# Later than every moment that a clock shows.
FOREVER_MS = 1 << 62
# A machine's clock that goes back by less is being corrected.
CORRECTION_MS = 5 * SECOND_MS


class Clock(Protocol):
    """The source of the current time."""

    def now_ms(self) -> int:
        """Return the present moment."""


class SystemClock:
    """The machine's clock, which never runs backwards: not within one process, and not before `not_before_ms`.

    A clock set back must not make an expired token, session or link valid again. After a correction of a few seconds,
    the time is constant until the machine has caught up. After a larger one, it continues from the latest moment at its
    usual speed: with a constant time for an hour, nothing would expire.
    """

    def __init__(self, not_before_ms: int = 0) -> None:
        self._latest_ms = not_before_ms
        # While the machine's clock is behind: the moment and the monotonic time from which the time continues, and the
        # last moment returned.
        self._start_ms, self._start_monotonic_ms, self._continued_ms = 0, 0, -1

    def now_ms(self) -> int:
        """Return the machine's time, or a later moment while the machine's time has been seen to be later."""
        now_ms = time.time_ns() // 1_000_000
        # Not `max`, which costs as much as reading the clock.
        if now_ms >= self._latest_ms:
            self._latest_ms = now_ms
        elif now_ms < self._latest_ms - CORRECTION_MS:
            self._continue()
        return self._latest_ms

    @property
    def ahead_ms(self) -> int:
        """How far the moments given out are ahead of the machine's clock."""
        return max(0, self.now_ms() - time.time_ns() // 1_000_000)

    def _continue(self) -> None:
        monotonic_ms = time.monotonic_ns() // 1_000_000
        if self._latest_ms != self._continued_ms:
            self._start_ms, self._start_monotonic_ms = self._latest_ms, monotonic_ms
        self._continued_ms = self._latest_ms = self._start_ms + monotonic_ms - self._start_monotonic_ms


class FixedClock:
    """A clock that changes only when it is set. For tests and for replaying."""

    def __init__(self, now_ms: int) -> None:
        self._now_ms = now_ms

    def now_ms(self) -> int:
        return self._now_ms

    def advance(self, *, ms: int = 0, seconds: float = 0, hours: float = 0, days: float = 0) -> None:
        """Move forward (or back, with a negative amount)."""
        self._now_ms += ms + round(seconds * SECOND_MS + hours * HOUR_MS + days * DAY_MS)


# Responses about the same objects contain the same moments again and again.
@functools.lru_cache(maxsize=4096)
def to_rfc3339(moment_ms: int) -> str:
    """Write a moment as in every API response: UTC, milliseconds, `Z`."""
    moment = datetime.fromtimestamp(moment_ms // 1000, UTC)
    # Not strftime, which writes the year 999 with three digits.
    return f"{moment.isoformat()[:19]}.{moment_ms % 1000:03d}Z"


def utc_day(moment_ms: int) -> str:
    """Return the UTC day a moment falls on, as `YYYY-MM-DD`."""
    return to_rfc3339(moment_ms)[:10]
