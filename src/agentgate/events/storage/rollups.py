"""Roll-ups of ended days in the statistics, and the removal of old days and of a site's events.

A day's roll-ups are replaced in one transaction, so this may be stopped anywhere and done again.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter

from agentgate.events.storage.codes import KIND_CODES, OUTCOME_CODES, STAGE_CODES, unsigned
from agentgate.events.storage.days.days import PACKING, VALUE_TABLE, VALUES, SegmentDays, day_bounds
from agentgate.events.storage.dictionary import OTHER
from agentgate.events.storage.encoding import COUNT_COLUMNS
from agentgate.lib.clock import DAY_MS, HOUR_MS
from agentgate.lib.database import Database, Reader, Row, Transaction
from agentgate.lib.tasks.off_loop import off_loop

HOURS_PER_DAY = DAY_MS // HOUR_MS
# Values of a dimension kept apart for a site and day; the rest is summed under `other`.
VALUES_KEPT = 1_000
# Actions and agents shown of a visitor.
NAMES_KEPT = 20
SKETCH_SIZE = 2_048
ROWS_PER_LOAD = 5_000

HOUR_COLUMNS = ("site", "hour", *COUNT_COLUMNS, "last_event_ms")
SITE_DAY_COLUMNS = ("site", "day", *COUNT_COLUMNS, "last_event_ms", "sources")
DIMENSION_DAY_COLUMNS = ("site", "day", "dimension", "value", "events")
VISITOR_DAY_COLUMNS = (
    *("site", "day", "visitor", "first_id", "last_id", "requests", "allowed", "challenged", "blocked", "dropped"),
    *("monitored", "challenges", "challenges_passed", "actions", "agents"),
)
SKETCH_COLUMNS = ("site", "day", "smallest")

# Everything of which a day has rows, by the column that says which day.
_OF_A_DAY = ("site_day", "dimension_day", "visitor_day", "source_sketch")
_OF_A_SITE = (*_OF_A_DAY, "site_hour", "counter_hour", "feature_vector")

_COUNTED = "sum(requests + challenges_issued + challenges_passed + challenges_failed)"


def _request(condition: str = "") -> str:
    return f"sum(CASE WHEN kind = {KIND_CODES['request']}{condition} THEN 1 ELSE 0 END)"  # type: ignore[index]


def _outcome(name: str) -> str:
    return _request(f" AND outcome = {OUTCOME_CODES[name]}")  # type: ignore[index]


def _stage(name: str) -> str:
    return f"sum(CASE WHEN stage = {STAGE_CODES[name]} THEN 1 ELSE 0 END)"  # type: ignore[index]


# The sums of a visitor, by the names of VISITOR_DAY_COLUMNS. Challenges are those given out.
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
_VISITORS = f"""SELECT visitor, {VISITOR_SUMS} FROM event
    WHERE site = $1 AND id >= $2 AND id < $3 AND visitor IS NOT NULL GROUP BY visitor ORDER BY visitor"""  # noqa: S608
_HOURS = f"SELECT {', '.join(HOUR_COLUMNS)} FROM site_hour WHERE hour >= $1 AND hour < $2 ORDER BY site, hour"  # noqa: S608
_DIMENSIONS = f"""SELECT site, dimension, value, sum(events) FROM {VALUES} WHERE hour >= $1 AND hour < $2
    GROUP BY site, dimension, value ORDER BY site, dimension, sum(events) DESC, value"""  # noqa: S608


def _names(column: str) -> str:
    return f"""SELECT visitor, {column}, min(id) FROM event
        WHERE site = $1 AND id >= $2 AND id < $3 AND visitor IS NOT NULL AND {column} IS NOT NULL
        GROUP BY visitor, {column} ORDER BY 3"""  # noqa: S608


def day_hours(day: int) -> tuple[int, int]:
    """Return the first hour of a day and that of the next, in hours since 1970."""
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
    """Return how many events of a day are counted."""
    row = await segments.session(day).one(
        f"SELECT {_COUNTED} FROM site_hour WHERE hour >= $1 AND hour < $2",  # noqa: S608
        *day_hours(day),
    )
    return int(row[0] or 0) if row else 0


async def forget(stats: Database, segments: SegmentDays, *, events_before_day: int, metrics_before_day: int) -> None:
    """Remove events before `events_before_day`, rolled up first, and aggregates before `metrics_before_day`."""
    # The counts of a day that was never rolled up would be gone for good.
    await close_days(stats, segments, ended_before_ms=events_before_day * DAY_MS, now_ms=events_before_day * DAY_MS)
    for day in await segments.days():
        if day < events_before_day:
            await segments.drop(day)

    async def remove(transaction: Transaction) -> None:
        await transaction.lock(PACKING)
        # Rows of single visitors go with the events; sums stay longer.
        await transaction.run("DELETE FROM visitor_day WHERE day < $1", events_before_day)
        await transaction.run("DELETE FROM site_hour WHERE hour < $1", events_before_day * HOURS_PER_DAY)
        if segments.hours_in_stats:
            await transaction.run(f"DELETE FROM {VALUE_TABLE} WHERE hour < $1", events_before_day * HOURS_PER_DAY)  # noqa: S608
        await transaction.run("DELETE FROM counter_hour WHERE hour < $1", metrics_before_day * HOURS_PER_DAY)
        for table in (*_OF_A_DAY, "segment"):
            await transaction.run(f"DELETE FROM {table} WHERE day < $1", metrics_before_day)  # noqa: S608

    await stats.transaction(remove)


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
        # Counts that are put together at the same time would be written anew.
        await transaction.lock(PACKING)
        for table in segments.layout.event_tables:
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
    session = segments.session(day)
    hours = await session.all(_HOURS, *day_hours(day))
    dimensions = await session.all(_DIMENSIONS, *day_hours(day))
    site_days: list[Row] = []
    visitors: list[Row] = []
    sketches: list[Row] = []
    for site, rows in groupby(hours, key=itemgetter(0)):
        of_site = await _read_visitors(session, site, day)
        visitors += of_site
        site_days.append(_site_day(site, day, list(rows), sources=len(of_site)))
        smallest = await off_loop(len(of_site), partial(_sketch_of, of_site))
        sketches.append((site, day, smallest))
    dimension_days = await off_loop(len(dimensions), lambda: list(_dimension_days(day, dimensions)))

    async def replace(transaction: Transaction) -> None:
        await transaction.lock("close-day", str(day))
        await _remove_day(transaction, day)
        if not segments.hours_in_stats:
            await transaction.run("DELETE FROM site_hour WHERE hour >= $1 AND hour < $2", *day_hours(day))
            await _load(transaction, "site_hour", HOUR_COLUMNS, hours)
        await _load(transaction, "site_day", SITE_DAY_COLUMNS, site_days)
        await _load(transaction, "dimension_day", DIMENSION_DAY_COLUMNS, dimension_days)
        await _load(transaction, "visitor_day", VISITOR_DAY_COLUMNS, visitors)
        await _load(transaction, "source_sketch", SKETCH_COLUMNS, sketches)
        await transaction.load("segment", ("day", "events", "closed_ms"), [(day, *line)])

    await stats.transaction(replace)


async def _remove_day(transaction: Transaction, day: int) -> None:
    """Remove the roll-ups of a day, site by site: by the day alone, no index finds them."""
    for (site,) in await transaction.all("SELECT site FROM site_day WHERE day = $1", day):
        for table in _OF_A_DAY:
            await transaction.run(f"DELETE FROM {table} WHERE site = $1 AND day = $2", site, day)  # noqa: S608
    await transaction.run("DELETE FROM segment WHERE day = $1", day)


async def _load(transaction: Transaction, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
    for start in range(0, len(rows), ROWS_PER_LOAD):
        await transaction.load(table, columns, rows[start : start + ROWS_PER_LOAD])


def _site_day(site: int, day: int, hours: Sequence[Row], *, sources: int) -> Row:
    columns = list(zip(*hours, strict=True))
    return (site, day, *map(sum, columns[2:-1]), max(columns[-1]), sources)


async def _read_visitors(session: Reader, site: int, day: int) -> list[Row]:
    bounds = (site, *day_bounds(day))
    rows = await session.all(_VISITORS, *bounds)
    actions = await session.all(_names("action"), *bounds)
    agents = await session.all(_names("agent"), *bounds)
    return await off_loop(len(rows), lambda: _visitor_days((site, day), rows, actions, agents))


def _visitor_days(of: tuple[int, int], rows: Iterable[Row], actions: Iterable[Row], agents: Iterable[Row]) -> list[Row]:
    names = _numbers_by_visitor(actions), _numbers_by_visitor(agents)
    return [(*of, visitor, *map(int, sums), *(_json(each.get(visitor)) for each in names)) for visitor, *sums in rows]


def _sketch_of(visitors: Iterable[Row]) -> bytes:
    return sketch(unsigned(row[2]) for row in visitors)


def _numbers_by_visitor(rows: Iterable[Row]) -> dict[int, list[int]]:
    """Return the first few numbers of each visitor, in the order in which they were first seen."""
    found: dict[int, list[int]] = defaultdict(list)
    for visitor, number, _ in rows:
        if len(found[visitor]) < NAMES_KEPT:
            found[visitor].append(number)
    return found


def _json(numbers: Iterable[int] | None) -> str:
    return "[" + ",".join(map(str, numbers or ())) + "]"


def _dimension_days(day: int, rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the values that occur most often, and the sum of the others. Rows come most frequent first."""
    for (site, dimension), values in groupby(rows, key=itemgetter(0, 1)):
        named = [(value, int(events)) for _, _, value, events in values]
        kept = [pair for pair in named if pair[0] != OTHER][:VALUES_KEPT]
        others = sum(events for _, events in named) - sum(events for _, events in kept)
        yield from ((site, day, dimension, value, events) for value, events in kept)
        if others:
            yield (site, day, dimension, OTHER, others)


def sketch(visitors: Iterable[int]) -> bytes:
    """Return the smallest of a day's visitors, eight bytes each. They are spread evenly, so these tell how many."""
    return b"".join(visitor.to_bytes(8, "big") for visitor in heapq.nsmallest(SKETCH_SIZE, visitors))
