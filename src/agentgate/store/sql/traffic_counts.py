"""Counts of a site's traffic in SQL: hours, days, durations, different visitors.

Hours and days come from their counters; only the parts of an hour at the ends of a range are counted in the events.
"""

import asyncio
import json
from collections.abc import Iterable

from agentgate.core.clock import DAY_MS, HOUR_MS
from agentgate.core.database import Row, Session
from agentgate.core.decision_ids import first_id
from agentgate.core.enums import ChallengeStage, DecisionKind, Outcome
from agentgate.core.ranges import TimeRange
from agentgate.store.sql.event_codes import KIND_CODES, OUTCOME_CODES, STAGE_CODES, unsigned
from agentgate.store.sql.event_encoding import COUNT_COLUMNS
from agentgate.store.sql.traffic_days import TrafficDays, counted_parts, rolled_up_days
from agentgate.store.sql.traffic_sketch import estimate_sources
from agentgate.traffic.ports import Counts

_COLUMNS = ", ".join(COUNT_COLUMNS)
_SUMS = ", ".join(f"sum({name})" for name in COUNT_COLUMNS)

_REQUEST = f"kind = {KIND_CODES[DecisionKind.REQUEST]}"
_CONDITIONS = (
    _REQUEST,
    *(f"{_REQUEST} AND outcome = {OUTCOME_CODES[outcome]}" for outcome in Outcome),
    *(f"{_REQUEST} AND would = {OUTCOME_CODES[outcome]}" for outcome in Outcome if outcome is not Outcome.ALLOW),
    *(f"NOT {_REQUEST} AND stage = {STAGE_CODES[stage]}" for stage in ChallengeStage),
)
# The same columns, counted in the events.
COUNTED = ", ".join(
    (
        *(f"count(*) FILTER (WHERE {condition})" for condition in _CONDITIONS),
        f"sum(duration_us) FILTER (WHERE {_REQUEST})",
        f"count(*) FILTER (WHERE {_REQUEST} AND error <> 0)",
    )
)

# Which of many visitors are not among those of some days. Lists are handed over differently.
_NOT_AMONG = """SELECT count(*) FROM {listed} WHERE NOT EXISTS (
    SELECT 1 FROM visitor_day WHERE visitor_day.site = $1 AND visitor_day.visitor = {visitor}
        AND visitor_day.day >= $2 AND visitor_day.day <= $3)"""
_LISTED = {
    False: _NOT_AMONG.format(listed="json_each($4) AS seen", visitor="seen.value"),
    True: _NOT_AMONG.format(
        listed="json_array_elements_text(CAST($4 AS json)) AS seen(value)", visitor="CAST(seen.value AS BIGINT)"
    ),
}


class SqlCounts:
    """Implements CountStore."""

    def __init__(self, stats: Session, days: TrafficDays) -> None:
        self._stats = stats
        self._days = days

    async def list_hours(self, site: int, span: TimeRange) -> dict[int, Counts]:
        """Return exactly what the range holds, by hour since 1970."""
        hours: dict[int, Counts] = {}
        first, end = -(-span.from_ms // HOUR_MS), span.to_ms // HOUR_MS
        if first < end:
            hours.update(await self._whole_hours(site, first, end))
        for edge in edges(span):
            hours[edge.from_ms // HOUR_MS] = await self._count(site, edge)
        return hours

    async def list_days(self, site: int, first_day: int, last_day: int) -> dict[int, Counts]:
        """Return the counts of whole UTC days, both ends included."""
        # Asked first: a day that is closed in between is then counted by its hours, which stay.
        open_days = await self._days.open(first_day, last_day)
        rows = await self._stats.all(
            f"SELECT day, {_COLUMNS} FROM site_day WHERE site = $1 AND day >= $2 AND day <= $3",  # noqa: S608
            site,
            first_day,
            last_day,
        )
        found = {day: Counts(*counts) for day, *counts in rows}
        for day in open_days:
            row = await self._days.session(day).one(
                f"SELECT {_SUMS} FROM site_hour WHERE site = $1 AND hour >= $2 AND hour < $3",  # noqa: S608
                site,
                day * 24,
                day * 24 + 24,
            )
            found[day] = _counts(row)
        return found

    async def list_durations_us(self, site: int, span: TimeRange, limit: int) -> list[int]:
        """Return how long the newest requests of the range took, newest first."""
        found: list[int] = []
        for part in await self._days.parts(span):
            rows = await self._days.session(part.day).all(
                f"""SELECT duration_us FROM event WHERE site = $1 AND id >= $2 AND id < $3 AND {_REQUEST}
                    ORDER BY id DESC LIMIT $4""",  # noqa: S608
                site,
                part.least,
                part.end,
                limit - len(found),
            )
            found += [duration_us for (duration_us,) in rows]
            if len(found) >= limit:
                break
        return found

    async def count_sources(self, site: int, span: TimeRange) -> int:
        """Return how many different visitors the range has, exactly."""
        parts = await self._days.parts(span)
        seen: set[int] = set()
        for part in counted_parts(parts):
            seen.update(await self.visitors_of(site, part.day, part.least, part.end))
        days = rolled_up_days(parts)
        if days is None:
            return len(seen)
        row = await self._stats.one(
            """SELECT count(*) FROM (
                SELECT visitor FROM visitor_day WHERE site = $1 AND day >= $2 AND day <= $3 GROUP BY visitor
            ) AS seen""",
            site,
            *days,
        )
        among = int(row[0]) if row else 0
        return among + (await self._count_not_among(site, days, seen) if seen else 0)

    async def estimate_sources(self, site: int, first_day: int, last_day: int) -> int:
        """Return how many different visitors whole UTC days had: exact up to 2,048, an estimate above."""
        open_days = await self._days.open(first_day, last_day)
        rows = await self._stats.all(
            "SELECT day, smallest FROM source_sketch WHERE site = $1 AND day >= $2 AND day <= $3",
            site,
            first_day,
            last_day,
        )
        others = []
        for day in open_days:
            visitors = await self.visitors_of(site, day, first_id(day * DAY_MS), first_id((day + 1) * DAY_MS))
            others.append([unsigned(visitor) for visitor in visitors])
        # Three months of a busy site are two hundred thousand numbers: too many for the event loop.
        return await asyncio.to_thread(estimate_sources, [smallest for _, smallest in rows], others)

    async def visitors_of(self, site: int, day: int, least: int, end: int) -> list[int]:
        """Return the visitors of a part of a day, as they are stored."""
        rows = await self._days.session(day).all(
            f"""SELECT visitor FROM event WHERE site = $1 AND {self._days.free_bounds} AND visitor IS NOT NULL
                GROUP BY visitor""",  # noqa: S608
            site,
            least,
            end,
        )
        return [visitor for (visitor,) in rows]

    async def _whole_hours(self, site: int, first: int, end: int) -> dict[int, Counts]:
        first_day, last_day = first // 24, (end - 1) // 24
        open_days = [] if self._days.one_database else await self._days.open(first_day, last_day)
        sql = f"SELECT hour, {_COLUMNS} FROM site_hour WHERE site = $1 AND hour >= $2 AND hour < $3"  # noqa: S608
        rows = await self._stats.all(sql, site, first, end)
        found = {hour: Counts(*counts) for hour, *counts in rows}
        for day in open_days:
            rows = await self._days.session(day).all(sql, site, max(day * 24, first), min(day * 24 + 24, end))
            found.update((hour, Counts(*counts)) for hour, *counts in rows)
        return found

    async def _count(self, site: int, edge: TimeRange) -> Counts:
        row = await self._days.session(edge.from_ms // DAY_MS).one(
            f"SELECT {COUNTED} FROM event WHERE site = $1 AND id >= $2 AND id < $3",  # noqa: S608
            site,
            first_id(edge.from_ms),
            first_id(edge.to_ms),
        )
        return _counts(row)

    async def _count_not_among(self, site: int, days: tuple[int, int], visitors: Iterable[int]) -> int:
        row = await self._stats.one(_LISTED[self._days.one_database], site, *days, json.dumps(list(visitors)))
        return int(row[0]) if row else 0


def edges(span: TimeRange) -> list[TimeRange]:
    """Return the parts of a range that are not whole hours: none, one or two, each within one hour."""
    first_full_ms = -(-span.from_ms // HOUR_MS) * HOUR_MS
    last_full_ms = span.to_ms // HOUR_MS * HOUR_MS
    if first_full_ms > last_full_ms:
        return [span]
    found = (TimeRange(span.from_ms, first_full_ms), TimeRange(last_full_ms, span.to_ms))
    return [edge for edge in found if edge.from_ms < edge.to_ms]


def _counts(row: Row | None) -> Counts:
    # No row: the day is gone. NULL: there was nothing to add up.
    return Counts(*(int(count or 0) for count in row)) if row else Counts()
