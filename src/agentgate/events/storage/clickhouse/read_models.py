"""The read models of events in ClickHouse: counts, values, visitors and decisions of a site."""

import json
from collections.abc import Sequence

from agentgate.events.decision_ids import TIME_SHIFT, first_id, id_day, id_time_ms
from agentgate.events.labels.repository import LabelStore
from agentgate.events.queries.ports import (
    Counts,
    CountStore,
    DecisionFilters,
    DecisionScan,
    DecisionStore,
    SightingStore,
    SiteNumber,
    ValueCounts,
    ValueStore,
    VisitorScan,
    VisitorStore,
)
from agentgate.events.queries.records import Decision, VisitorSummary
from agentgate.events.storage.clickhouse.schema import HOUR, PAIRS, SOURCES_MERGED, SOURCES_STATE, SUMS, VISITOR_SUMS
from agentgate.events.storage.codes import KIND_CODES, OUTCOME_CODES, STAGE_CODES, signed
from agentgate.events.storage.days.days import day_bounds
from agentgate.events.storage.dictionary import KnownWords, WordKind
from agentgate.events.storage.encoding import COUNT_COLUMNS, EVENT_COLUMNS
from agentgate.events.storage.queries.counts import COUNTED
from agentgate.events.storage.queries.decisions import DecisionRows
from agentgate.events.storage.queries.values import SqlCounters, name_values
from agentgate.events.storage.queries.visitors import VisitorTotals, name_totals, totals_of
from agentgate.events.time_ranges import TimeRange
from agentgate.lib.clock import DAY_MS, HOUR_MS
from agentgate.lib.database import Reader, Row
from agentgate.lib.enums import ChallengeStage, DecisionKind, LabelledFilter, Outcome
from agentgate.storage.clickhouse.client import ClickhouseClient

DAY_OF_IDS = DAY_MS << TIME_SHIFT

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


_VALUES = f"""SELECT dimension, value, sum(counted) FROM (
    SELECT dimension, value, sum(part.events) AS counted FROM dimension_part AS part
        WHERE site = $1 AND hour >= $2 AND hour < $3 GROUP BY dimension, value
    UNION ALL SELECT toUInt8(pair.1) AS dimension, toInt32(pair.2) AS value, toInt64(count()) AS counted FROM event
        ARRAY JOIN {PAIRS} AS pair
        WHERE site = $1 AND ((id >= $4 AND id < $5) OR (id >= $6 AND id < $7)) GROUP BY dimension, value)
    GROUP BY dimension, value"""  # noqa: S608
_SOLVED = f"""SELECT solve_ms FROM event WHERE site = $1 AND id >= $2 AND id < $3
    AND stage = {STAGE_CODES[ChallengeStage.PASSED]} AND isNotNull(solve_ms)
    ORDER BY site DESC, id DESC LIMIT $4"""  # noqa: S608


class ClickhouseValues(SqlCounters, ValueStore):
    def __init__(self, stats: Reader, reader: Reader, words: KnownWords) -> None:
        super().__init__(stats)
        self._reader = reader
        self._words = words

    async def count_values(self, site: int, span: TimeRange) -> ValueCounts:
        rows = await self._reader.all(_VALUES, site, *whole_and_ends(span, HOUR_MS))
        return await name_values([(dimension, value, int(count)) for dimension, value, count in rows], self._words)

    async def list_solve_times_ms(self, site: int, span: TimeRange, limit: int) -> list[int]:
        ids = range(first_id(span.from_ms), first_id(span.to_ms))
        rows = await read_newest(self._reader, _SOLVED, site, ids, limit)
        return [solve_ms for (solve_ms,) in rows]


# The number of newest events that are searched first. They are usually enough for a page.
WALK = 2_000

_NEWEST = """SELECT id, visitor FROM event WHERE site = $1 AND id >= $2 AND id < $3 AND isNotNull(visitor)
    ORDER BY site DESC, id DESC LIMIT $4"""
_AMONG = "SELECT DISTINCT visitor FROM event WHERE site = $1 AND id >= $2 AND id < $3 AND visitor IN $4"
# Visitors are ordered by their last event in the range. This is the last event in `visitor_last` unless the visitor
# came again after the range; then the query reads the events. `visitor_last` may have several rows per visitor, so a
# page takes as many rows as may be enough, and only their visitors are checked for later events. All rows of a visitor
# are on one shard, so each shard runs the subquery locally.
ENOUGH_ROWS = 4_000
_BOUNDS = """SELECT min(last_id), max(last_id), count() FROM (SELECT last_id FROM visitor_last
    WHERE site = $1 AND last_id >= $2 AND (last_id < $4 OR last_id >= $3)
    ORDER BY last_id >= $3 DESC, last_id DESC LIMIT $5)"""
_LAST_OF_ALL = """SELECT max(last_id) AS last, visitor FROM visitor_last WHERE site = $1
    AND visitor IN (SELECT visitor FROM visitor_last WHERE site = $1 AND last_id >= $2 AND last_id < $3)
    GROUP BY visitor HAVING last < $3 ORDER BY last DESC LIMIT $4 SETTINGS distributed_product_mode = 'local'"""
_LAST = """SELECT max(id) AS last, visitor FROM event WHERE site = $1 AND id >= $2 AND id < $3 AND isNotNull(visitor)
    GROUP BY visitor HAVING last < $4 ORDER BY last DESC LIMIT $5"""
# A row of `visitor_part` counts if the range contains all of its events. If the range contains only some, which only
# happens on the first and the last day, the events of that day are counted instead.
_OF_DAYS = """SELECT visitor, multiIf(day = $4, 1, day = $5, 2, 0) AS edge, max(first_id < $2 OR last_id >= $3),
        min(first_id), max(last_id), sumMap(sums), groupUniqArrayArray(actions), groupUniqArrayArray(agents)
    FROM visitor_part
    WHERE site = $1 AND last_id >= $2 AND first_id < $3 AND day >= $4 AND day <= $5 AND visitor IN $6
    GROUP BY visitor, edge"""
_OF_EVENTS = f"""SELECT visitor, min(id), max(id), {VISITOR_SUMS}, groupUniqArray(action), groupUniqArray(agent)
    FROM event WHERE site = $1 AND id >= $2 AND id < $3 AND visitor IN $4 GROUP BY visitor"""  # noqa: S608


class ClickhouseVisitors(VisitorStore):
    def __init__(self, client: ClickhouseClient, words: KnownWords) -> None:
        self._client = client
        self._words = words

    async def list_visitors(self, site: int, span: TimeRange, *, before: int | None, limit: int) -> VisitorScan:
        # Fetch one extra visitor to detect a next page.
        seen = await self._list_seen(site, span, before, limit + 1)
        shown = seen[:limit]
        items = await self._summaries(site, span, [visitor for _, visitor in shown])
        return VisitorScan(items, shown[-1][0] if len(seen) > limit else None)

    async def find_visitor(self, site: int, span: TimeRange, visitor: int) -> VisitorSummary | None:
        found = await self._summaries(site, span, [signed(visitor)])
        return found[0] if found else None

    async def _list_seen(self, site: int, span: TimeRange, before: int | None, wanted: int) -> list[Row]:
        """Return the last event and ID of visitors, newest first, except visitors seen again after `before`."""
        least, end = first_id(span.from_ms), first_id(span.to_ms)
        stop = end if before is None else min(before, end)
        if end - stop <= DAY_OF_IDS:
            rows = await read_newest(self._client, _NEWEST, site, range(least, stop), WALK)
            last: dict[int, int] = {}
            for identifier, visitor in rows:
                last.setdefault(visitor, identifier)
            if last and stop < end:
                for (visitor,) in await self._client.all(_AMONG, site, stop, end, list(last)):
                    del last[visitor]
            if len(last) >= wanted or len(rows) < WALK:
                return [(identifier, visitor) for visitor, identifier in last.items()][:wanted]
        return await self._list_last(site, range(least, end), stop, wanted)

    async def _list_last(self, site: int, ids: range, stop: int, wanted: int) -> list[Row]:
        """Return the same for a page far from the newest one."""
        bounds = await self._client.one(_BOUNDS, site, ids.start, ids.stop, stop, ENOUGH_ROWS)
        least, newest, rows = bounds or (0, 0, 0)
        if not rows:
            return []
        if newest >= ids.stop:
            return await self._client.all(_LAST, site, ids.start, ids.stop, stop, wanted)
        seen = await self._client.all(_LAST_OF_ALL, site, least, stop, wanted)
        if len(seen) < wanted and rows == ENOUGH_ROWS:
            seen = await self._client.all(_LAST_OF_ALL, site, ids.start, stop, wanted)
        return seen

    async def _summaries(self, site: int, span: TimeRange, visitors: Sequence[int]) -> list[VisitorSummary]:
        if not visitors:
            return []
        least, end = first_id(span.from_ms), first_id(span.to_ms)
        first_day, last_day = span.from_ms // DAY_MS, (span.to_ms - 1) // DAY_MS
        edges = {1: (least, min(end, first_id((first_day + 1) * DAY_MS))), 2: (first_id(last_day * DAY_MS), end)}
        rows: list[Row] = []
        across: dict[int, list[int]] = {}
        for visitor, edge, crosses, *sums in await self._client.all(
            _OF_DAYS, site, least, end, first_day, last_day, list(visitors)
        ):
            if crosses:
                across.setdefault(edge, []).append(visitor)
            else:
                rows.append((visitor, *sums))
        for edge, listed in across.items():
            rows += await self._client.all(_OF_EVENTS, site, *edges[edge], listed)
        totals: dict[int, VisitorTotals] = {}
        for visitor, first, last, sums, actions, agents in rows:
            counted = dict(zip(*json.loads(sums), strict=True))
            each = totals_of(totals, visitor, first, last, [counted.get(place, 0) for place in range(SUMS)])
            each.actions.update(json.loads(actions))
            each.agents.update(json.loads(agents))
        return await name_totals(totals, visitors, self._words)


# Pages that are looked through for decisions without a label before a page may be short.
MOST_PAGES = 20

_COLUMNS = ", ".join(EVENT_COLUMNS)
_CHALLENGE = OUTCOME_CODES[Outcome.CHALLENGE]
_LABELLING = f"kind = {KIND_CODES[DecisionKind.REQUEST]} AND (outcome = {_CHALLENGE} OR would = {_CHALLENGE})"
_ONE = f"SELECT {_COLUMNS} FROM event WHERE id = $1 AND site = $2 AND id >= $3 AND id < $4 LIMIT 1"  # noqa: S608


class ClickhouseDecisions(DecisionRows, DecisionStore):
    def __init__(self, reader: Reader, words: KnownWords, labels: LabelStore) -> None:
        super().__init__(words, labels)
        self._reader = reader

    async def list_decisions(
        self, site: SiteNumber, span: TimeRange, filters: DecisionFilters, *, before: int | None, limit: int
    ) -> DecisionScan:
        asked = await self._conditions(filters)
        if asked is None:
            return DecisionScan([], None)
        least, end = first_id(span.from_ms), first_id(span.to_ms)
        if before is not None:
            end = min(end, before)
        hides_labelled = filters.labelled is LabelledFilter.NO
        rows: list[Row] = []
        for _ in range(MOST_PAGES):
            # Fetch one extra row to detect a next page.
            page = await self._page(site.number, least, end, asked, limit + 1)
            rows += await self.unlabelled(site, page) if hides_labelled else page
            end = least if len(page) <= limit else page[-1][0]
            if len(rows) > limit or end <= least:
                break
        shown = rows[:limit]
        more = shown[-1][0] if len(rows) > limit else end if end > least else None
        return DecisionScan(await self.decisions(site, shown), more)

    async def find_decision(self, site: SiteNumber, decision: int) -> Decision | None:
        row = await self._reader.one(_ONE, decision, site.number, *day_bounds(id_day(decision)))
        return (await self.decisions(site, [row]))[0] if row else None

    async def _conditions(self, filters: DecisionFilters) -> list[tuple[str, int]] | None:
        """Return the SQL conditions with their values, `{}` for the place; None when no event can match."""
        found: list[tuple[str, int]] = []
        if filters.visitor is not None:
            found.append(("visitor = {}", signed(filters.visitor)))
        if filters.kind is not None:
            found.append(("kind = {}", KIND_CODES[filters.kind]))
        for column, outcome in (("outcome", filters.outcome), ("would", filters.would)):
            if outcome is not None:
                found.append((f"{column} = {{}}", OUTCOME_CODES[outcome]))
        named = (
            (WordKind.RULE, "rule = {}", filters.rule),
            (WordKind.ACTION, "action = {}", filters.action),
            (WordKind.LABEL, "has(labels, {})", filters.label),
        )
        for kind, condition, text in named:
            if text is not None:
                number = await self._words.find(kind, text)
                if number is None:
                    return None
                found.append((condition, number))
        return [*found, (f"{_LABELLING} AND 0 = {{}}", 0)] if filters.labelling else found

    async def _page(self, site: int, least: int, end: int, asked: list[tuple[str, int]], limit: int) -> list[Row]:
        conditions = "".join(f" AND {text.format(f'${place}')}" for place, (text, _) in enumerate(asked, 5))
        sql = f"""SELECT {_COLUMNS} FROM event WHERE site = $1 AND id >= $2 AND id < $3{conditions}
            ORDER BY site DESC, id DESC LIMIT $4"""  # noqa: S608
        return await read_newest(self._reader, sql, site, range(least, end), limit, *(value for _, value in asked))


class ClickhouseTraffic:
    """Implements TrafficStore. The dictionary and the hourly counters stay in the statistics."""

    def __init__(self, stats: Reader, client: ClickhouseClient, words: KnownWords, labels: LabelStore) -> None:
        self.counts = ClickhouseCounts(client)
        self.values = ClickhouseValues(stats, client, words)
        self.visitors = ClickhouseVisitors(client, words)
        self.decisions = ClickhouseDecisions(client, words, labels)


async def read_newest(reader: Reader, sql: str, site: int, ids: range, limit: int, *values: int) -> list[Row]:
    """Return up to `limit` rows: of the last day first, and of the rest only where that has too few.

    ClickHouse opens every day of a range before it gives the first row, and most pages are full after the last day. The
    statement has site, first ID, end and limit as $1 to $4, and `values` from $5.
    """
    day = max(ids.start, ids.stop - DAY_OF_IDS)
    rows = await reader.all(sql, site, day, ids.stop, limit, *values)
    if len(rows) < limit and day > ids.start:
        rows += await reader.all(sql, site, ids.start, day, limit - len(rows), *values)
    return rows
