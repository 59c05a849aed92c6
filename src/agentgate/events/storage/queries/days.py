"""Which UTC days a range touches, and where each is counted: in its roll-ups, or in the events themselves."""

from typing import NamedTuple

from agentgate.events.decision_ids import first_id
from agentgate.events.storage.days.days import SegmentDays, day_bounds
from agentgate.events.time_ranges import TimeRange
from agentgate.lib.clock import DAY_MS, HOUR_MS
from agentgate.lib.database import Reader

VISITOR = "visitor"
# A day that is being rolled up has rows too.
OF_CLOSED_DAY = "day IN (SELECT day FROM segment)"


class DayPart(NamedTuple):
    """The part of a range on one day: IDs from `least` up to, not including, `end`."""

    day: int
    least: int
    end: int
    # The range contains the whole day, and the day is rolled up, so its roll-ups are equivalent to its events.
    rolled_up: bool
    # A closed day has every index that days have.
    indexed: bool


class TrafficDays:
    """Reads days. All reading of events goes through here, so that every statement is bounded to one day."""

    def __init__(self, stats: Reader, segments: SegmentDays) -> None:
        self._stats = stats
        self._segments = segments

    @property
    def stored(self) -> SegmentDays:
        """The days themselves, which have what differs between databases."""
        return self._segments

    def session(self, day: int) -> Reader:
        return self._segments.session(day)

    async def parts(self, span: TimeRange) -> list[DayPart]:
        """Return the parts of a range, newest first, without days that have no stored data."""
        first, last = span.from_ms // DAY_MS, (span.to_ms - 1) // DAY_MS
        closed = await self.closed(first, last)
        present = {day for day in await self._segments.days() if first <= day <= last}
        least, end = first_id(span.from_ms), first_id(span.to_ms)
        parts = []
        for day in sorted(closed | present, reverse=True):
            day_least, day_end = day_bounds(day)
            whole = least <= day_least and day_end <= end
            part = DayPart(
                day, max(day_least, least), min(day_end, end), rolled_up=whole and day in closed, indexed=day in closed
            )
            # Of a closed day without its events, only the whole is known.
            if part.rolled_up or day in present:
                parts.append(part)
        return parts

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


class Edge(NamedTuple):
    """A part of one hour, in hours since 1970."""

    hour: int
    # True: the hour's counters without these events. False: these events. With True, the events must be read in the
    # statement that reads the counters, or an event that comes in between would be missing.
    from_hour: bool
    events: tuple[TimeRange, ...]

    @property
    def sign(self) -> int:
        """1 for events that are added, -1 for events that are subtracted."""
        return -1 if self.from_hour else 1


def edges(span: TimeRange) -> list[Edge]:
    """Return the parts of a range that are not whole hours: none, one or two."""
    first_full_ms = -(-span.from_ms // HOUR_MS) * HOUR_MS
    last_full_ms = span.to_ms // HOUR_MS * HOUR_MS
    if first_full_ms > last_full_ms:
        return [_edge(span)]
    found = (TimeRange(span.from_ms, first_full_ms), TimeRange(last_full_ms, span.to_ms))
    return [_edge(part) for part in found if part.from_ms < part.to_ms]


def _edge(part: TimeRange) -> Edge:
    hour = part.from_ms // HOUR_MS
    if part.to_ms - part.from_ms <= HOUR_MS // 2:
        return Edge(hour, from_hour=False, events=(part,))
    outside = (TimeRange(hour * HOUR_MS, part.from_ms), TimeRange(part.to_ms, (hour + 1) * HOUR_MS))
    return Edge(hour, from_hour=True, events=tuple(each for each in outside if each.from_ms < each.to_ms))
