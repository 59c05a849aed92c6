"""The SQLite file: a full disk, other processes, a killed process, copies and damage."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import agentgate
from agentgate.lib.database import StoreUnavailable
from agentgate.storage.sqlite.database import SqliteDatabase
from tests.store.sqlite_files import COUNT, INSERT, opened

pytestmark = pytest.mark.anyio


@pytest.fixture
async def database(tmp_path):
    async with opened(tmp_path / "test.db") as database:
        yield database


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("a small file system cannot be mounted here")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


async def test_a_full_disk_is_an_outage_that_ends_when_there_is_space_again(small_disk):
    filler = small_disk / "filler"
    async with opened(small_disk / "test.db") as database:
        filler.write_bytes(bytes(1_200_000))
        kept = []

        async def write_until_full():
            for number in range(100):
                await database.run(INSERT, number, bytes(20_000))
                kept.append((number,))

        with pytest.raises(StoreUnavailable):
            await write_until_full()
        filler.unlink()
        assert await database.run(INSERT, 1_000, bytes(20_000)) == 1

        assert await database.all("SELECT id FROM item ORDER BY id") == [*kept, (1_000,)]
        assert await database.integrity() == []


WRITER = """
import asyncio, pathlib, sys
from agentgate.storage.sqlite.database import SqliteDatabase

async def main(path, first, count):
    database = SqliteDatabase(pathlib.Path(path))
    await database.open()

    async def insert(number):
        async def work(transaction):
            await transaction.lock("limit")
            (taken,) = await transaction.one("SELECT count(*) FROM item")
            if taken < 150:
                await transaction.run("INSERT INTO item (id) VALUES ($1)", number)
        await database.transaction(work)
        print(number, flush=True)

    for start in range(first, first + count, 10):
        await asyncio.gather(*(insert(number) for number in range(start, start + 10)))
    await database.close()

asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
"""


def start_writer(path: Path, first: int, *, count: int) -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONPATH": str(Path(agentgate.__file__).parent.parent)}
    command = [sys.executable, "-c", WRITER, str(path), str(first), str(count)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


async def test_two_processes_share_one_file_and_keep_a_limit(tmp_path):
    path = tmp_path / "test.db"
    async with opened(path) as database:
        writers = [start_writer(path, first, count=100) for first in (1_000, 2_000)]
        try:
            for writer in writers:
                await asyncio.to_thread(writer.communicate, timeout=30)
        finally:
            for writer in writers:
                writer.kill()
                writer.wait()

        assert [writer.returncode for writer in writers] == [0, 0]
        assert await database.one(COUNT) == (150,)


async def test_what_was_acknowledged_survives_a_killed_process(tmp_path):
    path = tmp_path / "test.db"
    async with opened(path):
        pass
    writer = start_writer(path, 0, count=100_000)
    try:
        acknowledged = [int(await asyncio.to_thread(writer.stdout.readline)) for _ in range(60)]
    finally:
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        writer.stdout.close()

    async with opened(path) as database:
        stored = {number for (number,) in await database.all("SELECT id FROM item")}
        assert set(acknowledged) <= stored
        assert await database.integrity() == []


async def test_two_objects_may_open_a_new_file_at_the_same_moment(tmp_path):
    databases = [SqliteDatabase(tmp_path / "new.db") for _ in range(4)]
    try:
        await asyncio.gather(*(database.open() for database in databases))

        await databases[0].run("CREATE TABLE mark (id INTEGER)")
        assert [await each.all("SELECT name FROM sqlite_master") for each in databases] == [[("mark",)]] * 4
    finally:
        for database in databases:
            await database.close()


async def test_a_backup_made_while_others_write_is_one_moment_of_the_database(database, tmp_path):
    await database.run_many(INSERT, [(number, bytes(10_000)) for number in range(-600, 0)])
    seen = []
    stop = False

    async def write_pairs():
        number = 0
        while not stop:
            await database.run_many(INSERT, [(number, b"first"), (number + 1, b"second")])
            number += 2

    writing = asyncio.ensure_future(write_pairs())
    await database.backup(tmp_path / "copy.db", lambda done, pages: seen.append((done, pages)))
    stop = True
    await writing

    assert len(seen) > 2
    assert seen == sorted(seen)
    assert seen[-1][0] == seen[-1][1]
    assert sorted(path.name for path in tmp_path.glob("copy*")) == ["copy.db"]
    async with opened(tmp_path / "copy.db") as copy:
        (count,) = await copy.one(COUNT)
        assert count >= 600
        assert count % 2 == 0
        assert await copy.integrity() == []


async def test_a_cancelled_backup_leaves_no_copy_and_the_database_usable(database, tmp_path):
    await database.run_many(INSERT, [(number, bytes(10_000)) for number in range(600)])
    started = asyncio.Event()
    backup = asyncio.ensure_future(database.backup(tmp_path / "copy.db", lambda _done, _pages: started.set()))
    await started.wait()

    backup.cancel()
    await asyncio.wait([backup])

    assert backup.cancelled()
    assert not (tmp_path / "copy.db").exists()
    assert await database.run(INSERT, 10_000, b"") == 1


async def test_a_backup_into_a_folder_that_is_not_there_is_an_error(database, tmp_path):
    with pytest.raises(StoreUnavailable):
        await database.backup(tmp_path / "nowhere" / "copy.db", lambda _done, _pages: None)


async def test_damage_to_the_file_is_reported(tmp_path):
    path = tmp_path / "test.db"
    async with opened(path) as database:
        await database.run_many(INSERT, [(number, bytes(3_000)) for number in range(50)])
        assert await database.integrity() == []
    with path.open("r+b") as file:
        file.seek(4_096 * 10)
        file.write(b"\xff" * 4_096 * 3)

    database = SqliteDatabase(path)
    try:
        assert await database.integrity() != []
    finally:
        await database.close()


async def test_a_folder_that_is_not_there_is_unavailable_until_it_is(tmp_path):
    database = SqliteDatabase(tmp_path / "later" / "test.db")
    with pytest.raises(StoreUnavailable):
        await database.open()

    (tmp_path / "later").mkdir()

    try:
        await database.ping()
        assert await database.one("SELECT 1") == (1,)
    finally:
        await database.close()


async def test_closing_leaves_one_file_that_only_its_owner_may_read(tmp_path):
    async with opened(tmp_path / "test.db") as database:
        await database.run(INSERT, 1, b"")
        assert await database.one(COUNT) == (1,)

    assert [path.name for path in tmp_path.iterdir()] == ["test.db"]
    assert (tmp_path / "test.db").stat().st_mode & 0o777 == 0o600
