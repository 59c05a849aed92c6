"""SqliteSegments: one SQLite file for each UTC day, opened on demand and closed when others are used more recently.

Several processes write the same file. A new file gets its name only when its tables exist, so no process opens an
incomplete one. Before each use, the inode shows whether the file was removed.
"""

import asyncio
import contextlib
import os
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar, cast

import apsw
import structlog

from agentgate.events.storage.days import patterns, postings
from agentgate.events.storage.days.days import VALUE_TABLE, Dimensioned, HourCounts, SegmentDays, day_name
from agentgate.events.storage.encoding import OBJECT_COLUMNS, EncodedEvents, value_key
from agentgate.lib.clock import DAY_MS, Clock
from agentgate.lib.database import Reader, Row, StoreUnavailable, Transaction, Value
from agentgate.storage.migrate import MigratedDatabase, apply, pending
from agentgate.storage.sqlite.connection import Statement, connect, fetch_all, fetch_one, statement
from agentgate.storage.sqlite.database import SqliteDatabase
from agentgate.storage.sqlite.readers import Fetch, SqliteReaders

T = TypeVar("T")

EVENTS = "events"
# More than the days of the default retention: then each is opened once.
OPEN_DAYS = 40
# So many hours of sites in one transaction: events must not wait for long.
MERGED_TOGETHER = 8

_SEVERAL = f"""SELECT site, hour FROM dimension_pack GROUP BY site, hour HAVING count(*) > 1
    LIMIT {MERGED_TOGETHER}"""  # noqa: S608
_SUMS = """SELECT json_group_object(key, events) FROM (
    SELECT key, sum(listed.value) AS events FROM dimension_pack CROSS JOIN json_each(counts) AS listed
    WHERE site = $1 AND hour = $2 GROUP BY key)"""
_COUNTS = (
    "SELECT hour, string_agg(counts, '') FROM dimension_pack WHERE site = $1 AND hour >= $2 AND hour < $3 GROUP BY 1"
)
_FILE_NAME = re.compile(r"(\d{4}-\d{2}-\d{2})\.db")
# The file that a process leaves behind when it is killed while making a day.
_UNFINISHED = ".making"


class SqliteSegments(SegmentDays):
    """Files in a directory. Events are narrow rows with patterns. A file has its day's hours until the day closes."""

    hours_in_stats = False
    event_tables = (patterns.ROW_TABLE, patterns.DETAIL_TABLE, "visitor_index", "posting_mark")
    rows, details, solved, by_visitor = patterns.ROW_TABLE, patterns.DETAIL_TABLE, "event_solving", "event_by_visitor"
    indexed = frozenset(("visitor",))
    has_label = "instr(',' || trim(labels, '[]') || ',', ',' || {0} || ',') > 0"
    # `1,7,2,5` of `{"1":7,"2":5}`. A key may occur several times.
    values = """string_agg(
        CASE WHEN counts <> '{}' THEN replace(replace(trim(counts, '{}'), '"', ''), ':', ',') END, ','), NULL"""
    # More are split among the threads that read.
    visitors_together = 64

    def __init__(self, folder: Path, clock: Clock, reads: Executor, *, open_days: int = OPEN_DAYS) -> None:
        self._folder = folder
        self._clock = clock
        self._reads = reads
        self._open_days = open_days
        self._open: OrderedDict[int, _Day] = OrderedDict()
        self._making = asyncio.Lock()
        self._closing: set[asyncio.Task[None]] = set()
        self._unposted = postings.Postings()
        # Days with counts that may not be merged yet.
        self._apart: set[int] = set()

    def session(self, day: int) -> Reader:
        return _DaySession(self, day)

    async def days(self) -> list[int]:
        names = [path.name for path in self._folder.iterdir()] if self._folder.is_dir() else []
        matches = filter(None, map(_FILE_NAME.fullmatch, names))
        return sorted(_day_of(match[1]) for match in matches)

    def path(self, day: int) -> Path:
        """Return the path of a day's file."""
        return self._folder / f"{day_name(day)}.db"

    async def write(self, day: int, work: Callable[[Transaction], Awaitable[T]]) -> T:
        opened = self._find(day)
        if opened is None:
            await self._make(day)
            opened = self._find(day)
        if opened is None:
            raise StoreUnavailable(f"the events of {day_name(day)} were removed while they were written")
        opened.writes += 1
        try:
            return await opened.writer.transaction(work)
        finally:
            opened.writes -= 1

    async def merge_counts(self) -> None:
        """Merge the counts that several batches wrote of a site's hour."""
        apart, self._apart = self._apart, set()
        for day in apart:
            while self._find(day) is not None and await self.write(day, _merge_some):
                pass

    async def insert(self, transaction: Transaction, encoded: EncodedEvents) -> Callable[[], None]:
        rows, numbered = await patterns.write_rows(transaction, encoded)
        await postings.post_late(transaction, rows)
        await transaction.load(VALUE_TABLE, OBJECT_COLUMNS, encoded.objects())
        return numbered.remember

    def met(self, columns: str, condition: str, each: str = "") -> str:
        such = f"site = $1 AND id < $3 AND {condition}"
        found = f"FROM visitor_index WHERE {such} AND id >= $2 AND id < {postings.POSTED_BEFORE} {each}"
        is_narrow = columns in {"visitor", "id"}
        if is_narrow:
            # In a separate query, so that the index, which has visitors in order, is read up to a limit.
            posted = f"SELECT {columns} FROM (SELECT {columns} {found})"  # noqa: S608
        else:
            posted = (
                f"SELECT {columns} FROM (SELECT id AS found {found}) CROSS JOIN event WHERE site = $1 AND id = found"  # noqa: S608
            )
        scanned = f"""SELECT {columns} FROM {self.rows if is_narrow else "event"}
            WHERE {such} AND id >= max($2, {postings.POSTED_BEFORE}) {each}"""  # noqa: S608
        return f"({posted} UNION ALL SELECT {columns} FROM ({scanned})) AS met"  # noqa: S608

    def of_visitors(self, visitors: Sequence[int]) -> tuple[str, Sequence[Value]]:
        return f"visitor IN ({', '.join(f'${place}' for place in range(4, 4 + len(visitors)))})", visitors

    async def count_by_hour(self, day: int, site: int, values: Iterable[Dimensioned]) -> dict[Dimensioned, HourCounts]:
        rows = await self.session(day).all(_COUNTS, site, day * 24, day * 24 + 24)
        found: dict[Dimensioned, HourCounts] = {}
        for value in values:
            written = re.compile(rf'"{value_key(*value)}":(\d+)')
            counts = {hour: sum(map(int, written.findall(text))) for hour, text in rows}
            found[value] = {hour: count for hour, count in counts.items() if count}
        return found

    async def narrow(
        self, day: int, site: int, words: Sequence[int], conditions: Sequence[tuple[str, int]]
    ) -> patterns.FoundPatterns | None:
        return await patterns.find(self.session(day), site, words, conditions)

    async def forget_patterns(self, transaction: Transaction, site: int) -> None:
        await patterns.forget_site(transaction, site)

    async def index_newest(self, day: int, events_by_site: Mapping[int, int]) -> None:
        """Write the postings of sites that have got many events since."""
        self._apart.add(day)
        for site in self._unposted.take(day, events_by_site):
            await self.write(day, partial(postings.post_some, site=site))

    async def index(self, day: int) -> None:
        """Write all postings that are missing, a few thousand events at a time: late events must not wait for long."""
        for site in await postings.unposted_sites(self.session(day)):
            while await self.write(day, partial(postings.post_some, site=site, rest=True)):
                pass
        if self._find(day) is not None:
            await self.write(day, postings.finish)
        self._unposted.forget(day)

    async def drop(self, day: int) -> None:
        """Remove a day's file. Open reads finish; later ones find nothing."""
        opened = self._open.pop(day, None)
        self._unposted.forget(day)
        if opened is not None:
            await opened.close()
        path = self.path(day)
        # The file itself first: its WAL and index mean nothing without it.
        for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
            path.with_name(name).unlink(missing_ok=True)
        for left in self._folder.glob(f"{path.name}*{_UNFINISHED}*"):
            left.unlink(missing_ok=True)

    async def migrate(self, clock: Clock) -> None:
        """Bring the files that exist up to this release's schema."""
        for day in await self.days():
            try:
                await self._migrate_day(day, clock)
            except StoreUnavailable as failure:
                # One day that cannot be read is no reason to decide nothing today.
                structlog.get_logger().error("a day of events cannot be opened", day=day_name(day), why=str(failure))

    async def close(self) -> None:
        """Finish accepted writes and close."""
        opened, self._open = self._open, OrderedDict()
        await asyncio.gather(*self._closing, *(each.close() for each in opened.values()))

    async def read(self, day: int, fetch: Fetch[T], prepared: Statement, values: tuple[Value, ...]) -> T | None:
        """Run a statement that only reads; None when there is no such day."""
        opened = self._find(day)
        if opened is None:
            return None
        try:
            return await opened.readers.read(fetch, prepared, values)
        except StoreUnavailable:
            # Removed between the look and the reading.
            if self._find(day) is None:
                return None
            raise

    def _find(self, day: int) -> "_Day | None":
        """Return the open day; open its file if it exists. Never await, so that the day cannot be closed before use."""
        path = self.path(day)
        try:
            inode = path.stat().st_ino
        except FileNotFoundError:
            inode = None
        except OSError as error:
            raise StoreUnavailable(f"the events of {day_name(day)} cannot be reached: {error.strerror}") from error
        opened = self._open.get(day)
        if opened is not None and opened.inode != inode:
            self._close_later(self._open.pop(day))
            opened = None
        if opened is None and inode is not None:
            opened = self._open[day] = _Day(path, inode, self._reads)
            self._close_unused()
        if opened is not None:
            self._open.move_to_end(day)
        return opened

    def _close_unused(self) -> None:
        unused = [day for day, opened in self._open.items() if opened.writes == 0]
        for day in unused[: max(0, len(self._open) - self._open_days)]:
            self._close_later(self._open.pop(day))

    def _close_later(self, opened: "_Day") -> None:
        task = asyncio.get_running_loop().create_task(opened.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _migrate_day(self, day: int, clock: Clock) -> None:
        # Most starts find nothing to do, and then nothing is opened for writing.
        if not await pending(cast("MigratedDatabase", _DaySession(self, day)), EVENTS):
            return
        database = SqliteDatabase(self.path(day), synchronous="NORMAL")
        try:
            await apply(database, EVENTS, clock=clock)
        finally:
            await database.close()

    async def _make(self, day: int) -> None:
        """Make a day's file under another name, complete, then give it its own unless another process has done so."""
        path = self.path(day)
        async with self._making:
            if path.exists():
                return
            making = path.with_name(f"{path.name}.{os.getpid()}{_UNFINISHED}")
            try:
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                making.unlink(missing_ok=True)
                await self._fill(making)
                with contextlib.suppress(FileExistsError):
                    os.link(making, path)
            except OSError as error:
                raise StoreUnavailable(f"the events of {day_name(day)} have no file: {error.strerror}") from error
            finally:
                with contextlib.suppress(OSError):
                    making.unlink(missing_ok=True)

    async def _fill(self, path: Path) -> None:
        database = SqliteDatabase(path, synchronous="NORMAL")
        try:
            await apply(database, EVENTS, clock=self._clock)
        finally:
            # Closing moves the WAL into the file, so that the file alone is all there is.
            await database.close()


class _Day:
    """A file that is open. Its writer has no thread and no connection until it is used."""

    def __init__(self, path: Path, inode: int, reads: Executor) -> None:
        self.inode = inode
        self.writes = 0
        self.writer = SqliteDatabase(path, synchronous="NORMAL")
        self.readers = SqliteReaders(partial(_connect_reader, path), reads)

    async def close(self) -> None:
        """Commit accepted writes and close."""
        await asyncio.to_thread(self.readers.close)
        await self.writer.close()


class _DaySession(Reader):
    dialect: Literal["sqlite"] = "sqlite"

    def __init__(self, segments: SqliteSegments, day: int) -> None:
        self._segments = segments
        self._day = day

    async def one(self, sql: str, *values: Value) -> Row | None:
        return await self._segments.read(self._day, fetch_one, _reading(sql), values)

    async def all(self, sql: str, *values: Value) -> list[Row]:
        return await self._segments.read(self._day, fetch_all, _reading(sql), values) or []


async def _merge_some(transaction: Transaction) -> bool:
    """Merge the counts of some hours; return whether there may be more."""
    several = await transaction.all(_SEVERAL)
    for site, hour in several:
        row = await transaction.one(_SUMS, site, hour)
        assert row is not None, "a sum has a row"
        await transaction.run("DELETE FROM dimension_pack WHERE site = $1 AND hour = $2", site, hour)
        await transaction.run(
            "INSERT INTO dimension_pack (site, hour, counts) VALUES ($1, $2, $3)", site, hour, str(row[0])
        )
    return len(several) == MERGED_TOGETHER


def _reading(sql: str) -> Statement:
    prepared = statement(sql)
    if not prepared.reads:
        raise RuntimeError(f"a session of a day only reads: {sql}")
    return prepared


def _connect_reader(path: Path) -> apsw.Connection:
    return connect(path, synchronous="NORMAL", write=False)


def _day_of(name: str) -> int:
    return int(datetime.fromisoformat(name).replace(tzinfo=UTC).timestamp()) * 1000 // DAY_MS
