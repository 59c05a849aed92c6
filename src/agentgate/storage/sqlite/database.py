"""SqliteDatabase: one SQLite file. Changes go to the writer thread, short reads run in the event loop.

A point read takes a few microseconds, less than handing it to a thread would. A read that takes longer than LOOP_READ_S
is stopped and starts again in a thread, so that no table, however large, holds up the loop.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Literal, TypeVar

import apsw

from agentgate.lib.database import NewRows, Note, Row, Value
from agentgate.storage.sqlite.connection import (
    BREAKING,
    Statement,
    Synchronous,
    check_library,
    connect,
    create_private,
    fetch_all,
    fetch_one,
    statement,
    translated,
)
from agentgate.storage.sqlite.readers import Fetch, SqliteReaders
from agentgate.storage.sqlite.writer import SqliteTransaction, SqliteWriter, Work, insert_all
from agentgate.storage.values import check_values

T = TypeVar("T")

# How long a read may take in the event loop, and the steps of SQLite's machine between two readings of the clock: about
# 0.1 ms.
LOOP_READ_S = 0.002
LOOK_STEPS = 2_000
# About 2 MB a step: a few milliseconds of reading, after which the thread can be stopped.
BACKUP_STEP_PAGES = 512


class _TooLongError(Exception):
    """A read was stopped because it took too long for the event loop."""


class SqliteDatabase:
    """Implements Database on one SQLite file in WAL mode. Several processes may have it open."""

    def __init__(
        self,
        path: Path,
        *,
        synchronous: Synchronous = "FULL",
        group_limit: int = 256,
        queue_limit: int = 10_000,
        reads: Executor | None = None,
    ) -> None:
        """Prepare; nothing is opened yet. With `reads`, that executor's threads do all reads, also short ones."""
        check_library(apsw.sqlite_lib_version())
        self._path = path
        self._synchronous = synchronous
        self._writer = SqliteWriter(self._connect_writer, group_limit=group_limit, queue_limit=queue_limit)
        self._reader: apsw.Connection | None = None
        self._reads_in_loop = reads is None
        # When the present read has taken too long for the event loop.
        self._late_s = 0.0
        self._readers = SqliteReaders(self._connect_reader, reads)
        self._opened = False
        self._closed = False
        self._note: Note | None = None

    @property
    def dialect(self) -> Literal["sqlite", "postgres"]:
        return "sqlite"

    async def open(self) -> None:
        """Create or open the file. A call on a database that is not open, or no longer, does this by itself."""
        # The writer goes first: it creates the file, and a reader cannot.
        await self.ping()
        self._opened = True

    async def one(self, sql: str, *values: Value) -> Row | None:
        prepared = statement(sql)
        if not prepared.reads:
            return await self.transaction(lambda transaction: transaction.one(sql, *values))
        return await self._fetch(fetch_one, prepared, values)

    async def all(self, sql: str, *values: Value) -> list[Row]:
        prepared = statement(sql)
        if not prepared.reads:
            return await self.transaction(lambda transaction: transaction.all(sql, *values))
        return await self._fetch(fetch_all, prepared, values)

    async def _fetch(self, fetch: Fetch[T], prepared: Statement, values: Sequence[Value]) -> T:
        if self._reader is None if self._reads_in_loop else not self._opened:
            await self.open()
        if self._reads_in_loop:
            with contextlib.suppress(_TooLongError):
                return self._read(fetch, prepared, values)
        return await self._readers.read(fetch, prepared, values)

    async def run(self, sql: str, *values: Value) -> int:
        return await self.transaction(lambda transaction: transaction.run(sql, *values))

    async def run_many(self, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        """Run one statement for each row of values, all or none."""
        await self.transaction(lambda transaction: transaction.run_many(sql, rows))

    async def insert_new(self, new: NewRows, rows: Sequence[Sequence[Value]]) -> list[Row]:
        return await self._timed(
            self._writer.submit(
                lambda transaction: transaction.insert_new(new, rows),
                lambda connection: insert_all(connection, new, rows),
            )
        )

    async def transaction(self, work: Work[T]) -> T:
        """Run a unit of work on the writer thread; return its result once that is durable."""
        return await self._timed(self._writer.submit(work))

    def watch(self, note: Note) -> None:
        self._note = note

    async def _timed(self, pending: Awaitable[T]) -> T:
        if self._note is None:
            return await pending
        started_s = time.perf_counter()
        try:
            return await pending
        finally:
            self._note(time.perf_counter() - started_s)

    async def ping(self) -> None:
        """Return when the file can be locked and read; raise StoreUnavailable otherwise.

        After a failed commit, the disk must accept one again.
        """
        await self.transaction(lambda transaction: transaction.one("SELECT count(*) FROM sqlite_schema"))
        if self._writer.disk_failed:
            await self.transaction(_write_again)
            self._writer.disk_failed = False

    async def close(self) -> None:
        """Commit accepted units of work, move the WAL into the file, then close it."""
        if self._closed:
            return
        self._closed = True
        await self._writer.drain()
        # The last connection to close removes the WAL, which a read-only one cannot do: so the reader goes first.
        self._drop_reader()
        await asyncio.to_thread(self._readers.close)
        await asyncio.to_thread(self._writer.finish)

    async def backup(self, path: Path, progress: Callable[[int, int], None]) -> None:
        """Copy the database as it is now to `path`; `progress` gets pages done and pages in all.

        Writers continue. The copy appears under its name only when it is complete.
        """
        partial = path.with_name(path.name + ".partial")
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="sqlite-backup") as thread:
            copy = _Copy(self._connect_reader, partial)
            try:
                done = False
                while not done:
                    done, copied, pages = await loop.run_in_executor(thread, copy.step)
                    progress(copied, pages)
            except apsw.Error as error:
                raise translated(error) from error
            finally:
                # On the same thread, hence after a step that may still be running when this was canceled.
                thread.submit(copy.close)
        await asyncio.to_thread(partial.replace, path)

    async def integrity(self) -> list[str]:
        """Read the whole file and return its problems: none when it is sound."""
        return await asyncio.to_thread(self._check_integrity)

    def _check_integrity(self) -> list[str]:
        try:
            connection = self._connect_reader()
        except apsw.Error as error:
            raise translated(error) from error
        try:
            problems = [str(row[0]) for row in connection.execute("PRAGMA integrity_check")]
        except (apsw.CorruptError, apsw.NotADBError) as error:
            problems = [str(error)]
        finally:
            connection.close(True)  # noqa: FBT003 - positional in apsw
        return [] if problems == ["ok"] else problems

    def _read(self, fetch: Fetch[T], prepared: Statement, values: Sequence[Value]) -> T:
        # The reader belongs to the event loop. A unit of work that uses the database instead of its transaction has no
        # loop, and this line raises RuntimeError.
        asyncio.get_running_loop()
        check_values(values)
        try:
            if self._reader is None:
                self._reader = self._connect_reader()
                self._reader.set_progress_handler(self._is_late, LOOK_STEPS)
            self._late_s = time.perf_counter() + LOOP_READ_S
            return fetch(self._reader, prepared, values)
        except apsw.InterruptError as stopped:
            raise _TooLongError from stopped
        except apsw.Error as error:
            if isinstance(error, BREAKING):
                self._drop_reader()
            raise translated(error) from error

    def _is_late(self) -> bool:
        return time.perf_counter() > self._late_s

    def _drop_reader(self) -> None:
        if self._reader is not None:
            with contextlib.suppress(apsw.Error):
                self._reader.close(True)  # noqa: FBT003 - positional in apsw
            self._reader = None

    def _connect_writer(self) -> apsw.Connection:
        return connect(self._path, synchronous=self._synchronous, write=True)

    def _connect_reader(self) -> apsw.Connection:
        return connect(self._path, synchronous=self._synchronous, write=False)


async def _write_again(transaction: SqliteTransaction) -> None:
    """Write the present user_version again: a page goes to the disk, and nothing changes."""
    row = await transaction.one("PRAGMA user_version")
    assert row is not None
    await transaction.script(f"PRAGMA user_version = {int(row[0])}")


class _Copy:
    """An online backup under way. All of it runs on one thread, the constructor excepted."""

    def __init__(self, connect_source: Callable[[], apsw.Connection], target: Path) -> None:
        self._connect_source = connect_source
        self._target = target
        self._source: apsw.Connection | None = None
        self._destination: apsw.Connection | None = None
        self._backup: apsw.Backup | None = None

    def step(self) -> tuple[bool, int, int]:
        """Copy some pages; return whether that was all, how many are copied, and how many there are."""
        if self._backup is None:
            self._backup = self._start()
        done = self._backup.step(BACKUP_STEP_PAGES)
        pages = self._backup.page_count
        copied = pages - self._backup.remaining
        if done:
            self.close()
        return done, copied, pages

    def close(self) -> None:
        with contextlib.suppress(apsw.Error):
            if self._backup is not None:
                self._backup.close(True)  # noqa: FBT003 - positional in apsw
        for connection in (self._destination, self._source):
            if connection is not None:
                connection.close(True)  # noqa: FBT003 - positional in apsw
        self._backup = self._destination = self._source = None

    def _start(self) -> apsw.Backup:
        self._target.unlink(missing_ok=True)
        create_private(self._target)
        self._source = self._connect_source()
        # Within one read transaction the source does not change; otherwise each commit would restart the copy.
        self._source.execute("BEGIN")
        self._source.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        self._destination = apsw.Connection(str(self._target))
        return self._destination.backup("main", self._source, "main")
