"""Roll-ups of ended days in the statistics, and the removal of old days and of a site's events.

A day counts as rolled up once it has its row in `segment`, which is written last. Until then readers count its events,
so the roll-ups are replaced in short transactions, and this may be stopped anywhere and done again.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter

from agentgate.events.storage.codes import KIND_CODES, OUTCOME_CODES, STAGE_CODES, unsigned
from agentgate.events.storage.days.days import MERGING, VALUE_TABLE, VALUES, SegmentDays, day_bounds
from agentgate.events.storage.dictionary import OTHER
from agentgate.events.storage.encoding import COUNT_COLUMNS
from agentgate.lib.clock import DAY_MS, HOUR_MS
from agentgate.lib.database import Database, Reader, Row, Transaction
from agentgate.lib.tasks.off_loop import consumed, off_loop

HOURS_PER_DAY = DAY_MS // HOUR_MS
# Values of a dimension kept apart for a site and day; the rest is summed under `other`.
VALUES_KEPT = 1_000
# Actions and agents shown of a visitor.
NAMES_KEPT = 20
SKETCH_SIZE = 2_048
# Visitors of one statement, and rows of one transaction: other writers wait for some milliseconds.
VISITORS_AT_ONCE = 1_000
ROWS_PER_LOAD = 2_000

HOUR_COLUMNS = ("site", "hour", *COUNT_COLUMNS, "last_event_ms")
SITE_DAY_COLUMNS = ("site", "day", *COUNT_COLUMNS, "last_event_ms", "sources")
DIMENSION_DAY_COLUMNS = ("site", "day", "dimension", "value", "events")
VISITOR_DAY_COLUMNS = (
    *("site", "day", "visitor", "first_id", "last_id", "requests", "allowed", "challenged", "blocked", "dropped"),
    *("monitored", "challenges", "challenges_passed", "actions", "agents"),
)
SKETCH_COLUMNS = ("site", "day", "smallest")

# The tables with rows of a whole day, which the column `day` names.
_OF_A_DAY = ("site_day", "dimension_day", "source_sketch")
_OF_A_SITE = (*_OF_A_DAY, "visitor_day", "site_hour", "counter_hour", "feature_vector")
_SITES_WITH_ROWS = "SELECT site FROM site_day UNION SELECT site FROM site_hour UNION SELECT site FROM counter_hour"

_COUNTED = "sum(requests + challenges_issued + challenges_passed + challenges_failed)"


def _request(condition: str = "") -> str:
    return f"sum(CASE WHEN kind = {KIND_CODES['request']}{condition} THEN 1 ELSE 0 END)"  # type: ignore[index]


def _outcome(name: str) -> str:
    return _request(f" AND outcome = {OUTCOME_CODES[name]}")  # type: ignore[index]


def _stage(name: str) -> str:
    return f"sum(CASE WHEN stage = {STAGE_CODES[name]} THEN 1 ELSE 0 END)"  # type: ignore[index]


# The SQL of a visitor's totals, by the names of VISITOR_DAY_COLUMNS. `challenges` counts issued challenges.
VISITOR_EXPRESSIONS = dict(
    zip(
        VISITOR_DAY_COLUMNS[3:-2],
        [
            "min(id)",
            "max(id)",
            _request(),
            *map(_outcome, ("allow", "challenge", "block", "drop")),
            _request(" AND would IS NOT NULL"),
            _stage("issued"),
            _stage("passed"),
        ],
        strict=True,
    )
)
VISITOR_SUMS = ", ".join(VISITOR_EXPRESSIONS.values())
# Visitors between two numbers, of a day that has all postings.
_SEEN = "SELECT {} FROM {} WHERE site = $1 AND id >= $2 AND id < $3 AND visitor >= $4 AND visitor <= $5"
_BY_VISITOR = " GROUP BY visitor ORDER BY visitor LIMIT $6"
_NAMES = "visitor, action, agent, min(id)"
_BY_NAMES = " AND (action IS NOT NULL OR agent IS NOT NULL) GROUP BY visitor, action, agent ORDER BY 4"
# Unsigned numbers in order: databases sort signed ones.
_HALVES = ((0, (1 << 63) - 1), (-1 << 63, -1))
_ANY_VISITOR = "SELECT 1 FROM visitor_day WHERE site = $1 AND day >= $2 AND day <= $3 LIMIT 1"
_REMOVE_VISITORS = """DELETE FROM visitor_day WHERE (site, visitor, day) IN (
    SELECT site, visitor, day FROM visitor_day WHERE site = $1 AND day >= $2 AND day <= $3 LIMIT $4)"""
_SITES = "SELECT DISTINCT site FROM site_hour WHERE hour >= $1 AND hour < $2"
_HOURS = f"SELECT {', '.join(HOUR_COLUMNS)} FROM site_hour WHERE hour >= $1 AND hour < $2 AND site = $3"  # noqa: S608
_DIMENSIONS = f"""SELECT dimension, value, sum(events) FROM {VALUES} WHERE hour >= $1 AND hour < $2 AND site = $3
    GROUP BY dimension, value ORDER BY dimension, sum(events) DESC, value"""  # noqa: S608


def day_hours(day: int) -> tuple[int, int]:
    """Return the first hour of a day and the first hour of the next day, in hours since 1970."""
    return day * HOURS_PER_DAY, (day + 1) * HOURS_PER_DAY


async def close_days(stats: Database, segments: SegmentDays, *, ended_before_ms: int, now_ms: int) -> list[int]:
    """Roll up the days that ended before a moment and are not rolled up as they are now; return which."""
    closed: dict[int, int] = dict(await stats.all("SELECT day, events FROM segment"))
    ended = [day for day in await segments.days() if (day + 1) * DAY_MS <= ended_before_ms]
    # Read first: an event that comes while the rest is read changes it, and the next run does the day again.
    counted = await _count_days(stats, segments, ended)
    changed = [day for day in ended if closed.get(day) != counted[day]]
    for day in changed:
        # Before it is closed: readers take it that a closed day has them.
        await segments.index(day)
        await _close_day(stats, segments, day, (counted[day], now_ms))
    return changed


async def _count_days(stats: Reader, segments: SegmentDays, days: Sequence[int]) -> dict[int, int]:
    if not segments.hours_in_stats:
        return {day: await count_events(segments, day) for day in days}
    # One look at all hours, instead of one for each day.
    rows = await stats.all(f"SELECT hour / {HOURS_PER_DAY}, {_COUNTED} FROM site_hour GROUP BY hour / {HOURS_PER_DAY}")  # noqa: S608
    return dict.fromkeys(days, 0) | {int(day): int(counted) for day, counted in rows}


async def count_events(segments: SegmentDays, day: int) -> int:
    row = await segments.session(day).one(
        f"SELECT {_COUNTED} FROM site_hour WHERE hour >= $1 AND hour < $2",  # noqa: S608
        *day_hours(day),
    )
    return int(row[0] or 0) if row else 0


async def forget(stats: Database, segments: SegmentDays, *, events_before_day: int, metrics_before_day: int) -> None:
    """Remove events before `events_before_day`, rolled up first, and aggregates before `metrics_before_day`."""
    # Roll up first: otherwise the counts of a day that was never rolled up would be lost.
    await close_days(stats, segments, ended_before_ms=events_before_day * DAY_MS, now_ms=events_before_day * DAY_MS)
    for day in await segments.days():
        if day < events_before_day:
            await segments.drop(day)
    # Delete rows of single visitors with the events; keep aggregates longer.
    by_hour = ["site_hour", *([VALUE_TABLE] if segments.hours_in_stats else [])]
    ends = [(table, "hour", events_before_day * HOURS_PER_DAY) for table in by_hour]
    ends += [("counter_hour", "hour", metrics_before_day * HOURS_PER_DAY)]
    ends += [(table, "day", metrics_before_day) for table in _OF_A_DAY]

    async def remove(transaction: Transaction, site: int) -> None:
        await transaction.lock(MERGING)
        for table, column, end in ends:
            await transaction.run(f"DELETE FROM {table} WHERE site = $1 AND {column} < $2", site, end)  # noqa: S608

    for (site,) in await stats.all(_SITES_WITH_ROWS):
        await _remove_visitors(stats, site, (0, events_before_day - 1))
        await stats.transaction(partial(remove, site=site))
    await stats.run("DELETE FROM segment WHERE day < $1", metrics_before_day)


async def forget_site(stats: Database, segments: SegmentDays | None, site: int) -> None:
    """Remove everything that was recorded about a site."""
    changed = await _forget_site_in_days(segments, site) if segments is not None else []

    async def remove(transaction: Transaction) -> None:
        for table in _OF_A_SITE:
            await transaction.run(f"DELETE FROM {table} WHERE site = $1", site)  # noqa: S608
        # The roll-ups of other sites are still right, so the day need not be closed again.
        await transaction.run_many("UPDATE segment SET events = $3 WHERE day = $1 AND events = $2", changed)

    await stats.transaction(remove)


async def _forget_site_in_days(segments: SegmentDays, site: int) -> list[Row]:
    """Remove a site's events; return the days with how many events they had and have."""
    changed: list[Row] = []
    for day in await segments.days():
        before = await count_events(segments, day)
        await _forget_site_in_day(segments, day, site)
        changed.append((day, before, await count_events(segments, day)))
    return changed


async def _forget_site_in_day(segments: SegmentDays, day: int, site: int) -> None:
    least, end = day_bounds(day)
    least_hour, end_hour = day_hours(day)

    async def remove(transaction: Transaction) -> None:
        # Without the lock, a concurrent merge of counts would write the removed counts again.
        await transaction.lock(MERGING)
        for table in segments.event_tables:
            await transaction.run(
                f"DELETE FROM {table} WHERE site = $1 AND id >= $2 AND id < $3",  # noqa: S608
                site,
                least,
                end,
            )
        await segments.forget_patterns(transaction, site)
        for table in ("site_hour", VALUE_TABLE):
            await transaction.run(
                f"DELETE FROM {table} WHERE site = $1 AND hour >= $2 AND hour < $3",  # noqa: S608
                site,
                least_hour,
                end_hour,
            )

    await segments.write(day, remove)


async def _close_day(stats: Database, segments: SegmentDays, day: int, line: tuple[int, int]) -> None:
    # From now on readers count the events.
    await stats.run("DELETE FROM segment WHERE day = $1", day)
    sites = await segments.session(day).all(_SITES, *day_hours(day))
    for (site,) in sites:
        await _close_site(stats, segments, site, day)
    await stats.run("INSERT INTO segment (day, events, closed_ms) VALUES ($1, $2, $3)", day, *line)


async def _close_site(stats: Database, segments: SegmentDays, site: int, day: int) -> None:
    session = segments.session(day)
    await _remove_visitors(stats, site, (day, day))
    smallest: list[int] = []
    sources = 0
    async for visitors in _read_visitors(segments, site, day):
        smallest += [unsigned(row[2]) for row in visitors[: SKETCH_SIZE - len(smallest)]]
        sources += len(visitors)
        await stats.transaction(
            lambda transaction, rows=visitors: transaction.load("visitor_day", VISITOR_DAY_COLUMNS, rows)  # type: ignore[misc]
        )
    hours = await session.all(_HOURS, *day_hours(day), site)
    counted = await session.all(_DIMENSIONS, *day_hours(day), site)
    values = await off_loop(len(counted), lambda: list(_dimension_days((site, day), consumed(counted))))

    async def replace(transaction: Transaction) -> None:
        for table in _OF_A_DAY:
            await transaction.run(f"DELETE FROM {table} WHERE site = $1 AND day = $2", site, day)  # noqa: S608
        if not segments.hours_in_stats:
            await transaction.run(
                "DELETE FROM site_hour WHERE site = $3 AND hour >= $1 AND hour < $2", *day_hours(day), site
            )
            await transaction.load("site_hour", HOUR_COLUMNS, hours)
        await transaction.load("site_day", SITE_DAY_COLUMNS, [_site_day(site, day, hours, sources=sources)])
        await transaction.load("dimension_day", DIMENSION_DAY_COLUMNS, values)
        await transaction.load("source_sketch", SKETCH_COLUMNS, [(site, day, sketch(smallest))])

    await stats.transaction(replace)


async def _remove_visitors(stats: Database, site: int, days: tuple[int, int]) -> None:
    """Remove a site's visitors of some days, some in each transaction."""
    while await stats.one(_ANY_VISITOR, site, *days):
        await stats.run(_REMOVE_VISITORS, site, *days, ROWS_PER_LOAD)


def _site_day(site: int, day: int, hours: Sequence[Row], *, sources: int) -> Row:
    columns = list(zip(*hours, strict=True))
    return (site, day, *map(sum, columns[2:-1]), max(columns[-1]), sources)


async def _read_visitors(segments: SegmentDays, site: int, day: int) -> AsyncIterator[list[Row]]:
    """Yield the rows of a day's visitors in pages, in the order of their unsigned numbers."""
    session = segments.session(day)
    summed = _SEEN.format(f"visitor, {VISITOR_SUMS}", segments.by_visitor) + _BY_VISITOR
    named = _SEEN.format(_NAMES, segments.by_visitor) + _BY_NAMES
    for least, most in _HALVES:
        start: int | None = least
        while start is not None:
            bounds = (site, *day_bounds(day), start)
            rows = await session.all(summed, *bounds, most, VISITORS_AT_ONCE)
            if not rows:
                break
            last = rows[-1][0]
            names = await session.all(named, *bounds, last)
            start = last + 1 if len(rows) == VISITORS_AT_ONCE and last < most else None
            yield await off_loop(len(rows), partial(_visitor_days, (site, day), rows, names))


def _visitor_days(of: tuple[int, int], rows: Iterable[Row], named: Iterable[Row]) -> list[Row]:
    # The first few names of each visitor, in the order in which they were first seen.
    actions: dict[int, dict[int, None]] = defaultdict(dict)
    agents: dict[int, dict[int, None]] = defaultdict(dict)
    for visitor, *names, _ in named:
        for found, name in zip((actions, agents), names, strict=True):
            if name is not None and len(found[visitor]) < NAMES_KEPT:
                found[visitor][name] = None
    return [
        (*of, visitor, *map(int, sums), *(_json(each.get(visitor)) for each in (actions, agents)))
        for visitor, *sums in rows
    ]


def _json(numbers: Iterable[int] | None) -> str:
    return "[" + ",".join(map(str, numbers or ())) + "]"


def _dimension_days(of: tuple[int, int], rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the values that occur most often, and the sum of the others. Rows come most frequent first."""
    for dimension, values in groupby(rows, key=itemgetter(0)):
        named = [(value, int(events)) for _, value, events in values]
        kept = [pair for pair in named if pair[0] != OTHER][:VALUES_KEPT]
        others = sum(events for _, events in named) - sum(events for _, events in kept)
        yield from ((*of, dimension, value, events) for value, events in kept)
        if others:
            yield (*of, dimension, OTHER, others)


def sketch(visitors: Iterable[int]) -> bytes:
    """Return the smallest of a day's visitors, eight bytes each. They are evenly spread, so they show the total."""
    return b"".join(visitor.to_bytes(8, "big") for visitor in visitors)
