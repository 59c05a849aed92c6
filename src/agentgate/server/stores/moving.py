"""Copies embedded databases to PostgreSQL, one transaction per table and day of events; and events to ClickHouse.

Data that already exists and is equal is not copied again, so an interrupted copy continues where it stopped. The
service's keys come last: a database that has keys is in use, and nothing is ever copied over it.
"""

import hashlib
import struct
from collections.abc import AsyncIterator, Callable, Sequence
from typing import NamedTuple

import msgspec

from agentgate.events.storage.clickhouse import schema
from agentgate.events.storage.clickhouse.days import ClickhouseDays
from agentgate.events.storage.clickhouse.events import lines_of, token_of
from agentgate.events.storage.codes import signed
from agentgate.events.storage.days.days import EventDays, SegmentDays, day_bounds, day_name
from agentgate.events.storage.days.postgres import PostgresSegments
from agentgate.events.storage.days.sqlite import SqliteSegments
from agentgate.events.storage.encoding import ARRAY_COLUMNS, COUNT_COLUMNS, SITE_HOUR, WIDE_COLUMNS, value_key
from agentgate.lib.clock import DAY_MS, HOUR_MS
from agentgate.lib.database import Database, Reader, Row, Transaction, Value
from agentgate.server.stores.open import CONFIG, HOT, STATS, Stores
from agentgate.storage.clickhouse.client import ClickhouseClient

ROWS = 5_000
KEYS = "service_key"
HOURS_PER_DAY = DAY_MS // HOUR_MS
# Of SQLite itself, and of the migrations: PostgreSQL has its own.
_NOT_COPIED = ("schema_migration", "sqlite_sequence", "sqlite_stat1", "sqlite_stat4")
_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid"
_COLUMNS = "SELECT name, pk FROM pragma_table_info($1) ORDER BY cid"
_MODULUS = 1 << 128

# Told the name of a table or a day, and how many rows it has.
NoteProgress = Callable[[str, int], None]
_encode = msgspec.msgpack.encode
_to_lines = msgspec.json.Encoder().encode_lines


class CopyRefused(Exception):  # noqa: N818 - told in one line, not a fault
    """The copy is impossible, or differs from the source. The message explains why."""


class MovedTable(NamedTuple):
    """A table of either store: its columns, and the columns of its primary key."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]


class Sum(NamedTuple):
    """How many rows there are, and a checksum that does not depend on their order."""

    rows: int
    checksum: int


EVENTS = MovedTable("event", WIDE_COLUMNS, ("site", "id"))
_WITHIN = "id >= $1 AND id < $2"
_SITE, _ID = WIDE_COLUMNS.index("site"), WIDE_COLUMNS.index("id")
# Store daily aggregates as the aggregates of the day's first hour: queries by hour do not cover days without events.
_SITE_DAYS = f"""SELECT site, day * 24, {", ".join(COUNT_COLUMNS)}, last_event_ms FROM site_day
    WHERE day = $1 ORDER BY site"""  # noqa: S608 - names of our own schema
_VALUE_DAYS = """SELECT site, day * 24, dimension, value, events FROM dimension_day
    WHERE day = $1 ORDER BY site, dimension, value"""
_SKETCHES = "SELECT site, smallest FROM source_sketch WHERE day = $1 ORDER BY site"
_IN_TARGET = (
    "SELECT count() FROM event WHERE id >= $1 AND id < $2 AND (site, id) >= ($3, $4) AND (site, id) <= ($5, $6)"
)


async def copy_stores(source: Stores, target: Stores, progress: NoteProgress) -> dict[str, Sum]:
    """Copy everything, and compare every table and day; return what was compared."""
    await _check_target(target)
    compared: dict[str, Sum] = {}
    sets = [(name, await _tables(source.databases[name])) for name in (STATS, CONFIG, HOT)]
    # What migrations put into a new database, such as the first row of a counter. Children first.
    for name, tables in reversed(sets):
        for table in reversed([each for each in tables if each.name != SITE_HOUR.table]):
            await _empty_unless_equal(source.databases[name], target.databases[name], table)
    days_from, days_to = _segments(source), _segments(target)
    days = await days_from.days()
    for name, tables in sets:
        for table in tables:
            if table.name != KEYS:
                keep = _outside(days) if table.name == SITE_HOUR.table else None
                copied = await _copy_table(source.databases[name], target.databases[name], table, keep)
                compared[table.name] = copied
                progress(table.name, copied.rows)
    for day in days:
        compared[day_name(day)] = copied = await _copy_day(days_from, days_to, day)
        progress(day_name(day), copied.rows)
    for (day,) in await source.databases[STATS].all("SELECT day FROM segment ORDER BY day"):
        await days_to.index(day)
    await _go_on_counting(target.databases[CONFIG])
    keys = next(table for table in dict(sets)[CONFIG] if table.name == KEYS)
    compared[KEYS] = await _copy_table(source.databases[CONFIG], target.databases[CONFIG], keys, None)
    progress(KEYS, compared[KEYS].rows)
    return compared


def _segments(stores: Stores) -> SegmentDays:
    """Return the days of events in the main storage: `copy` does not include ClickHouse."""
    assert isinstance(stores.segments, SqliteSegments | PostgresSegments), "opened without AGENTGATE_EVENTS_URL"
    return stores.segments


async def _check_target(target: Stores) -> None:
    used = await target.databases[CONFIG].one(f"SELECT count(*) FROM {KEYS}")  # noqa: S608 - a name of our own schema
    if used is not None and used[0]:
        raise CopyRefused("the target is already in use and has keys; give an empty database")


async def _tables(database: Database) -> list[MovedTable]:
    tables = []
    for (name,) in await database.all(_TABLES):
        if name not in _NOT_COPIED:
            columns = await database.all(_COLUMNS, name)
            key = [column for _, column in sorted((pk, column) for column, pk in columns if pk)]
            tables.append(MovedTable(name, tuple(column for column, _ in columns), tuple(key)))
    return tables


async def read_rows(session: Reader, table: MovedTable, where: str = "", *values: Value) -> AsyncIterator[list[Row]]:
    """Read a table in portions, in the order of its key."""
    named = ", ".join(table.columns)
    if not table.key:
        yield await session.all(f"SELECT {named} FROM {table.name}")  # noqa: S608 - names of our own schema
        return
    places = [table.columns.index(column) for column in table.key]
    key = ", ".join(table.key)
    last: Sequence[Value] | None = None
    while True:
        marks = ", ".join(f"${len(values) + number}" for number in range(1, len(places) + 1))
        conditions = [each for each in (where, "" if last is None else f"({key}) > ({marks})") if each]
        text = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        rows = await session.all(
            f"SELECT {named} FROM {table.name} {text} ORDER BY {key} LIMIT {ROWS}",  # noqa: S608 - likewise
            *values,
            *(last or ()),
        )
        yield rows
        if len(rows) < ROWS:
            return
        last = [rows[-1][place] for place in places]


async def sum_of(portions: AsyncIterator[list[Row]], keep: Callable[[Row], bool] | None = None) -> Sum:
    """Count rows and add up their hashes."""
    count = checksum = 0
    async for rows in portions:
        for row in rows:
            if keep is None or keep(row):
                count += 1
                checksum += int.from_bytes(hashlib.blake2b(_encode(row), digest_size=16).digest(), "big")
    return Sum(count, checksum % _MODULUS)


def _outside(days: Sequence[int]) -> Callable[[Row], bool]:
    """Return a filter for the hours outside of these days: the hours of these days come with the days' events."""
    known = frozenset(days)
    return lambda row: row[1] // HOURS_PER_DAY not in known


async def _empty_unless_equal(source: Database, target: Database, table: MovedTable) -> None:
    if await sum_of(read_rows(source, table)) != await sum_of(read_rows(target, table)):
        await target.run(f"DELETE FROM {table.name}")  # noqa: S608 - likewise


async def _copy_table(source: Database, target: Database, table: MovedTable, keep: Callable[[Row], bool] | None) -> Sum:
    wanted = await sum_of(read_rows(source, table), keep)
    there = await sum_of(read_rows(target, table), keep)
    if there == wanted:
        return wanted

    async def copy(transaction: Transaction) -> None:
        async for rows in read_rows(source, table):
            await transaction.load(table.name, table.columns, [row for row in rows if keep is None or keep(row)])

    await target.transaction(copy)
    return agreed(table.name, wanted, await sum_of(read_rows(target, table), keep))


async def _copy_day(source: SegmentDays, target: SegmentDays, day: int) -> Sum:
    bounds = day_bounds(day)
    session = source.session(day)
    wanted = await sum_of(read_rows(session, EVENTS, _WITHIN, *bounds))
    there = await sum_of(read_rows(target.session(day), EVENTS, _WITHIN, *bounds))
    if there == wanted:
        return wanted
    if there.rows:
        raise CopyRefused(f"the target has other events of {day_name(day)}; give an empty database")

    async def copy(transaction: Transaction) -> None:
        async for rows in read_rows(session, EVENTS, _WITHIN, *bounds):
            await transaction.load(EVENTS.name, WIDE_COLUMNS, rows)
        hours = await session.all(f"SELECT {', '.join(SITE_HOUR.columns)} FROM {SITE_HOUR.table}")  # noqa: S608
        await transaction.load(SITE_HOUR.table, SITE_HOUR.columns, hours)
        await transaction.load("dimension_pack", ARRAY_COLUMNS, await _counts_by_value(session))

    await target.write(day, copy)
    return agreed(day_name(day), wanted, await sum_of(read_rows(target.session(day), EVENTS, _WITHIN, *bounds)))


async def _counts_by_value(session: Reader) -> list[Row]:
    """Return what is counted by value as PostgreSQL has it: a row for each hour of a site."""
    found: dict[tuple[int, int], dict[int, int]] = {}
    counts = "SELECT site, hour, dimension, value, events FROM dimension_hour ORDER BY site, hour, dimension, value"
    for site, hour, dimension, value, events in await session.all(counts):
        found.setdefault((site, hour), {})[value_key(dimension, value)] = events
    return [
        (site, hour, "{" + ",".join(map(str, values)) + "}", "{" + ",".join(map(str, values.values())) + "}")
        for (site, hour), values in found.items()
    ]


async def _go_on_counting(config: Database) -> None:
    """Continue the audit trail's numbers after the copied ones."""
    await config.all(
        "SELECT setval(pg_get_serial_sequence('audit_entry', 'id'), greatest(max(id), 1), max(id) IS NOT NULL)"
        " FROM audit_entry"
    )


def agreed(name: str, wanted: Sum, found: Sum) -> Sum:
    """Return the sum if source and target agree; otherwise raise CopyRefused."""
    if found != wanted:
        raise CopyRefused(
            f"{name} has {found.rows} rows in the target, which differ from the {wanted.rows} in the source"
        )
    return found


async def copy_events(
    stats: Reader, source: EventDays, client: ClickhouseClient, target: ClickhouseDays, progress: NoteProgress
) -> dict[str, Sum]:
    """Copy all days of events to ClickHouse and compare each, then the aggregates of days without any.

    A day is copied in portions, each under a token that is derived from its rows: if the response to a portion is lost,
    a retry does not insert it twice. Return what was compared.
    """
    compared: dict[str, Sum] = {}
    days = await source.days()
    for day in days:
        compared[day_name(day)] = copied = await _copy_day_of_events(source.session(day), client, day)
        progress(day_name(day), copied.rows)
    for (day,) in await stats.all("SELECT DISTINCT day FROM site_day ORDER BY day"):
        if day not in days and day not in await target.partitions(schema.SITE_HOUR):
            compared[f"{day_name(day)} aggregates"] = copied = await _copy_aggregates(stats, client, day)
            progress(f"{day_name(day)} aggregates", copied.rows)
    return compared


async def _copy_day_of_events(source: Reader, client: ClickhouseClient, day: int) -> Sum:
    bounds = day_bounds(day)
    wanted = await sum_of(read_rows(source, EVENTS, _WITHIN, *bounds))
    if await sum_of(read_rows(client, EVENTS, _WITHIN, *bounds)) == wanted:
        return wanted
    async for rows in read_rows(source, EVENTS, _WITHIN, *bounds):
        if rows:
            await _copy_portion(client, bounds, rows)
    return agreed(day_name(day), wanted, await sum_of(read_rows(client, EVENTS, _WITHIN, *bounds)))


async def _copy_portion(client: ClickhouseClient, bounds: tuple[int, int], rows: Sequence[Row]) -> None:
    """Insert a portion unless it exists. A portion is one insert, hence it exists completely or not at all."""
    first, last = rows[0], rows[-1]
    found = await client.one(_IN_TARGET, *bounds, first[_SITE], first[_ID], last[_SITE], last[_ID])
    there = 0 if found is None else int(found[0])
    if there == len(rows):
        return
    if there:
        raise CopyRefused("ClickHouse has other events of the same time; give an empty database")
    token = token_of([(row[_SITE], row[_ID]) for row in rows])
    await client.insert(EVENTS.name, WIDE_COLUMNS, lines_of(rows), token=token)


async def _copy_aggregates(stats: Reader, client: ClickhouseClient, day: int) -> Sum:
    """Copy the aggregates of a day whose events are deleted. Its hours come last: they mark the day as copied."""
    values = await stats.all(_VALUE_DAYS, day)
    visitors = [
        (site, day, [signed(number) for number in struct.unpack(f">{len(smallest) // 8}Q", smallest)])
        for site, smallest in await stats.all(_SKETCHES, day)
    ]
    hours = await stats.all(_SITE_DAYS, day)
    columns = ("site", "hour", "dimension", "value", "events")
    await _insert(client, schema.VALUE_HOUR.name, columns, values, f"values-{day}")
    for site, _, numbers in visitors:
        await client.run(
            f"""INSERT INTO {schema.SOURCE_DAY.name} (site, day, sources) SELECT toInt32({site:d}), toInt32({day:d}),
                {schema.SOURCES_STATE}(arrayJoin(CAST({numbers!r}, 'Array(Int64)')))""",
            insert_deduplication_token=f"sources-{day}-{site}",
        )
    await _insert(
        client, schema.SITE_HOUR.name, ("site", "hour", *COUNT_COLUMNS, "last_event_ms"), hours, f"hours-{day}"
    )
    found = await client.all(
        f"SELECT site, hour, {', '.join(COUNT_COLUMNS)}, last_event_ms FROM site_hour WHERE hour = $1 ORDER BY site",  # noqa: S608
        day * 24,
    )
    if found != [tuple(row) for row in hours]:
        raise CopyRefused(f"the aggregates of {day_name(day)} differ from the source; give an empty database")
    return Sum(len(values) + len(visitors) + len(hours), 0)


async def _insert(
    client: ClickhouseClient, table: str, columns: Sequence[str], rows: Sequence[Row], token: str
) -> None:
    if rows:
        await client.insert(table, columns, _to_lines([list(row) for row in rows]), token=token)
