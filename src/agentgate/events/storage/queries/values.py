"""Counts of values in SQL, solve times, and the hourly counters without events."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence

from agentgate.events.decision_ids import first_id, id_time_ms
from agentgate.events.queries.ports import Causes, CounterRow, ValueCounts, ValueStore
from agentgate.events.records import Dimension
from agentgate.events.storage.codes import KIND_CODES, SOLVE_TYPES, STAGE_CODES
from agentgate.events.storage.dictionary import OTHER, KnownWords
from agentgate.events.storage.encoding import split_key, value_key
from agentgate.events.storage.queries.days import (
    OF_CLOSED_DAY,
    DayPart,
    TrafficDays,
    counted_parts,
    edges,
    rolled_up_days,
)
from agentgate.events.storage.queries.joined import joined, joined_rows, numbers, rows_of
from agentgate.events.time_ranges import TimeRange
from agentgate.lib.clock import HOUR_MS
from agentgate.lib.database import Reader, Row
from agentgate.lib.enums import ChallengeStage, DecisionKind, SolveType

# Dimension and value in one number, as stored -> how often.
_Found = dict[int, int]

# Dimension -> the number or list that an event counts under; NULL if it does not count.
_IS_REQUEST = f"kind = {KIND_CODES[DecisionKind.REQUEST]}"
_REFUSED, _WOULD = f"{_IS_REQUEST} AND outcome <> 0", f"{_IS_REQUEST} AND would <> 0"
_COLUMNS = {
    Dimension.ACTION: "action",
    Dimension.ROUTE: f"CASE WHEN {_IS_REQUEST} THEN route END",
    Dimension.AGENT: f"CASE WHEN {_IS_REQUEST} THEN agent END",
    Dimension.SOLVE_TYPE: "solve_type",
    Dimension.REASON: f"CASE WHEN {_IS_REQUEST} THEN reasons END",
    Dimension.LABEL: "labels",
    Dimension.REFUSED_REASON: f"CASE WHEN {_REFUSED} AND rule IS NULL THEN reasons END",
    Dimension.REFUSED_RULE: f"CASE WHEN {_REFUSED} THEN rule END",
    Dimension.WOULD_REASON: f"CASE WHEN {_WOULD} AND rule IS NULL THEN reasons END",
    Dimension.WOULD_RULE: f"CASE WHEN {_WOULD} THEN rule END",
    Dimension.CHECK_LABEL: f"CASE WHEN NOT ({_IS_REQUEST}) THEN labels END",
    Dimension.CHECK_ACTION: f"CASE WHEN NOT ({_IS_REQUEST}) THEN action END",
}
_OF_EVENTS = ", ".join(map(joined, _COLUMNS.values()))

# First column of rows from hourly or daily counts; rows of events have the sign of an edge there.
_COUNTED = 0
# Those have at most two lists.
_NO_MORE = ", NULL" * (len(_COLUMNS) - 2)
_OF_DAYS = f"""SELECT {_COUNTED}, {joined("key")}, {joined("events")}{_NO_MORE} FROM (
    SELECT dimension * {value_key(1, 0)} + value AS key, sum(events) AS events FROM dimension_day
    WHERE site = $1 AND day >= $2 AND day <= $3 AND {OF_CLOSED_DAY} GROUP BY 1) AS counted"""  # noqa: S608
# Merged or not.
_OF_HOURS = f"""SELECT {_COUNTED}, {{}}{_NO_MORE}
    FROM dimension_pack WHERE site = $1 AND hour >= $2 AND hour < $3"""  # noqa: S608
# How long the newest challenges at a stage took to solve.
_SOLVED = f"""SELECT {joined("solve_ms")} FROM (
    SELECT solve_ms FROM {{}} WHERE site = $1 AND id >= $2 AND id < $3 AND stage = $4 AND solve_ms IS NOT NULL
    ORDER BY id DESC LIMIT $5) AS newest"""  # noqa: S608
_BRACKETS = str.maketrans("", "", "[]")


class SqlCounters:
    """The hourly counters of calls that leave no event."""

    def __init__(self, stats: Reader) -> None:
        self._stats = stats

    async def list_counters(self, site: int, *, first_hour: int, last_hour: int) -> list[CounterRow]:
        rows = await self._stats.all(
            f"""SELECT name, value, {joined_rows(("hour", "counted"))} FROM counter_hour
                WHERE site = $1 AND hour >= $2 AND hour <= $3 GROUP BY name, value ORDER BY name, value""",  # noqa: S608
            site,
            first_hour,
            last_hour,
        )
        return [
            CounterRow(hour, name, value, counted)
            for name, value, listed in rows
            for hour, counted in rows_of(listed, 2)
        ]

    async def find_first_counter_hour(self, site: int) -> int | None:
        row = await self._stats.one("SELECT min(hour) FROM counter_hour WHERE site = $1", site)
        return row[0] if row else None


class SqlValues(SqlCounters, ValueStore):
    def __init__(self, stats: Reader, days: TrafficDays, words: KnownWords) -> None:
        super().__init__(stats)
        self._days = days
        self._words = words

    async def count_values(self, site: int, span: TimeRange) -> ValueCounts:
        parts = await self._days.parts(span)
        read = await asyncio.gather(
            self._count_days(site, rolled_up_days(parts)),
            *(self._count_part(site, part) for part in counted_parts(parts)),
        )
        # A day of a busy site is thousands of numbers: too many for the event loop.
        found = await asyncio.to_thread(_add_up, [row for rows in read for row in rows])
        return await name_values([(*split_key(key), count) for key, count in found.items()], self._words)

    async def list_solve_times_ms(self, site: int, span: TimeRange, limit: int) -> list[int]:
        found: list[int] = []
        for part in await self._days.parts(span):
            row = await self._days.session(part.day).one(
                _SOLVED.format(self._days.stored.solved),
                site,
                part.least,
                part.end,
                STAGE_CODES[ChallengeStage.PASSED],
                limit - len(found),
            )
            found += numbers(row[0] if row else None)
            if len(found) >= limit:
                break
        return found

    async def _count_days(self, site: int, days: tuple[int, int] | None) -> list[Row]:
        return [] if days is None else await self._stats.all(_OF_DAYS, site, *days)

    async def _count_part(self, site: int, part: DayPart) -> list[Row]:
        """Read a part's hours, and the events at its ends that are missing there or too many, in one statement."""
        span = TimeRange(id_time_ms(part.least), id_time_ms(part.end))
        first, end = -(-span.from_ms // HOUR_MS), span.to_ms // HOUR_MS
        statements = [_OF_HOURS.format(self._days.stored.values)]
        bounds: list[int] = []
        for edge in edges(span):
            if edge.from_hour:
                first, end = min(first, edge.hour), max(end, edge.hour + 1)
            for events in edge.events:
                bounds += (first_id(events.from_ms), first_id(events.to_ms))
                place = 2 + len(bounds)
                statements.append(
                    f"""SELECT {edge.sign}, {_OF_EVENTS} FROM event
                        WHERE site = $1 AND id >= ${place} AND id < ${place + 1}"""  # noqa: S608
                )
        return await self._days.session(part.day).all(" UNION ALL ".join(statements), site, first, end, *bounds)


async def name_values(values: Sequence[tuple[int, int, int]], words: KnownWords) -> ValueCounts:
    texts = await words.texts({value for dimension, value, _ in values if dimension != Dimension.SOLVE_TYPE})
    named: dict[int, Counter[str]] = {dimension: Counter() for dimension in Dimension}
    solve_types: Counter[SolveType] = Counter()
    for dimension, value, count in values:
        # The sum of many rare values is none of them.
        if value == OTHER or count == 0:
            continue
        if dimension == Dimension.SOLVE_TYPE:
            solve_type = SOLVE_TYPES[value]
            assert solve_type is not None, "only 0 stands for nothing"
            solve_types[solve_type] += count
        elif dimension in named and value in texts:
            named[dimension][texts[value]] += count
    return ValueCounts(
        actions=named[Dimension.ACTION] - named[Dimension.CHECK_ACTION],
        routes=named[Dimension.ROUTE],
        reasons=named[Dimension.REASON],
        labels=named[Dimension.LABEL] - named[Dimension.CHECK_LABEL],
        agents=named[Dimension.AGENT],
        solve_types=solve_types,
        refused=Causes(named[Dimension.REFUSED_RULE], named[Dimension.REFUSED_REASON]),
        would=Causes(named[Dimension.WOULD_RULE], named[Dimension.WOULD_REASON]),
    )


def _add_up(rows: Iterable[Row]) -> _Found:
    found: _Found = {}
    for sign, *columns in rows:
        if sign == _COUNTED:
            _add(found, _pairs(*columns[:2]))
            continue
        for dimension, text in zip(_COLUMNS, columns, strict=True):
            # Reasons and labels are arrays, `[1,7],[],[2]`: without brackets they are one list, with gaps.
            counted = Counter(text.translate(_BRACKETS).split(",") if text else ())
            _add(found, ((value_key(dimension, int(value)), sign * n) for value, n in counted.items() if value))
    return found


def _pairs(keys: str | None, counts: str | None) -> Iterable[tuple[int, int]]:
    if counts is not None:
        return zip(numbers(keys), numbers(counts), strict=True)
    both = numbers(keys)
    return zip(both[::2], both[1::2], strict=True)


def _add(found: _Found, counts: Iterable[tuple[int, int]]) -> None:
    for key, count in counts:
        found[key] = found.get(key, 0) + count
