"""The days of events: sessions and transactions of one UTC day, in an SQLite file, a partition or ClickHouse.

All SQL on a session is bounded by `id >= $a AND id < $b` (`day_bounds`), so that one text serves both databases.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Protocol, TypeVar

from agentgate.events.decision_ids import first_id
from agentgate.events.storage.encoding import EncodedEvents
from agentgate.lib.clock import DAY_MS, Clock
from agentgate.lib.database import Reader, Row, Transaction, Value

T = TypeVar("T")

# Rows of site, hour, dimension, value and events, to be added up; and the table from which they are removed.
VALUES = "dimension_part"
VALUE_TABLE = "dimension_pack"

# The lock for replacing or removing counts by value.
MERGING = "event-counts"

# A dimension and a value of it; and hour -> how many events.
Dimensioned = tuple[int, int]
HourCounts = dict[int, int]

# Enough rows to make a thread worthwhile, and few enough that decoding them causes no delay.
ROWS_PER_READ = 10_000


class EventDays(Protocol):
    """The days of events as readers see them. `event` has them whole in every database: as a view, or as a table."""

    # The table of request IDs, trace IDs and times of solving.
    details: str = "event"

    def session(self, day: int) -> Reader:
        """Return what reads a day. A day without events, or dropped meanwhile, has no rows, not even of an aggregate:
        `one` then returns None.
        """

    async def days(self) -> list[int]:
        """Return the days that exist, oldest first."""

    async def newest_bounds(self) -> list[tuple[int, int]]:
        """Return the bounds on IDs of one statement each that together ask all days, newest first."""
        return [day_bounds(day) for day in reversed(await self.days())]

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


class Narrowed(Protocol):
    """The events of a day for which some conditions hold, found before they are read."""

    @property
    def is_empty(self) -> bool:
        """Whether there are none."""

    async def newest(self, least: int, end: int, limit: int) -> list[Row]:
        """Return those between two IDs, newest first, in the order of EVENT_COLUMNS."""


class SegmentDays(EventDays, Protocol):
    """The days of events in a database that has transactions. Readers take from here what differs between databases."""

    # Whether `site_hour` of an open day is stored in the statistics (PostgreSQL) or in the day's database.
    hours_in_stats: bool
    # The tables with rows of events, by `site` and `id`.
    event_tables: tuple[str, ...] = ("event",)
    # The tables of `site`, `id`, `visitor` and `duration_us`; of challenges that were solved; and of a closed day's
    # events in the order of their visitors.
    rows: str = "event"
    solved: str = "event"
    by_visitor: str = "event"
    # The columns with an index that finds events on any day, or on a closed one; and the columns whose index one
    # statement may use on many days.
    indexed: frozenset[str]
    found_together: frozenset[str] = frozenset()
    # The condition that an event has a label, with `{0}` where its number goes.
    has_label: str
    # The expressions that read all counts by value of a row of VALUE_TABLE, or several, as two lists: keys and counts,
    # or one list of both in turn, and NULL.
    values: str
    # The number of visitors in one statement.
    visitors_together: int

    async def write(self, day: int, work: Callable[[Transaction], Awaitable[T]]) -> T:
        """Run a unit of work in one transaction on a day, which is made when it is missing."""

    async def insert(self, transaction: Transaction, encoded: EncodedEvents) -> Callable[[], None]:
        """Insert events and their counts by value in a transaction on their day; return a callback for after it."""

    async def merge_counts(self) -> None:
        """Merge the counts that each batch wrote as separate rows. Callers run this regularly."""

    async def index(self, day: int) -> None:
        """Make the indexes of a day that has ended, where they are not updated with each event."""

    def met(self, columns: str, condition: str, each: str = "") -> str:
        """Return a table of the events of a site ($1) between two IDs ($2, $3) with a condition on an indexed column.

        If events come from several places, the clause `each` applies to each of them.
        """
        return f"(SELECT {columns} FROM event WHERE site = $1 AND id >= $2 AND id < $3 AND {condition} {each}) AS met"  # noqa: S608

    def of_visitors(self, visitors: Sequence[int]) -> tuple[str, Sequence[Value]]:
        """Return a condition for these visitors with places from $4 on, and their values."""

    async def count_by_hour(self, day: int, site: int, values: Iterable[Dimensioned]) -> dict[Dimensioned, HourCounts]:
        """Return how often values occurred in each hour of a day in which they occurred."""

    async def narrow(
        self, day: int, site: int, words: Sequence[int], conditions: Sequence[tuple[str, int]]
    ) -> Narrowed | None:
        """Find the events that have one of some words and meet conditions, each with `{}` for a number; None where they
        are as quickly found by reading all.
        """

    # Patterns and postings: SQLite has some.

    async def forget_patterns(self, transaction: Transaction, site: int) -> None:  # noqa: ARG002
        """Remove the patterns of a site, in the transaction that removes its events."""
        return

    async def index_newest(self, day: int, events_by_site: Mapping[int, int]) -> None:  # noqa: ARG002
        """Count a batch that was written, and write the postings of sites that have enough events without any."""
        return


def day_bounds(day: int) -> tuple[int, int]:
    """Return the least ID of a day and the least ID of the next day."""
    return first_id(day * DAY_MS), first_id((day + 1) * DAY_MS)


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
