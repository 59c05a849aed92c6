"""Which UTC days a range touches, and where each is counted: in its roll-ups, or in the events themselves."""

from typing import NamedTuple

from agentgate.core.clock import DAY_MS
from agentgate.core.database import Session
from agentgate.core.decision_ids import first_id
from agentgate.core.ranges import TimeRange
from agentgate.store.segments.segments import Layout, Segments, day_bounds


class DayPart(NamedTuple):
    """The part of a range that lies on one day: IDs from `least` up to, not including, `end`."""

    day: int
    least: int
    end: int
    # All of the day lies in the range, and the day is rolled up: then its roll-ups say the same as its events.
    rolled_up: bool
    # Labels and actions have an index here. That of a whole day is complete when the day is closed.
    indexed: bool


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

    async def split(self, part: DayPart, site: int) -> list[DayPart]:
        """Return a part as one that has no index of a site's labels and actions yet, and one that has it."""
        if part.indexed:
            return [part]
        mark = min(max(await self._segments.indexed_before(part.day, site), part.least), part.end)
        both = (part._replace(least=mark), part._replace(end=mark, indexed=True))
        return [each for each in both if each.least < each.end]

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
