"""A timed job, as each concept lists its own. The runner is in `server/scheduler`.

Every job may be stopped at any point and run again.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

Work = Callable[[], Awaitable[object]]


@dataclass(frozen=True, kw_only=True)
class Job:
    """Work that is repeated. With interval 0, at every tick of the runner."""

    name: str
    interval_ms: int
    work: Work
    # Guarded jobs delete: they note their runs, and wait when the clock has jumped.
    guarded: bool = True


# Rows that one transaction deletes: it delays others for some milliseconds.
ROWS_PER_UNIT = 1_000
# A run ends after so many units, and the next one continues.
MOST_UNITS = 10_000


async def delete_in_units(
    delete: Callable[[], Awaitable[int]], *, most: int = ROWS_PER_UNIT, units: int = MOST_UNITS
) -> None:
    """Call `delete` until it removes fewer than `most` rows. Other transactions run between two calls."""
    for _ in range(units):
        if await delete() < most:
            return
