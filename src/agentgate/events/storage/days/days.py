"""The days of events: sessions and transactions of one UTC day, in an SQLite file, a partition or ClickHouse.

All SQL on a session is bounded by `id >= $a AND id < $b` (`day_bounds`), so that one text serves both databases.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, Protocol, TypeVar

from agentgate.events.decision_ids import first_id
from agentgate.events.storage.encoding import EncodedEvents
from agentgate.lib.clock import DAY_MS, Clock
from agentgate.lib.database import Reader, Row, Transaction

T = TypeVar("T")

# Rows of site, hour, dimension, value and events, to be added up; and the table from which they are removed.
VALUES = "dimension_part"
VALUE_TABLE = "dimension_pack"

# The lock for replacing or removing counts by value.
MERGING = "event-counts"

# Enough rows to make a thread worthwhile, and few enough that decoding them causes no delay.
ROWS_PER_READ = 10_000


class Layout(NamedTuple):
    """How a day's events lie. `event` has them whole on both databases: as a view, or as a table."""

    # Whether an event is a narrow row with a pattern, which gets postings sooner or later (SQLite), or one wide row
    # with its own indexes (PostgreSQL).
    patterns: bool
    # The table of `site`, `id`, `visitor` and `duration_us`, and that of request IDs, trace IDs and times of solving.
    rows: str
    details: str
    # The tables with rows of events, by `site` and `id`.
    event_tables: tuple[str, ...]
    # Whether one statement may ask many days at once.
    days_together: bool = False


class EventDays(Protocol):
    """The days of events as readers see them."""

    layout: Layout

    def session(self, day: int) -> Reader:
        """Return what reads a day. A day without events, or dropped meanwhile, has no rows, not even of an aggregate:
        `one` then returns None.
        """

    async def days(self) -> list[int]:
        """Return the days that exist, oldest first."""

    async def drop(self, day: int) -> None:
        """Remove a day with everything in it; do nothing when there is no such day."""

    async def pending(self) -> list[str]:
        """Return the names of schema changes that `migrate` would make, where these are listed."""
        return []

    async def migrate(self, clock: Clock) -> None:  # noqa: ARG002 - of those that have something to migrate
        """Bring the days that exist up to this release's schema, where they are not migrated with everything else."""
        return

    async def close(self) -> None:
        """Finish accepted writes and close what was opened for the days alone."""
        return


class SegmentDays(EventDays, Protocol):
    """The days of events in a database that has transactions."""

    # Whether `site_hour` of an open day is stored in the statistics (PostgreSQL) or in the day's database.
    hours_in_stats: bool

    async def write(self, day: int, work: Callable[[Transaction], Awaitable[T]]) -> T:
        """Run a unit of work in one transaction on a day, which is made when it is missing."""

    async def insert(self, transaction: Transaction, encoded: EncodedEvents) -> Callable[[], None] | None:
        """Insert the rows of events in a transaction on their day; return a callback for after the commit, or None."""

    async def merge_counts(self) -> None:
        """Merge the counts that each batch wrote as separate rows. Callers run this regularly."""

    async def index(self, day: int) -> None:
        """Make the indexes of a day that has ended, where they are not updated with each event."""

    # Patterns and postings: SQLite has some.

    async def forget_patterns(self, transaction: Transaction, site: int) -> None:  # noqa: ARG002
        """Remove the patterns of a site, in the transaction that removes its events."""
        return

    async def index_newest(self, day: int, events_by_site: Mapping[int, int]) -> None:  # noqa: ARG002
        """Count a batch that was written, and write the postings of sites that have enough events without any."""
        return

    async def posted_before(self, day: int, site: int) -> int:  # noqa: ARG002
        """Return the ID before which a site's events have postings."""
        return 0


def day_bounds(day: int) -> tuple[int, int]:
    """Return the least ID of a day and the least ID of the next day."""
    return first_id(day * DAY_MS), first_id((day + 1) * DAY_MS)


def newest_bounds(days: Sequence[int], layout: Layout) -> list[tuple[int, int]]:
    """Return the bounds on IDs of one statement each that together ask all days, newest first."""
    if layout.days_together and days:
        return [(day_bounds(days[0])[0], day_bounds(days[-1])[1])]
    return [day_bounds(day) for day in reversed(days)]


async def read_newest_rows(days: EventDays, sql: str, site: int, ids: range) -> AsyncIterator[list[Row]]:
    """Yield a site's rows in a range of IDs, newest first, in batches.

    The statement takes site, least ID, end and limit, and its first column is the ID.
    """
    for day in reversed(await days.days()):
        least, most = day_bounds(day)
        start, end = max(least, ids.start), min(most, ids.stop)
        while start < end:
            rows = await days.session(day).all(sql, site, start, end, ROWS_PER_READ)
            if rows:
                yield rows
            if len(rows) < ROWS_PER_READ:
                break
            end = rows[-1][0]


def day_name(day: int) -> str:
    """Write a day as people do: 2026-11-15."""
    return datetime.fromtimestamp(day * DAY_MS // 1000, UTC).date().isoformat()
