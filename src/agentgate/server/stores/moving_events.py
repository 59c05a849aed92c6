"""From the embedded databases or PostgreSQL to ClickHouse: the events, day by day, and what is left of earlier days.

A day is copied in portions, each under a token that follows from its rows. So a copy that was interrupted goes on where
it was, and a portion whose answer was lost is not there twice. At last every day is read back and compared.
"""

import struct
from collections.abc import Sequence

import msgspec

from agentgate.events.storage.clickhouse import schema
from agentgate.events.storage.clickhouse.days import ClickhouseDays
from agentgate.events.storage.clickhouse.events import lines_of, token_of
from agentgate.events.storage.codes import signed
from agentgate.events.storage.days.days import EventDays, day_bounds, day_name
from agentgate.events.storage.encoding import COUNT_COLUMNS, WIDE_COLUMNS
from agentgate.lib.database import Reader, Row
from agentgate.server.stores.moving import CopyRefused, MovedTable, Progress, Sum, agreed, read_rows, sum_of
from agentgate.storage.clickhouse.client import ClickhouseClient

EVENTS = MovedTable("event", WIDE_COLUMNS, ("site", "id"))
_WITHIN = "id >= $1 AND id < $2"
_SITE, _ID = WIDE_COLUMNS.index("site"), WIDE_COLUMNS.index("id")
# Daily aggregates become those of the day's first hour: of days without events nobody asks for an hour.
_SITE_DAYS = f"""SELECT site, day * 24, {", ".join(COUNT_COLUMNS)}, last_event_ms FROM site_day
    WHERE day = $1 ORDER BY site"""  # noqa: S608 - names of our own schema
_VALUE_DAYS = """SELECT site, day * 24, dimension, value, events FROM dimension_day
    WHERE day = $1 ORDER BY site, dimension, value"""
_SKETCHES = "SELECT site, smallest FROM source_sketch WHERE day = $1 ORDER BY site"
_IN_TARGET = (
    "SELECT count() FROM event WHERE id >= $1 AND id < $2 AND (site, id) >= ($3, $4) AND (site, id) <= ($5, $6)"
)

_to_lines = msgspec.json.Encoder().encode_lines


async def copy_events(
    stats: Reader, source: EventDays, client: ClickhouseClient, target: ClickhouseDays, progress: Progress
) -> dict[str, Sum]:
    """Copy all days of events, compare each, and return what was compared; then the aggregates of days without any."""
    compared: dict[str, Sum] = {}
    days = await source.days()
    for day in days:
        compared[day_name(day)] = copied = await _copy_day(source.session(day), client, day)
        progress(day_name(day), copied.rows)
    for (day,) in await stats.all("SELECT DISTINCT day FROM site_day ORDER BY day"):
        if day not in days and day not in await target.partitions(schema.SITE_HOUR):
            compared[f"{day_name(day)} aggregates"] = copied = await _copy_aggregates(stats, client, day)
            progress(f"{day_name(day)} aggregates", copied.rows)
    return compared


async def _copy_day(source: Reader, client: ClickhouseClient, day: int) -> Sum:
    bounds = day_bounds(day)
    wanted = await sum_of(read_rows(source, EVENTS, _WITHIN, *bounds))
    if await sum_of(read_rows(client, EVENTS, _WITHIN, *bounds)) == wanted:
        return wanted
    async for rows in read_rows(source, EVENTS, _WITHIN, *bounds):
        if rows:
            await _copy_portion(client, bounds, rows)
    return agreed(day_name(day), wanted, await sum_of(read_rows(client, EVENTS, _WITHIN, *bounds)))


async def _copy_portion(client: ClickhouseClient, bounds: tuple[int, int], rows: Sequence[Row]) -> None:
    """Insert a portion unless it is there. A portion is one insert, hence there as a whole or not at all."""
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
    """Copy what is left of a day whose events are gone. Its hours come last: they say that the day is there."""
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
        raise CopyRefused(f"the aggregates of {day_name(day)} are not those of the source; give an empty database")
    return Sum(len(values) + len(visitors) + len(hours), 0)


async def _insert(
    client: ClickhouseClient, table: str, columns: Sequence[str], rows: Sequence[Row], token: str
) -> None:
    if rows:
        await client.insert(table, columns, _to_lines([list(row) for row in rows]), token=token)
