"""What readers and writers of events ask for: a session of one UTC day, whatever holds that day.

All SQL on a session is bounded by `id >= $a AND id < $b` (`day_bounds`), so that one text serves both databases.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, Protocol, TypeVar

from agentgate.events.storage.encoding import EncodedEvents
from agentgate.lib.clock import DAY_MS, Clock
from agentgate.lib.database import Reader, SqlSession, Transaction
from agentgate.lib.decision_ids import first_id

T = TypeVar("T")

# Rows of site, hour, dimension, value and events, to be added up; and the table from which they are removed.
VALUES = "dimension_part"
VALUE_TABLE = "dimension_pack"

# The lock for replacing or removing counts by value.
PACKING = "event-counts"


class Layout(NamedTuple):
    """How a day's events lie. `event` has them whole on both databases: as a view, or as a table."""

    # Whether an event is a narrow row with a pattern, and has postings sooner or later (SQLite), or is one wide row
    # with indexes of its own (PostgreSQL).
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

    @property
    def layout(self) -> Layout:
        """How a day's events lie."""
        ...

    def session(self, day: int) -> Reader:
        """Return what reads a day. A day without events, or dropped meanwhile, has no rows."""
        ...

    async def days(self) -> list[int]:
        """Return the days that exist, oldest first."""
        ...

    async def drop(self, day: int) -> None:
        """Remove a day with everything in it. Removing what is not there is no mistake."""
        ...

    async def pending(self) -> list[str]:
        """Return the names of schema changes that `migrate` would make, where these are listed."""
        ...

    async def migrate(self, clock: Clock) -> None:
        """Bring the days that exist up to this release's schema."""
        ...

    async def close(self) -> None:
        """Finish accepted writes and close."""
        ...


class SegmentDays(EventDays, Protocol):
    """The days of events in a database that has transactions."""

    @property
    def hours_in_stats(self) -> bool:
        """Whether `site_hour` of an open day already is that of the statistics (PostgreSQL), or lies in the day."""
        ...

    def session(self, day: int) -> SqlSession:
        """Return a session that reads a day. A day without events, or dropped meanwhile, has no rows, not even of
        an aggregate: `one` then returns None.
        """
        ...

    async def write(self, day: int, work: Callable[[Transaction], Awaitable[T]]) -> T:
        """Run a unit of work in one transaction on a day, which is made when it is missing."""
        ...

    async def insert(self, transaction: Transaction, encoded: EncodedEvents) -> Callable[[], None]:
        """Insert the rows of events in a transaction on their day; return what to call when they are committed."""
        ...

    async def forget_patterns(self, transaction: Transaction, site: int) -> None:
        """Remove what a site's events have in common, in the transaction that removes these."""
        ...

    async def pack(self) -> None:
        """Put together what batches wrote apart, where they do. To be called now and then."""
        ...

    async def index_newest(self, day: int, events_by_site: Mapping[int, int]) -> None:
        """Be told of a batch that was written, and make what finds its values, where and when that is due."""
        ...

    async def posted_before(self, day: int, site: int) -> int:
        """Return the ID before which a site's events have postings."""
        ...

    async def index(self, day: int) -> None:
        """Make what finds rare values in a day that has ended, where that is not made with each event."""
        ...


def day_bounds(day: int) -> tuple[int, int]:
    """Return the least ID of a day and that of the next."""
    return first_id(day * DAY_MS), first_id((day + 1) * DAY_MS)


def newest_bounds(days: Sequence[int], layout: Layout) -> list[tuple[int, int]]:
    """Return the bounds on IDs of one statement each that together ask all days, newest first."""
    if layout.days_together and days:
        return [(day_bounds(days[0])[0], day_bounds(days[-1])[1])]
    return [day_bounds(day) for day in reversed(days)]


def day_name(day: int) -> str:
    """Write a day as people do: 2026-11-15."""
    return datetime.fromtimestamp(day * DAY_MS // 1000, UTC).date().isoformat()
