"""The only writer of an SQLite file in this process: a thread that commits many units of work at once.

A durable commit costs one fsync, however much is in it. So the thread takes every queued unit, runs each in a separate
savepoint and commits them together. No timer is involved: alone, a unit is committed at once.
"""

import asyncio
import contextlib
import contextvars
import functools
import queue
import threading
from collections.abc import Awaitable, Callable, Sequence
from itertools import chain, groupby
from typing import Any, NamedTuple, TypeVar

import apsw

from agentgate.lib.database import Conflict, NewRows, Row, StoreUnavailable, Sums, Value
from agentgate.storage.loading import (
    MOST_TOGETHER,
    add_up_statement,
    insert_all_statement,
    insert_missing_statement,
    insert_statement,
    portions,
    which_are_there_statement,
)
from agentgate.storage.sqlite.connection import (
    BREAKING,
    Statement,
    change,
    change_many,
    fetch_all,
    fetch_one,
    statement,
    translated,
)
from agentgate.storage.values import check_values

T = TypeVar("T")

Work = Callable[["SqliteTransaction"], Awaitable[T]]

ONLY_ITS_TRANSACTION = "a unit of work may await only its transaction"


class SqliteTransaction:
    """Implements Transaction. Its methods are `async` in form only: they never suspend."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._open = True
        self._failure: Exception | None = None

    async def one(self, sql: str, *values: Value) -> Row | None:
        return self._run(fetch_one, statement(sql), values)

    async def all(self, sql: str, *values: Value) -> list[Row]:
        return self._run(fetch_all, statement(sql), values)

    async def run(self, sql: str, *values: Value) -> int:
        return self._run(change, statement(sql), values)

    async def run_many(self, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        for row in rows:
            check_values(row)
        self._guard(lambda: change_many(self._connection, statement(sql), rows))

    async def insert_new(self, new: NewRows, rows: Sequence[Sequence[Value]]) -> list[Row]:
        found: list[Row] = []
        for portion in portions(rows):
            found += self._guard(functools.partial(_insert_new, self._connection, new, portion))
        return found

    async def lock(self, *key: str) -> None:
        """Return at once: a writing transaction has the whole file to itself."""
        check_values(key)
        self._guard(lambda: None)

    async def load(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Value]]) -> None:
        """Insert many rows, unchecked."""
        names = tuple(columns)
        self._each_portion(rows, lambda count: insert_statement(table, names, count))

    async def add_up(self, counters: Sums, rows: Sequence[Sequence[Value]]) -> None:
        self._each_portion(rows, lambda count: add_up_statement(counters, count))

    async def script(self, sql: str) -> None:
        """Run several statements without values, as a migration file holds them."""
        self._guard(lambda: fetch_all(self._connection, Statement(sql, reads=False), ()))

    def confirm(self) -> None:
        """Raise the failure of a statement, if there was one and the unit of work swallowed it."""
        if self._failure is not None:
            raise self._failure

    def end(self) -> None:
        """Reject every later use."""
        self._open = False

    def _run(
        self,
        act: Callable[[apsw.Connection, Statement, Sequence[Value]], T],
        prepared: Statement,
        values: Sequence[Value],
    ) -> T:
        check_values(values)
        return self._guard(lambda: act(self._connection, prepared, values))

    def _each_portion(self, rows: Sequence[Sequence[Value]], text: Callable[[int], str]) -> None:
        for count, several in groupby(portions(rows), key=len):
            # One after the other, because the event loop is blocked.
            values = (list(chain.from_iterable(portion)) for portion in several)
            self._guard(functools.partial(change_many, self._connection, statement(text(count)), values))

    def _guard(self, act: Callable[[], T]) -> T:
        if not self._open:
            raise RuntimeError("the transaction has ended")
        # PostgreSQL undoes a unit whose statement failed, even if the unit carries on. So does this.
        if self._failure is not None:
            raise self._failure
        try:
            return act()
        except apsw.Error as error:
            self._failure = translated(error)
            raise self._failure from (None if self._failure is error else error)


def _insert_new(connection: apsw.Connection, new: NewRows, rows: Sequence[Sequence[Value]]) -> list[Row]:
    """Find the keys that exist, then insert the rest: no other writer can write in between."""
    width, count = len(new.key), len(rows)
    keys = [tuple(row[:width]) for row in rows]
    look = statement(which_are_there_statement(new, count))
    [(places,)] = fetch_all(connection, look, list(chain.from_iterable(keys)))
    there = set() if places is None else {int(place) for place in str(places).split(",")}
    if len(there) < count:
        insert = statement(insert_missing_statement(new, count))
        fetch_all(connection, insert, list(chain.from_iterable(rows)))
    return [key for place, key in enumerate(keys) if place not in there]


def insert_all(connection: apsw.Connection, new: NewRows, rows: Sequence[Sequence[Value]]) -> list[Row] | None:
    """Insert all rows and commit, by one statement; None, and no change, when that cannot be.

    It is the usual case, and the thread has to get the interpreter back from a busy event loop once instead of after
    each of BEGIN, look, INSERT and COMMIT.
    """
    if not 0 < len(rows) <= MOST_TOGETHER:
        return None
    try:
        insert = statement(insert_all_statement(new, len(rows)))
        fetch_all(connection, insert, list(chain.from_iterable(rows)))
    except (apsw.ConstraintError, apsw.SQLError):
        # A key exists, or a row is invalid; row by row, it becomes clear.
        return None
    width = len(new.key)
    return [tuple(row[:width]) for row in rows]


class Unit(NamedTuple):
    """Work that waits for the writer."""

    work: Work[Any]
    future: asyncio.Future[Any]
    context: contextvars.Context
    # Does the same without a transaction around it, or returns None and has done nothing.
    shortcut: Callable[[apsw.Connection], Any] | None = None


class UnitOutcome(NamedTuple):
    """The result or the error of a unit; its caller hears of it only after the commit."""

    future: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None


class TransactionLost(Exception):  # noqa: N818 - named after the event, as in lib.database
    """SQLite undid the whole transaction because of one statement in it, as it may on a full disk."""


class SqliteWriter:
    """Accepts units of work from the event loop and runs them on its thread."""

    def __init__(self, connect: Callable[[], apsw.Connection], *, group_limit: int, queue_limit: int) -> None:
        self._connect = connect
        self._group_limit = group_limit
        self._queue_limit = queue_limit
        self._queue: queue.SimpleQueue[Unit | None] = queue.SimpleQueue()
        self._connection: apsw.Connection | None = None
        self._thread: threading.Thread | None = None
        self._stopped = False
        # The disk took a commit not. Only a commit that writes can show that it takes them again.
        self.disk_failed = False

    def submit(self, work: Work[T], shortcut: Callable[[apsw.Connection], T | None] | None = None) -> asyncio.Future[T]:
        """Queue a unit of work; the future is done once its commit is. Called in the event loop."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        if self._stopped:
            raise StoreUnavailable("the database is closed")
        if self._queue.qsize() >= self._queue_limit:
            raise StoreUnavailable("too many units of work are queued for the database")
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="sqlite-writer", daemon=True)
            self._thread.start()
        self._queue.put(Unit(work, future, contextvars.copy_context(), shortcut))
        return future

    async def drain(self) -> None:
        """Accept no more, and return when everything accepted has been committed or rejected."""
        self._stopped = True
        self._queue.put(None)
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)

    def finish(self) -> None:
        """Move the WAL into the file and close. Called after `drain`, when no reader of this process is left."""
        if self._connection is None:
            return
        # Another process may be reading: then the WAL simply stays, and its last user empties it.
        with contextlib.suppress(apsw.Error):
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        self._connection.close(True)  # noqa: FBT003 - positional in apsw
        self._connection = None

    def _serve(self) -> None:
        more = True
        while more:
            units, more = self._take()
            if not units:
                continue
            try:
                outcomes = self._commit(units)
            except Exception as error:  # noqa: BLE001 - a dead thread would leave every caller waiting for ever
                outcomes = [UnitOutcome(unit.future, error=error) for unit in units]
            # The loop is closed only after all callers have their outcome.
            with contextlib.suppress(RuntimeError):
                units[0].future.get_loop().call_soon_threadsafe(_tell, outcomes)

    def _take(self) -> tuple[list[Unit], bool]:
        """Wait for a unit, then take all waiting units. False: none will follow."""
        units: list[Unit] = []
        unit = self._queue.get()
        while unit is not None:
            if not unit.future.cancelled():
                units.append(unit)
            if len(units) >= self._group_limit:
                return units, True
            try:
                unit = self._queue.get_nowait()
            except queue.Empty:
                return units, True
        return units, False

    def _commit(self, units: Sequence[Unit]) -> list[UnitOutcome]:
        try:
            return self._transact(units)
        except (apsw.Error, TransactionLost) as error:
            self._note(error)
            self._recover(error)
            # One unit's fault must not fail the others. Alone, each gets a separate outcome.
            if len(units) > 1 and isinstance(error, TransactionLost | apsw.ConstraintError):
                return [outcome for unit in units for outcome in self._commit([unit])]
            return [UnitOutcome(unit.future, error=_commit_failure(error)) for unit in units]

    def _transact(self, units: Sequence[Unit]) -> list[UnitOutcome]:
        if self._connection is None:
            self._connection = self._connect()
        connection = self._connection
        if len(units) == 1 and units[0].shortcut is not None:
            result = units[0].shortcut(connection)
            if result is not None:
                return [UnitOutcome(units[0].future, result)]
        connection.execute("BEGIN IMMEDIATE")
        outcomes = []
        for unit in units:
            outcomes.append(_run_unit(connection, unit, alone=len(units) == 1))
            if not connection.in_transaction:
                if len(units) > 1:
                    raise TransactionLost
                self._note(outcomes[0].error)
                self._drop_if_broken(outcomes[0].error)
                return outcomes
        connection.execute("COMMIT")
        return outcomes

    def _note(self, error: BaseException | None) -> None:
        cause = error.__cause__ if isinstance(error, StoreUnavailable) else error
        self.disk_failed = self.disk_failed or isinstance(cause, apsw.FullError | apsw.IOError)

    def _recover(self, error: Exception) -> None:
        """Leave no transaction open, and no connection that cannot be trusted."""
        if self._connection is None:
            return
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except apsw.Error as second:
            error = second if isinstance(second, BREAKING) else apsw.IOError(str(second))
        self._drop_if_broken(error)

    def _drop_if_broken(self, error: BaseException | None) -> None:
        cause = error.__cause__ if isinstance(error, StoreUnavailable) else error
        if self._connection is not None and isinstance(cause, BREAKING):
            with contextlib.suppress(apsw.Error):
                self._connection.close(True)  # noqa: FBT003 - positional in apsw
            self._connection = None


def _run_unit(connection: apsw.Connection, unit: Unit, *, alone: bool) -> UnitOutcome:
    # One that is alone has the transaction to itself. Each statement spared is one wait less for the interpreter.
    if not alone:
        connection.execute("SAVEPOINT unit")
    transaction = SqliteTransaction(connection)
    result = None
    error: BaseException | None = None
    try:
        result = unit.context.run(_drive, unit.work, transaction)
        transaction.confirm()
    except BaseException as raised:  # noqa: BLE001 - whatever the unit raised belongs to its caller
        error = raised
    transaction.end()
    if connection.in_transaction:
        if error is not None:
            connection.execute("ROLLBACK" if alone else "ROLLBACK TO unit")
        if not alone:
            connection.execute("RELEASE unit")
    elif error is None:
        error = RuntimeError("a unit of work may not end its transaction itself")
    return UnitOutcome(unit.future, result, error)


def _drive(work: Work[T], transaction: SqliteTransaction) -> T:
    """Run a unit of work to its end without an event loop."""
    steps = work(transaction).__await__()
    try:
        next(steps)
    except StopIteration as finished:
        result: T = finished.value
        return result
    except RuntimeError as error:
        if str(error) == "no running event loop":
            raise RuntimeError(ONLY_ITS_TRANSACTION) from error
        raise
    steps.close()
    raise RuntimeError(ONLY_ITS_TRANSACTION)


def _commit_failure(error: Exception) -> Exception:
    failure = translated(error) if isinstance(error, apsw.Error) else error
    if not isinstance(failure, Conflict | StoreUnavailable):
        failure = StoreUnavailable(f"SQLite did not commit: {error}")
    failure.__cause__ = error
    return failure


def _tell(outcomes: Sequence[UnitOutcome]) -> None:
    for future, result, error in outcomes:
        # The caller may have been canceled.
        if future.done():
            continue
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)
