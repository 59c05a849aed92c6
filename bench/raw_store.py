"""The baseline of `bench.siteverify`: the raw store, and below it the driver alone.

The store is the service's own, whose callers share commits; each awaits its result. The driver has none of the
service's code: all pending callers share one plain statement or transaction, one group after the other, and each learns
whether it was first.
"""

import asyncio
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path

import apsw
import asyncpg

from agentgate.browser_check.tokens.repository import Redemption, RedemptionStore

SITE = "st_raw"
DAY_MS = 86_400_000
_COLUMNS = "site_id, receipt_id, request_id, answer, kept_until_ms"
_FIRST = "ON CONFLICT DO NOTHING RETURNING receipt_id"

# Siteverify keeps no response for a browser token.
RawRow = tuple[str, str, str, None, int]


class Driver(ABC):
    """A database into which callers put rows that must be new. The table is the service's own."""

    @abstractmethod
    async def insert(self, rows: list[RawRow]) -> set[str]:
        """Insert the rows that are new, durably; return their receipts."""

    @abstractmethod
    async def count_redeemed(self) -> int:
        """Return how many rows the service has put."""

    @abstractmethod
    async def close(self) -> None:
        """Let go of it."""


class PostgresDriver(Driver):
    """One connection of asyncpg."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection

    async def insert(self, rows: list[RawRow]) -> set[str]:
        """Insert by one statement, with an array for each column."""
        arrays = "unnest($1::text[], $2::text[], $3::text[], $4::bytea[], $5::bigint[])"
        statement = f"INSERT INTO redemption ({_COLUMNS}) SELECT * FROM {arrays} {_FIRST}"
        return {row[0] for row in await self._connection.fetch(statement, *zip(*rows, strict=True))}

    async def count_redeemed(self) -> int:
        """Count them."""
        return int(await self._connection.fetchval("SELECT count(*) FROM redemption WHERE site_id <> $1", SITE))

    async def close(self) -> None:
        """Close the connection."""
        await self._connection.close()


class SqliteDriver(Driver):
    """A connection of apsw, in the event loop: nothing else runs there, and a thread would only cost."""

    def __init__(self, path: Path) -> None:
        self._connection = apsw.Connection(str(path))
        self._connection.set_busy_timeout(1_000)
        self._connection.pragma("synchronous", "FULL")

    async def insert(self, rows: list[RawRow]) -> set[str]:
        """Insert in one transaction."""
        statement = f"INSERT INTO redemption ({_COLUMNS}) VALUES (?, ?, ?, ?, ?) {_FIRST}"
        self._connection.execute("BEGIN IMMEDIATE")
        first = {str(row[0]) for row in self._connection.executemany(statement, rows)}
        self._connection.execute("COMMIT")
        return first

    async def count_redeemed(self) -> int:
        """Count them."""
        [(count,)] = self._connection.execute("SELECT count(*) FROM redemption WHERE site_id <> ?", (SITE,))
        return int(str(count))

    async def close(self) -> None:
        """Close the connection."""
        self._connection.close()


async def spend_in_store(store: RedemptionStore, count: int, *, in_flight: int) -> float:
    """Let so many callers spend so many receipts in the service's store; return how many a second."""
    receipts, issued_ms = _receipts(count), int(time.time() * 1000)
    kept_until_ms = issued_ms + DAY_MS

    async def put() -> None:
        for receipt in receipts:
            redemption = Redemption(f"r-{receipt}")
            assert await store.spend(SITE, receipt, redemption, issued_ms=issued_ms, kept_until_ms=kept_until_ms)

    began_s = time.monotonic()
    await asyncio.gather(*(put() for _ in range(in_flight)))
    return count / (time.monotonic() - began_s)


async def spend_in_driver(driver: Driver, count: int, *, in_flight: int) -> float:
    """Let so many callers put so many rows; return how many a second."""
    loop, kept_until_ms = asyncio.get_running_loop(), int(time.time() * 1000) + DAY_MS
    receipts = _receipts(count)
    waiting: dict[str, tuple[RawRow, asyncio.Future[bool]]] = {}
    something = asyncio.Event()

    async def commit() -> None:
        nonlocal waiting
        while True:
            await something.wait()
            something.clear()
            together, waiting = waiting, {}
            first = await driver.insert([together[receipt][0] for receipt in sorted(together)])
            for receipt, (_, done) in together.items():
                done.set_result(receipt in first)

    async def put() -> None:
        for receipt in receipts:
            done = loop.create_future()
            waiting[receipt] = (SITE, receipt, f"r-{receipt}", None, kept_until_ms), done
            something.set()
            assert await done

    # A group: when a commit fails, its callers do not keep waiting.
    async with asyncio.TaskGroup() as group:
        committing = group.create_task(commit())
        began_s = time.monotonic()
        await asyncio.gather(*(group.create_task(put()) for _ in range(in_flight)))
        seconds = time.monotonic() - began_s
        committing.cancel()
    return count / seconds


def _receipts(count: int) -> Iterator[str]:
    return iter([os.urandom(16).hex() for _ in range(count)])
