"""Counts of a site's traffic in ClickHouse: whole hours and days from their roll-ups, the rest from the events."""

from agentgate.events.queries.ports import Counts, CountStore, SightingStore
from agentgate.events.storage.clickhouse.newest_first import read_newest
from agentgate.events.storage.clickhouse.schema import HOUR, SOURCES_MERGED, SOURCES_STATE
from agentgate.events.storage.codes import KIND_CODES
from agentgate.events.storage.encoding import COUNT_COLUMNS
from agentgate.events.storage.queries.counts import COUNTED
from agentgate.lib.clock import DAY_MS, HOUR_MS
from agentgate.lib.database import Reader
from agentgate.lib.decision_ids import first_id, id_time_ms
from agentgate.lib.enums import DecisionKind
from agentgate.lib.time_ranges import TimeRange

_SUMS = ", ".join(f"sum(part.{name})" for name in COUNT_COLUMNS)
_HOURS = f"""SELECT hour, {_SUMS} FROM site_hour_part AS part
        WHERE site = $1 AND hour >= $2 AND hour < $3 GROUP BY hour
    UNION ALL SELECT toInt32({HOUR}) AS hour, {COUNTED} FROM event
        WHERE site = $1 AND ((id >= $4 AND id < $5) OR (id >= $6 AND id < $7)) GROUP BY hour"""  # noqa: S608
_DAYS = f"""SELECT intDiv(hour, 24) AS day, {_SUMS} FROM site_hour_part AS part
    WHERE site = $1 AND hour >= $2 AND hour < $3 GROUP BY day"""  # noqa: S608
_DURATIONS = f"""SELECT duration_us FROM event WHERE site = $1 AND id >= $2 AND id < $3
    AND kind = {KIND_CODES[DecisionKind.REQUEST]} ORDER BY site DESC, id DESC LIMIT $4"""  # noqa: S608
_SOURCES = f"""SELECT {SOURCES_MERGED}(sources) FROM (
    SELECT sources FROM source_part WHERE site = $1 AND day >= $2 AND day < $3
    UNION ALL SELECT {SOURCES_STATE}(assumeNotNull(visitor)) AS sources FROM event
        WHERE site = $1 AND ((id >= $4 AND id < $5) OR (id >= $6 AND id < $7)) AND isNotNull(visitor))"""  # noqa: S608
_SEEN = "SELECT min(hour), max(last_event_ms), count() FROM site_hour_part WHERE site = $1"
_FIRST = "SELECT min(id), count() FROM event WHERE site = $1 AND id >= $2 AND id < $3"


class ClickhouseCounts(CountStore, SightingStore):
    """Counts in ClickHouse."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def list_hours(self, site: int, span: TimeRange) -> dict[int, Counts]:
        rows = await self._reader.all(_HOURS, site, *whole_and_ends(span, HOUR_MS))
        return {hour: Counts(*map(int, counts)) for hour, *counts in rows}

    async def list_days(self, site: int, first_day: int, last_day: int) -> dict[int, Counts]:
        rows = await self._reader.all(_DAYS, site, first_day * 24, last_day * 24 + 24)
        return {day: Counts(*counts) for day, *counts in rows}

    async def list_durations_us(self, site: int, span: TimeRange, limit: int) -> list[int]:
        ids = range(first_id(span.from_ms), first_id(span.to_ms))
        rows = await read_newest(self._reader, _DURATIONS, site, ids, limit)
        return [duration_us for (duration_us,) in rows]

    async def count_sources(self, site: int, span: TimeRange) -> int:
        row = await self._reader.one(_SOURCES, site, *whole_and_ends(span, DAY_MS))
        return int(row[0]) if row else 0

    async def estimate_sources(self, site: int, first_day: int, last_day: int) -> int:
        return await self.count_sources(site, TimeRange(first_day * DAY_MS, (last_day + 1) * DAY_MS))

    async def find_sighting(self, site: int) -> tuple[int, int] | None:
        seen = await self._reader.one(_SEEN, site)
        if seen is None or not seen[2]:
            return None
        hour, last_ms, _ = seen
        first = await self._reader.one(_FIRST, site, first_id(hour * HOUR_MS), first_id((hour + 1) * HOUR_MS))
        # Of an hour whose events are gone, only the hour is known.
        return (id_time_ms(first[0]) if first is not None and first[1] else hour * HOUR_MS), last_ms


def whole_and_ends(span: TimeRange, unit_ms: int) -> tuple[int, int, int, int, int, int]:
    """Return the whole hours or days of a range, first and end, and the bounds of IDs before and after them."""
    first, end = -(-span.from_ms // unit_ms), span.to_ms // unit_ms
    if first >= end:
        return 0, 0, first_id(span.from_ms), first_id(span.to_ms), 0, 0
    before = (first_id(span.from_ms), first_id(first * unit_ms))
    return first, end, *before, first_id(end * unit_ms), first_id(span.to_ms)
