"""PostgresSegments: partitions of `event` and `event_label` for each UTC day, in the one database.

A partition is made apart and then attached, which readers and writers of other days hardly notice.
"""

import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TypeVar

from agentgate.core.clock import DAY_MS, Clock
from agentgate.core.database import Session, Transaction
from agentgate.store.databases.postgres import PostgresDatabase
from agentgate.store.segments.segments import day_bounds, day_name

T = TypeVar("T")

TABLES = ("event", "event_label")
_PARTITIONS = """SELECT child.relname FROM pg_catalog.pg_inherits
    JOIN pg_catalog.pg_class child ON child.oid = inhrelid
    WHERE inhparent = to_regclass($1) ORDER BY child.relname"""
_PARTITION_NAME = re.compile(r"event_(\d{4})_(\d{2})_(\d{2})")


class PostgresSegments:
    """Implements Segments over a database that holds everything else too."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._known: set[int] = set()

    @property
    def hours_in_stats(self) -> bool:
        """There is one `site_hour`, that of the statistics."""
        return True

    def session(self, day: int) -> Session:  # noqa: ARG002 - the bounds in the SQL say which day is meant
        """Return the database: it finds the partition by the bounds on the ID."""
        return self._database

    async def days(self) -> list[int]:
        """Return the days that exist, oldest first."""
        names = [_PARTITION_NAME.fullmatch(name) for (name,) in await self._database.all(_PARTITIONS, "event")]
        return [_day_of(*map(int, match.groups())) for match in names if match]

    async def write(self, day: int, work: Callable[[Transaction], Awaitable[T]]) -> T:
        """Run a unit of work in one transaction on a day, which is made when it is missing."""
        if day not in self._known:
            await self._database.transaction(lambda transaction: _make(transaction, day))
            self._known.add(day)
        try:
            return await self._database.transaction(work)
        except BaseException:
            # Perhaps the day was dropped elsewhere; the next attempt looks.
            self._known.discard(day)
            raise

    async def drop(self, day: int) -> None:
        """Remove a day's partitions, each by itself: two locks held together could wait for a writer crosswise."""
        self._known.discard(day)
        for table in reversed(TABLES):
            await self._database.run(f"DROP TABLE IF EXISTS {_partition(table, day)}")

    async def migrate(self, clock: Clock) -> None:
        """Do nothing: the partitioned tables are migrated with the database, and their partitions follow them."""

    async def close(self) -> None:
        """Do nothing: the database is closed by whoever opened it."""


async def _make(transaction: Transaction, day: int) -> None:
    await transaction.lock("event-partitions")
    least, end = day_bounds(day)
    for table in TABLES:
        name = _partition(table, day)
        row = await transaction.one("SELECT to_regclass($1) IS NOT NULL", name)
        if row is not None and not row[0]:
            await transaction.run(f"CREATE TABLE {name} (LIKE {table} INCLUDING ALL)")
            await transaction.run(
                f"ALTER TABLE {table} ATTACH PARTITION {name} FOR VALUES FROM ({least}) TO ({end})",
            )


def _partition(table: str, day: int) -> str:
    return f"{table}_{day_name(day).replace('-', '_')}"


def _day_of(year: int, month: int, day: int) -> int:
    return int(datetime(year, month, day, tzinfo=UTC).timestamp()) * 1000 // DAY_MS
