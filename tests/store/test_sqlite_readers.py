"""Reads of an SQLite file on separate threads."""

import asyncio
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest

from agentgate.lib.database import StoreUnavailable
from agentgate.storage.sqlite.database import SqliteDatabase

pytestmark = pytest.mark.anyio

SLOW = """WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400000) SELECT count(*) FROM n"""


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[SqliteDatabase]:
    with ThreadPoolExecutor(2) as threads:
        database = SqliteDatabase(tmp_path / "test.db", reads=threads)
        await database.run("CREATE TABLE item (id INTEGER PRIMARY KEY)")
        yield database
        await database.close()


async def test_a_read_sees_what_was_committed_before_it(database: SqliteDatabase) -> None:
    for number in range(20):
        await database.run("INSERT INTO item (id) VALUES ($1)", number)
        assert await database.one("SELECT max(id) FROM item") == (number,)


async def test_a_database_that_was_never_opened_can_be_read(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as threads:
        database = SqliteDatabase(tmp_path / "new.db", reads=threads)
        assert await database.all("SELECT name FROM sqlite_schema") == []
        await database.close()


async def test_the_event_loop_continues_while_a_read_takes_its_time(database: SqliteDatabase) -> None:
    reading = asyncio.ensure_future(database.one(SLOW))
    turns = 0
    while not reading.done():
        await asyncio.sleep(0.001)
        turns += 1

    assert await reading == (400_000,)
    assert turns > 3


async def test_many_reads_at_once_share_a_few_connections(database: SqliteDatabase) -> None:
    await database.run("INSERT INTO item (id) VALUES (7)")
    before = threading.active_count()

    found = await asyncio.gather(*(database.one("SELECT id FROM item") for _ in range(200)))

    assert set(found) == {(7,)}
    assert threading.active_count() <= before + 2


async def test_a_mistake_in_a_statement_does_not_spoil_later_reads(database: SqliteDatabase) -> None:
    with pytest.raises(apsw.SQLError):
        await database.all("SELECT nothing FROM item")

    assert await database.all("SELECT id FROM item") == []


async def test_closing_lets_a_read_under_way_finish(database: SqliteDatabase) -> None:
    reading = asyncio.ensure_future(database.one(SLOW))
    await asyncio.sleep(0.005)
    await database.close()

    assert await reading == (400_000,)


async def test_threads_that_have_ended_show_as_unavailable(tmp_path: Path) -> None:
    threads = ThreadPoolExecutor(1)
    database = SqliteDatabase(tmp_path / "test.db", reads=threads)
    await database.open()
    threads.shutdown()

    with pytest.raises(StoreUnavailable):
        await database.one("SELECT 1")
    await database.close()


async def test_a_read_in_the_event_loop_that_takes_long_continues_on_a_thread(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "loop.db")
    await database.run("CREATE TABLE item (id INTEGER PRIMARY KEY)")
    await database.run("INSERT INTO item (id) VALUES (7)")
    reading = asyncio.ensure_future(database.one(SLOW))
    turns = 0
    while not reading.done():
        # Short reads continue during the long one.
        assert await database.one("SELECT id FROM item") == (7,)
        await asyncio.sleep(0.001)
        turns += 1

    assert await reading == (400_000,)
    assert turns > 3
    await database.close()


async def test_a_short_read_needs_no_thread(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "loop.db")
    await database.run("CREATE TABLE item (id INTEGER PRIMARY KEY)")
    before = threading.active_count()
    for _ in range(100):
        await database.all("SELECT id FROM item")

    assert threading.active_count() == before
    await database.close()
