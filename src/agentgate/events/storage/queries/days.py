"""Which UTC days a range touches, and where each is counted: in its roll-ups, or in the events themselves."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from agentgate.events.storage.days.days import Layout, Segments, day_bounds
from agentgate.lib.clock import DAY_MS
from agentgate.lib.database import Session
from agentgate.lib.decision_ids import first_id
from agentgate.lib.time_ranges import TimeRange

VISITOR = "visitor"
# The ID before which the visitors of a site's events are posted (SQLite).
_POSTED_BEFORE = "(SELECT coalesce(max(id), 0) FROM posted_visitor WHERE site IN ($1, 0))"


class DayPart(NamedTuple):
    """The part of a range that lies on one day: IDs from `least` up to, not including, `end`."""

    day: int
    least: int
    end: int
    # All of the day lies in the range, and the day is rolled up: then its roll-ups say the same as its events.
    rolled_up: bool
    # Labels and actions have an index here, on PostgreSQL: a closed day has.
    indexed: bool
    # Columns and values without postings here, on SQLite; None stands for every value.
    walked: frozenset[tuple[str, int | None]] = frozenset()


class TrafficDays:
    """Reads days. All reading of events goes through here, so that every statement is bounded to one day."""

    def __init__(self, stats: Session, segments: Segments) -> None:
        self._stats = stats
        self._segments = segments

    @property
    def one_database(self) -> bool:
        """Whether events lie in the database of the statistics (PostgreSQL) and not in files of their own."""
        return self._segments.hours_in_stats

    @property
    def free_bounds(self) -> str:
        """Return the bounds of a part, $2 and $3, so that they do not lead the choice of an index.

        SQLite would rather walk the site's events in order than use an index that finds or groups what is asked
        for; a plus sign keeps it from that. PostgreSQL needs the bounds to find the partition.
        """
        return "id >= $2 AND id < $3" if self.one_database else "+id >= $2 AND +id < $3"

    @property
    def layout(self) -> Layout:
        """Where labels and values lie."""
        return self._segments.layout

    def session(self, day: int) -> Session:
        """Return a session that reads a day."""
        return self._segments.session(day)

    async def parts(self, span: TimeRange) -> list[DayPart]:
        """Return the parts of a range, newest first. Days of which nothing is kept are left out."""
        first, last = span.from_ms // DAY_MS, (span.to_ms - 1) // DAY_MS
        closed = await self.closed(first, last)
        present = {day for day in await self._segments.days() if first <= day <= last}
        least, end = first_id(span.from_ms), first_id(span.to_ms)
        parts = []
        for day in sorted(closed | present, reverse=True):
            day_least, day_end = day_bounds(day)
            whole = least <= day_least and day_end <= end
            part = DayPart(
                day,
                max(day_least, least),
                min(day_end, end),
                rolled_up=whole and day in closed,
                indexed=day in closed,
            )
            # Of a closed day without its events, only the whole is known.
            if part.rolled_up or day in present:
                parts.append(part)
        return parts

    async def split(self, part: DayPart, site: int, words: Sequence[int]) -> list[DayPart]:
        """Return a part in pieces, newest first, in each of which the same values have postings."""
        gaps = await self._segments.gaps(part.day, site, words)
        ends = {end for gap in gaps for end in (gap.least, gap.end) if part.least < end < part.end}
        bounds = sorted({part.least, *ends, part.end})
        pieces: list[DayPart] = []
        for least, end in pairwise(bounds):
            walked = frozenset((gap.column, gap.value) for gap in gaps if gap.least <= least and end <= gap.end)
            pieces.append(part._replace(least=least, end=end, walked=walked))
        return pieces[::-1] or [part]

    def met(self, columns: str, condition: str, each: str = "") -> str:
        """Return a table of the events of a site ($1) between two IDs ($2, $3) whose visitor is such.

        SQLite has postings of most of them, and walks through the others; what is said in `each` goes for both.
        """
        such = f"site = $1 AND id < $3 AND {condition}"
        if self.one_database:
            return f"(SELECT {columns} FROM event WHERE {such} AND id >= $2 {each}) AS met"  # noqa: S608
        posted = f"SELECT {{}} FROM event_visitor WHERE {such} AND id >= $2 {each}"  # noqa: S608
        if columns == VISITOR:
            posted = posted.format(columns)
        else:
            found = posted.format("id AS found")
            posted = f"SELECT {columns} FROM ({found}) CROSS JOIN event WHERE id = found"  # noqa: S608
        walked = f"""SELECT {columns} FROM event INDEXED BY event_by_site
            WHERE {such} AND id >= max($2, {_POSTED_BEFORE}) {each}"""  # noqa: S608
        return f"(SELECT {columns} FROM ({posted}) UNION ALL SELECT {columns} FROM ({walked})) AS met"  # noqa: S608

    async def closed(self, first: int, last: int) -> set[int]:
        """Return the days that are rolled up."""
        rows = await self._stats.all("SELECT day FROM segment WHERE day >= $1 AND day <= $2", first, last)
        return {day for (day,) in rows}

    async def open(self, first: int, last: int) -> list[int]:
        """Return the days that have events and are not rolled up, newest first."""
        closed = await self.closed(first, last)
        return [day for day in reversed(await self._segments.days()) if first <= day <= last and day not in closed]


def rolled_up_days(parts: list[DayPart]) -> tuple[int, int] | None:
    """Return the first and the last day that roll-ups count; between them, days that are not closed have no rows."""
    days = [part.day for part in parts if part.rolled_up]
    return (min(days), max(days)) if days else None


def counted_parts(parts: list[DayPart]) -> list[DayPart]:
    """Return the parts that events count."""
    return [part for part in parts if not part.rolled_up]
