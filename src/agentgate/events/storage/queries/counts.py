"""Counts of a site's traffic in SQL: hours, days, durations, different visitors.

Hours and days come from their counters; only the parts of an hour at the ends of a range are counted in the events.
"""

import asyncio
import struct
from bisect import bisect_right
from collections.abc import Iterable, Sequence

from agentgate.events.decision_ids import first_id, id_time_ms
from agentgate.events.queries.ports import Counts, CountStore, SightingStore
from agentgate.events.storage.codes import KIND_CODES, OUTCOME_CODES, STAGE_CODES, unsigned
from agentgate.events.storage.days.days import day_bounds
from agentgate.events.storage.encoding import COUNT_COLUMNS
from agentgate.events.storage.queries.days import VISITOR, Edge, TrafficDays, counted_parts, edges, rolled_up_days
from agentgate.events.storage.queries.joined import joined, joined_rows, numbers, rows_of
from agentgate.events.time_ranges import TimeRange
from agentgate.lib.clock import DAY_MS, HOUR_MS
from agentgate.lib.database import Reader, Row
from agentgate.lib.enums import ChallengeStage, DecisionKind, Outcome

# Later than any day there will be.
_LAST_DAY = 1_000_000

_COLUMNS = ", ".join(COUNT_COLUMNS)
_HOURS = ("hour", *COUNT_COLUMNS)
_SUMS = ", ".join(f"sum({name})" for name in COUNT_COLUMNS)

_REQUEST = f"kind = {KIND_CODES[DecisionKind.REQUEST]}"
_CONDITIONS = (
    _REQUEST,
    *(f"{_REQUEST} AND outcome = {OUTCOME_CODES[outcome]}" for outcome in Outcome),
    *(f"{_REQUEST} AND would = {OUTCOME_CODES[outcome]}" for outcome in Outcome if outcome is not Outcome.ALLOW),
    *(f"NOT {_REQUEST} AND stage = {STAGE_CODES[stage]}" for stage in ChallengeStage),
)
# The same columns, counted in the events.
COUNT_EXPRESSIONS = (
    *(f"count(*) FILTER (WHERE {condition})" for condition in _CONDITIONS),
    f"sum(duration_us) FILTER (WHERE {_REQUEST})",
    f"count(*) FILTER (WHERE {_REQUEST} AND error <> 0)",
)
COUNTED = ", ".join(COUNT_EXPRESSIONS)


class SqlCounts(CountStore, SightingStore):
    def __init__(self, stats: Reader, days: TrafficDays) -> None:
        self._stats = stats
        self._days = days

    async def list_hours(self, site: int, span: TimeRange) -> dict[int, Counts]:
        first, end = -(-span.from_ms // HOUR_MS), span.to_ms // HOUR_MS
        ends = edges(span)
        whole, counted = await asyncio.gather(
            self._whole_hours(site, first, end), asyncio.gather(*(self._count(site, edge) for edge in ends))
        )
        for edge, counts in zip(ends, counted, strict=True):
            whole[edge.hour] = counts
        return whole

    async def list_days(self, site: int, first_day: int, last_day: int) -> dict[int, Counts]:
        # Read the open days first. If a day is closed during this call, its hours remain and are counted.
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
        found: list[int] = []
        for part in await self._days.parts(span):
            row = await self._days.session(part.day).one(
                f"""SELECT {joined("duration_us")} FROM (
                        SELECT duration_us FROM event WHERE site = $1 AND id >= $2 AND id < $3 AND {_REQUEST}
                        ORDER BY id DESC LIMIT $4) AS newest""",  # noqa: S608
                site,
                part.least,
                part.end,
                limit - len(found),
            )
            found += numbers(row[0] if row else None)
            if len(found) >= limit:
                break
        return found

    async def count_sources(self, site: int, span: TimeRange) -> int:
        parts = await self._days.parts(span)
        others = await asyncio.gather(
            *(self._smallest(site, part.day, part.least, part.end) for part in counted_parts(parts))
        )
        return await self._merge(site, rolled_up_days(parts), others)

    async def estimate_sources(self, site: int, first_day: int, last_day: int) -> int:
        open_days = await self._days.open(first_day, last_day)
        others = [await self._smallest(site, day, *day_bounds(day)) for day in open_days]
        return await self._merge(site, (first_day, last_day), others)

    async def find_sighting(self, site: int) -> tuple[int, int] | None:
        # The days that are not rolled up first: one that is closed in between is then found twice, not never.
        seen = [await self._seen_on(site, day) for day in await self._days.open(0, _LAST_DAY)]
        row = await self._stats.one("SELECT min(day), max(last_event_ms) FROM site_day WHERE site = $1", site)
        if row is not None and row[0] is not None:
            seen.append((row[0], row[1]))
        found = [each for each in seen if each is not None]
        if not found:
            return None
        return await self._first_of_day(site, min(day for day, _ in found)), max(last for _, last in found)

    async def _seen_on(self, site: int, day: int) -> tuple[int, int] | None:
        row = await self._days.session(day).one(
            "SELECT max(last_event_ms) FROM site_hour WHERE site = $1 AND hour >= $2 AND hour < $3",
            site,
            day * 24,
            day * 24 + 24,
        )
        return (day, row[0]) if row is not None and row[0] else None

    async def _first_of_day(self, site: int, day: int) -> int:
        row = await self._days.session(day).one(
            "SELECT id FROM event WHERE site = $1 AND id >= $2 AND id < $3 ORDER BY id LIMIT 1", site, *day_bounds(day)
        )
        # Of a day whose events are gone, only the day is known.
        return id_time_ms(row[0]) if row is not None and row[0] is not None else day * DAY_MS

    async def _merge(self, site: int, days: tuple[int, int] | None, others: Sequence[list[int]]) -> int:
        sketches: list[bytes] = []
        if days is not None:
            # A visitor of many days would have to be found on each of them; the smallest numbers of each day will do.
            rows = await self._stats.all(
                "SELECT smallest FROM source_sketch WHERE site = $1 AND day >= $2 AND day <= $3", site, *days
            )
            sketches = [smallest for (smallest,) in rows]
        # Three months of a busy site are two hundred thousand numbers: too many for the event loop.
        return await asyncio.to_thread(estimate_sources, sketches, others)

    async def _smallest(self, site: int, day: int, least: int, end: int) -> list[int]:
        """Return the smallest visitors of a part of a day, as many as a sketch holds. The index has them in order."""
        found: list[int] = []
        smallest = "GROUP BY visitor ORDER BY visitor LIMIT $4"
        # Databases sort signed numbers: those with the first bit set are the larger half.
        for half in ("visitor >= 0", "visitor < 0"):
            row = await self._days.session(day).one(
                f"""SELECT {joined("visitor")} FROM (
                        SELECT visitor FROM {self._days.stored.met(VISITOR, half, smallest)} {smallest}) AS smallest""",  # noqa: S608
                site,
                least,
                end,
                KEPT - len(found),
            )
            found += [unsigned(visitor) for visitor in numbers(row[0] if row else None)]
            if len(found) == KEPT:
                break
        return found

    async def _whole_hours(self, site: int, first: int, end: int) -> dict[int, Counts]:
        if first >= end:
            return {}
        first_day, last_day = first // 24, (end - 1) // 24
        open_days = [] if self._days.stored.hours_in_stats else await self._days.open(first_day, last_day)
        found = await self._hours(self._stats, site, first, end)
        for day in open_days:
            found |= await self._hours(self._days.session(day), site, max(day * 24, first), min(day * 24 + 24, end))
        return found

    async def _hours(self, session: Reader, site: int, first: int, end: int) -> dict[int, Counts]:
        row = await session.one(
            f"SELECT {joined_rows(_HOURS)} FROM site_hour WHERE site = $1 AND hour >= $2 AND hour < $3",  # noqa: S608
            site,
            first,
            end,
        )
        return {hour: Counts(*counts) for hour, *counts in rows_of(row[0] if row else None, len(_HOURS))}

    async def _count(self, site: int, edge: Edge) -> Counts:
        values = [site]
        statements: list[str] = []
        if edge.from_hour:
            values.append(edge.hour)
            statements.append(f"SELECT 1, {_COLUMNS} FROM site_hour WHERE site = $1 AND hour = $2")  # noqa: S608
        for part in edge.events:
            values += (first_id(part.from_ms), first_id(part.to_ms))
            bounds = f"id >= ${len(values) - 1} AND id < ${len(values)}"
            statements.append(f"SELECT {edge.sign}, {COUNTED} FROM event WHERE site = $1 AND {bounds}")  # noqa: S608
        session = self._days.session(edge.hour * HOUR_MS // DAY_MS)
        rows = await session.all(" UNION ALL ".join(statements), *values)
        counted = [[sign * int(count or 0) for count in counts] for sign, *counts in rows]
        return _counts(tuple(map(sum, zip(*counted, strict=True))))


def _counts(row: Row | None) -> Counts:
    # No row: the day is gone. NULL: there was nothing to add up.
    return Counts(*(int(count or 0) for count in row)) if row else Counts()


# As many as a day keeps. Up to here the count is exact.
KEPT = 2_048
_NUMBERS = 1 << 64
# So many expected numbers are hardly ever too few.
_ENOUGH = KEPT * 5 // 4


def estimate_sources(sketches: Iterable[bytes], others: Iterable[Sequence[int]]) -> int:
    """Return how many different visitors there are in sketches, eight bytes each, and in other unsigned numbers."""
    days: list[Sequence[int]] = [struct.unpack(f">{len(sketch) // 8}Q", sketch) for sketch in sketches]
    days += [sorted(visitors)[:KEPT] for visitors in others]
    # A full sketch has no visitors above its last number.
    told = min((day[-1] for day in days if len(day) >= KEPT), default=_NUMBERS)
    # If no visitor comes on two days, the smallest numbers are below `told` divided by the number of days. The count of
    # numbers within the bound determines how much further to search, so few more numbers are sorted than needed.
    bound = told // max(len(days), 1)
    found = _up_to(bound, days)
    while len(found) < KEPT and bound < told:
        bound = min((bound + 1) * max(_ENOUGH // (len(found) + 1), 2), told)
        found = _up_to(bound, days)
    if len(found) < KEPT:
        return len(found)
    # Of n evenly distributed numbers, the k-th smallest is at about k/n of the possible range.
    return round((KEPT - 1) * _NUMBERS / sorted(found)[KEPT - 1])


def _up_to(bound: int, days: Iterable[Sequence[int]]) -> set[int]:
    """Return the different numbers up to a bound. The numbers of each day come in order."""
    return set[int]().union(*(day[: bisect_right(day, bound)] for day in days))
