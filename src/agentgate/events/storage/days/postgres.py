"""PostgresSegments: a partition of `event` for each UTC day, in the one database.

A partition is made apart and then attached, which readers and writers of other days hardly notice. What finds rare
values in it is made when the day has ended, and not while events wait to be written.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import TypeVar

from agentgate.events.storage.days.days import (
    MERGING,
    VALUE_TABLE,
    Dimensioned,
    HourCounts,
    SegmentDays,
    day_bounds,
    day_name,
)
from agentgate.events.storage.encoding import ARRAY_COLUMNS, WIDE_COLUMNS, EncodedEvents, value_key
from agentgate.lib.clock import DAY_MS
from agentgate.lib.database import Reader, Transaction, Value
from agentgate.storage.postgres.database import PostgresDatabase, PostgresTransaction

T = TypeVar("T")

EVENT = "event"
# The labels of an event as the index over them has them: `17:1` is label 17 on site 1.
LABEL_TERMS = """(string_to_array(replace(btrim(labels, '[]'), ',', ':' || site::text || ',') || ':' || site::text, ',')
    COLLATE "C")"""

_PARTITIONS = """SELECT child.relname FROM pg_catalog.pg_inherits
    JOIN pg_catalog.pg_class child ON child.oid = inhrelid
    WHERE inhparent = to_regclass($1) ORDER BY child.relname"""
_PARTITION_NAME = re.compile(r"event_(\d{4})_(\d{2})_(\d{2})")
# Late events wait until the indexes exist, and are retried if that takes too long.
_INDEX = """SET LOCAL statement_timeout = '1h';
    CREATE INDEX IF NOT EXISTS {name}_by_action ON {name} (site, action, id) WHERE action IS NOT NULL;
    CREATE INDEX IF NOT EXISTS {name}_by_label ON {name} USING gin ({terms});
    ANALYZE {name};"""
# So many hours of sites in one go, to be done in time on a busy server too.
_MERGED_TOGETHER = 100
# In one statement, so that a reader sees the rows either apart or together.
_MERGE = f"""WITH several AS (
        SELECT site, hour FROM dimension_pack GROUP BY site, hour HAVING count(*) > 1 LIMIT {_MERGED_TOGETHER}),
    apart AS (
        DELETE FROM dimension_pack USING several
        WHERE dimension_pack.site = several.site AND dimension_pack.hour = several.hour
        RETURNING dimension_pack.site, dimension_pack.hour, keys, counts),
    counted AS (
        SELECT site, hour, key, sum(events) AS events
        FROM apart, unnest(keys::INTEGER[], counts::BIGINT[]) AS listed (key, events) GROUP BY site, hour, key)
    INSERT INTO dimension_pack (site, hour, keys, counts)
        SELECT site, hour, '{{' || string_agg(key::text, ',') || '}}', '{{' || string_agg(events::text, ',') || '}}'
        FROM counted GROUP BY site, hour"""  # noqa: S608


_COUNTS = "SELECT hour, keys, counts FROM dimension_pack WHERE site = $1 AND hour >= $2 AND hour < $3"


class PostgresSegments(SegmentDays):
    """Partitions of a database that holds everything else too. An event is one wide row; there is one `site_hour`."""

    hours_in_stats = True
    # Labels and actions are indexed when a day is closed.
    indexed = frozenset(("visitor", "outcome", "would", "stage", "rule", "action", "label"))
    # Planning a statement takes longer than looking a rare value up.
    found_together = frozenset(("visitor", "label"))
    # The first condition rules out most rows, and the queries in brackets run once.
    has_label = """labels LIKE (SELECT '%' || ({0})::BIGINT::TEXT || '%')
        AND translate(labels, '[]', ',,') LIKE (SELECT '%,' || ({0})::BIGINT::TEXT || ',%')"""
    # PostgreSQL writes arrays in braces.
    values = "trim(both '{}' from keys), trim(both '{}' from counts)"
    # One statement for any number of them, which the server then knows already.
    visitors_together = 1 << 20

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._known: set[int] = set()

    def session(self, day: int) -> Reader:  # noqa: ARG002 - the bounds in the SQL say which day is meant
        """Return the database: it finds the partition by the bounds on the ID."""
        return self._database

    async def days(self) -> list[int]:
        names = [_PARTITION_NAME.fullmatch(name) for (name,) in await self._database.all(_PARTITIONS, EVENT)]
        return [_day_of(*map(int, match.groups())) for match in names if match]

    async def write(self, day: int, work: Callable[[Transaction], Awaitable[T]]) -> T:
        if day not in self._known:
            await self._database.transaction(lambda transaction: _make(transaction, day))
            self._known.add(day)
        try:
            return await self._database.transaction(work)
        except BaseException:
            # Perhaps the day was dropped elsewhere; the next attempt looks.
            self._known.discard(day)
            raise

    async def merge_counts(self) -> None:
        """Merge the counts that several batches wrote of a site's hour."""

        async def merge(transaction: Transaction) -> int:
            # Two transactions would wait for rows of each other.
            await transaction.lock(MERGING)
            return await transaction.run(_MERGE)

        while await self._database.transaction(merge) == _MERGED_TOGETHER:
            pass

    async def insert(self, transaction: Transaction, encoded: EncodedEvents) -> Callable[[], None]:
        await transaction.load(EVENT, WIDE_COLUMNS, encoded.wide())
        await transaction.load(VALUE_TABLE, ARRAY_COLUMNS, encoded.arrays())
        return _nothing

    def of_visitors(self, visitors: Sequence[int]) -> tuple[str, Sequence[Value]]:
        return "visitor = ANY ($4::TEXT::BIGINT[])", ("{" + ",".join(map(str, visitors)) + "}",)

    async def count_by_hour(self, day: int, site: int, values: Iterable[Dimensioned]) -> dict[Dimensioned, HourCounts]:
        rows = await self._database.all(_COUNTS, site, day * 24, day * 24 + 24)
        found: dict[Dimensioned, HourCounts] = {value: {} for value in values}
        wanted = {str(value_key(*value)): hours for value, hours in found.items()}
        for hour, keys, counts in rows:
            listed = keys[1:-1].split(",")
            for key, hours in wanted.items():
                if key in listed:
                    hours[hour] = hours.get(hour, 0) + int(counts[1:-1].split(",")[listed.index(key)])
        return found

    async def narrow(
        self,
        day: int,  # noqa: ARG002 - indexes and the counts of hours are enough
        site: int,  # noqa: ARG002
        words: Sequence[int],  # noqa: ARG002
        conditions: Sequence[tuple[str, int]],  # noqa: ARG002
    ) -> None:
        return None

    async def index(self, day: int) -> None:
        """Make the indexes that only a closed day has. Late events are added to them as usual."""

        async def index(transaction: PostgresTransaction) -> None:
            await transaction.lock("event-partitions")
            if await _exists(transaction, _partition(day)):
                await transaction.script(_INDEX.format(name=_partition(day), terms=LABEL_TERMS))

        await self._database.transaction(index)

    async def drop(self, day: int) -> None:
        """Remove a day's partition."""
        self._known.discard(day)
        await self._database.run(f"DROP TABLE IF EXISTS {_partition(day)}")


def _nothing() -> None:
    """Do nothing after a commit."""


async def _make(transaction: Transaction, day: int) -> None:
    await transaction.lock("event-partitions")
    least, end = day_bounds(day)
    name = _partition(day)
    if not await _exists(transaction, name):
        await transaction.run(f"CREATE TABLE {name} (LIKE {EVENT} INCLUDING ALL)")
        await transaction.run(f"ALTER TABLE {EVENT} ATTACH PARTITION {name} FOR VALUES FROM ({least}) TO ({end})")


async def _exists(transaction: Transaction, name: str) -> bool:
    row = await transaction.one("SELECT to_regclass($1) IS NOT NULL", name)
    return row is not None and bool(row[0])


def _partition(day: int) -> str:
    return f"{EVENT}_{day_name(day).replace('-', '_')}"


def _day_of(year: int, month: int, day: int) -> int:
    return int(datetime(year, month, day, tzinfo=UTC).timestamp()) * 1000 // DAY_MS
