"""The highest time that the service has recorded, kept in a file in the data directory, outside of every database.

After a restart the clock continues from there: if the machine's clock was set back in between, expired tokens remain
expired. A data directory without this file was created by copying databases.
"""

import os
from pathlib import Path

import msgspec
import structlog
from msgspec import Struct

from agentgate.lib.clock import CORRECTION_MS, DAY_MS, SECOND_MS, Clock, SystemClock, to_rfc3339

NAME = "clock.mark"
# Always written whole, over the one before.
MARK_BYTES = 64
# How often it is written. It is ahead of the clock by as much, so that no later time is used before the next write.
INTERVAL_MS = SECOND_MS
# A clock that is further behind is taken for wrong, or the mark is.
MOST_BEHIND_MS = 2 * DAY_MS


class ClockRefused(Exception):  # noqa: N818 - told in one line
    """The machine's clock is not plausible. The message explains what to do."""


class _Seen(Struct, frozen=True):
    seen_ms: int


class ClockMark:
    """The file. It is not synchronized with the disk: it outlives the process, and after a power cut it is older."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self._is_failing = False

    def read(self) -> int | None:
        """Return the highest time seen; None where there is no mark, or none that can be read."""
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=_Seen).seen_ms
        except (OSError, msgspec.MsgspecError):
            return None

    def note(self, now_ms: int) -> None:
        """Note that this moment may have been seen."""
        mark = msgspec.json.encode(_Seen(now_ms)).ljust(MARK_BYTES)
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o600)
            try:
                os.pwrite(file, mark, 0)
            finally:
                os.close(file)
        except OSError as failure:
            if not self._is_failing:
                structlog.get_logger().warning("the highest known time cannot be saved", why=str(failure))
            self._is_failing = True
        else:
            self._is_failing = False

    def note_ahead(self, clock: Clock) -> None:
        """Write the time until which this call's mark holds: one interval ahead."""
        self.note(clock.now_ms() + INTERVAL_MS)

    def check(self, clock: Clock) -> str:
        """Return that the machine's clock is right, or raise ClockRefused with how far it is behind."""
        ahead_ms = clock.ahead_ms if isinstance(clock, SystemClock) else 0
        if ahead_ms > CORRECTION_MS:
            raise ClockRefused(f"the machine's clock is {ahead_ms // SECOND_MS} s behind the highest known time")
        return "not behind"


def continue_clock(mark: ClockMark) -> SystemClock:
    """Return a clock that shows no earlier time than the service has seen."""
    seen_ms, clock = mark.read() or 0, SystemClock()
    now_ms = clock.now_ms()
    behind_ms = seen_ms - now_ms
    if behind_ms > MOST_BEHIND_MS:
        raise ClockRefused(
            f"the machine's clock shows {to_rfc3339(now_ms)}, but the service has run until {to_rfc3339(seen_ms)};"
            f" correct the clock. If the later time was wrong, delete {mark.path}: tokens issued until now"
            " are then rejected"
        )
    if behind_ms > CORRECTION_MS:
        structlog.get_logger().error(
            "the clock was set back: time continues from the highest known time",
            clock=to_rfc3339(now_ms),
            seen=to_rfc3339(seen_ms),
        )
    return SystemClock(max(seen_ms, now_ms))
