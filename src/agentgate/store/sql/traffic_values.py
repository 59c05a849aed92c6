"""What occurred how often in SQL: values of dimensions, solve times, and the counters of what leaves no event."""

import asyncio
from collections import Counter

from agentgate.core.clock import HOUR_MS
from agentgate.core.database import Row, Session
from agentgate.core.decision_ids import first_id, id_time_ms
from agentgate.core.enums import ChallengeStage, SolveType
from agentgate.core.ranges import TimeRange
from agentgate.events.records import Dimension
from agentgate.store.sql.event_codes import SOLVE_TYPES, STAGE_CODES
from agentgate.store.sql.event_words import OTHER, Words
from agentgate.store.sql.traffic_counts import edges
from agentgate.store.sql.traffic_days import DayPart, TrafficDays, counted_parts, rolled_up_days
from agentgate.store.sql.traffic_packs import count_packed
from agentgate.traffic.ports import CounterRow, ValueCounts

# Dimension and value, as stored -> how often.
_Found = Counter[tuple[int, int]]


class SqlValues:
    """Implements ValueStore."""

    def __init__(self, stats: Session, days: TrafficDays, words: Words) -> None:
        self._stats = stats
        self._days = days
        self._words = words

    async def count_values(self, site: int, span: TimeRange) -> ValueCounts:
        """Return how often each value occurred in the range."""
        parts = await self._days.parts(span)
        counted = await asyncio.gather(
            self._count_days(site, rolled_up_days(parts)),
            *(self._count_part(site, part) for part in counted_parts(parts)),
        )
        found: _Found = Counter()
        for each in counted:
            found.update(each)
        return await self._named(found)

    async def list_solve_times_ms(self, site: int, span: TimeRange, limit: int) -> list[int]:
        """Return how long the newest passed challenges took to solve, newest first."""
        found: list[int] = []
        for part in await self._days.parts(span):
            rows = await self._days.session(part.day).all(
                f"""SELECT solve_ms FROM event
                    WHERE site = $1 AND {self._days.free_bounds} AND stage = $4 AND solve_ms IS NOT NULL
                    ORDER BY id DESC LIMIT $5""",  # noqa: S608
                site,
                part.least,
                part.end,
                STAGE_CODES[ChallengeStage.PASSED],
                limit - len(found),
            )
            found += [solve_ms for (solve_ms,) in rows]
            if len(found) >= limit:
                break
        return found

    async def list_counters(self, site: int, *, first_hour: int, last_hour: int) -> list[CounterRow]:
        """Return the hourly counters, both ends included."""
        rows = await self._stats.all(
            "SELECT hour, name, value, counted FROM counter_hour WHERE site = $1 AND hour >= $2 AND hour <= $3",
            site,
            first_hour,
            last_hour,
        )
        return [CounterRow(*row) for row in rows]

    async def find_first_counter_hour(self, site: int) -> int | None:
        """Return the earliest hour that has a counter, or None."""
        row = await self._stats.one("SELECT min(hour) FROM counter_hour WHERE site = $1", site)
        return row[0] if row else None

    async def _count_days(self, site: int, days: tuple[int, int] | None) -> _Found:
        found: _Found = Counter()
        if days is not None:
            sql = """SELECT dimension, value, sum(events) FROM dimension_day
                WHERE site = $1 AND day >= $2 AND day <= $3 GROUP BY dimension, value"""
            _add(found, await self._stats.all(sql, site, *days))
        return found

    async def _count_part(self, site: int, part: DayPart) -> _Found:
        span = TimeRange(id_time_ms(part.least), id_time_ms(part.end))
        counted = await asyncio.gather(
            self._count_hours(site, part, -(-span.from_ms // HOUR_MS), span.to_ms // HOUR_MS),
            *(self._count_edge(site, part, edge) for edge in edges(span)),
        )
        found: _Found = Counter()
        for each in counted:
            found.update(each)
        return found

    async def _count_hours(self, site: int, part: DayPart, first: int, end: int) -> _Found:
        found: _Found = Counter()
        session = self._days.session(part.day)
        if first >= end:
            return found
        if self._days.layout.packed:
            return Counter(await count_packed(session, site, first, end))
        sql = """SELECT dimension, value, sum(events) FROM dimension_hour
            WHERE site = $1 AND hour >= $2 AND hour < $3 GROUP BY dimension, value"""
        _add(found, await session.all(sql, site, first, end))
        return found

    async def _count_edge(self, site: int, part: DayPart, edge: TimeRange) -> _Found:
        sql = """SELECT action, route, agent, solve_type, reasons, labels FROM event
            WHERE site = $1 AND id >= $2 AND id < $3"""
        rows = await self._days.session(part.day).all(sql, site, first_id(edge.from_ms), first_id(edge.to_ms))
        return await asyncio.to_thread(_count_events, rows)

    async def _named(self, found: _Found) -> ValueCounts:
        words = {value for dimension, value in found if dimension != Dimension.SOLVE_TYPE}
        texts = await self._words.texts(words)
        named: dict[int, Counter[str]] = {dimension: Counter() for dimension in Dimension}
        solve_types: Counter[SolveType] = Counter()
        for (dimension, value), count in found.items():
            if value == OTHER:
                # The sum of many rare values is none of them.
                continue
            if dimension == Dimension.SOLVE_TYPE:
                solve_type = SOLVE_TYPES[value]
                assert solve_type is not None, "only 0 stands for nothing"
                solve_types[solve_type] += count
            elif dimension in named and value in texts:
                named[dimension][texts[value]] += count
        return ValueCounts(
            actions=named[Dimension.ACTION],
            routes=named[Dimension.ROUTE],
            reasons=named[Dimension.REASON],
            labels=named[Dimension.LABEL],
            agents=named[Dimension.AGENT],
            solve_types=solve_types,
        )


def _add(found: _Found, rows: list[Row]) -> None:
    for dimension, value, count in rows:
        found[dimension, value] += int(count)


def _count_events(rows: list[Row]) -> _Found:
    """Count the values of events. An hour of a busy site has thousands, so column by column and not event by event."""
    found: _Found = Counter()
    for place, dimension in enumerate((Dimension.ACTION, Dimension.ROUTE, Dimension.AGENT, Dimension.SOLVE_TYPE)):
        for value, count in Counter(row[place] for row in rows).items():
            if value is not None:
                found[dimension, value] += count
    for place, dimension in ((4, Dimension.REASON), (5, Dimension.LABEL)):
        # Arrays of numbers, `[1,7]`: what is between the brackets can be read together.
        listed = ",".join(filter(None, (row[place][1:-1] for row in rows)))
        for number, count in Counter(listed.split(",") if listed else ()).items():
            found[dimension, int(number)] += count
    return found
