"""PostgresDatabase: a PostgreSQL database through a pool of asyncpg connections.

Every wait is bounded, and an unavailable server causes StoreUnavailable until it is back.
"""

import asyncio
import contextlib
import hashlib
import random
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, TypeVar

import asyncpg
import msgspec

from agentgate.lib.database import Conflict, NewRows, Note, Row, StoreUnavailable, Sums, Value
from agentgate.lib.tasks.off_loop import off_loop
from agentgate.storage.loading import add_up_arrays_statement, array_types, insert_new_statement
from agentgate.storage.postgres.pool import DRIVER_ERRORS, PostgresPool
from agentgate.storage.values import check_values

T = TypeVar("T")

RETRIES = 3
RETRY_S = 0.01
# A script is a migration: the server's statement_timeout, which the file may raise, is its limit.
SCRIPT_S = 3_600.0

CONFLICTS = (asyncpg.UniqueViolationError, asyncpg.ForeignKeyViolationError)
RETRYABLE = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError, asyncpg.InvalidCachedStatementError)
UNAVAILABLE = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,  # shutting down, starting up, or a statement that ran out of time
    asyncpg.InsufficientResourcesError,  # connections, memory, disk
    asyncpg.LockNotAvailableError,
    asyncpg.ReadOnlySQLTransactionError,  # a standby responds, after a failover
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.PostgresSystemError,
)


def _plain(value: object) -> object:
    """Return a value of a special class, such as a moment, as a plain one."""
    if isinstance(value, int):
        return int(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bytes):
        return bytes(value)
    if isinstance(value, float):
        return float(value)
    raise TypeError(f"a value of type {type(value).__name__} cannot be stored")


_encode_json = msgspec.json.Encoder(enc_hook=_plain).encode


class TryAgain(StoreUnavailable):
    """The server asks that the unit of work be run once more."""


class _Statements(ABC):
    """Statements on a connection, which subclasses choose."""

    @abstractmethod
    async def _use(self, act: Callable[[Any], Awaitable[Any]]) -> Any:
        """Run statements on the connection of a transaction, or on one that is lent for them."""

    async def one(self, sql: str, *values: Value) -> Row | None:
        check_values(values)
        row = await self._use(lambda connection: connection.fetchrow(sql, *values))
        return None if row is None else tuple(row)

    async def all(self, sql: str, *values: Value) -> list[Row]:
        check_values(values)
        rows = await self._use(lambda connection: connection.fetch(sql, *values))
        return await off_loop(len(rows), lambda: [tuple(row) for row in rows])

    async def run(self, sql: str, *values: Value) -> int:
        check_values(values)
        return changed_rows(await self._use(lambda connection: connection.execute(sql, *values)))

    async def run_many(self, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        """Run one statement for each row of values, all or none."""
        for row in rows:
            check_values(row)
        await self._use(lambda connection: connection.executemany(sql, rows))

    async def insert_new(self, new: NewRows, rows: Sequence[Sequence[Value]]) -> list[Row]:
        """Insert the rows whose key is not there yet, by one statement; return the keys of those."""
        if not rows:
            return []
        sql, given = insert_new_statement(new), _write_rows(rows)
        return _new_keys(new, rows, await self._use(lambda connection: connection.fetchrow(sql, given, len(rows))))


class PostgresTransaction(_Statements):
    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._open = True
        self._failure: Exception | None = None

    async def lock(self, *key: str) -> None:
        check_values(key)
        await self._use(lambda connection: connection.execute("SELECT pg_advisory_xact_lock($1)", lock_number(*key)))

    async def load(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Value]]) -> None:
        """Insert many rows with COPY, unchecked."""
        if rows:
            await self._use(lambda connection: connection.copy_records_to_table(table, columns=columns, records=rows))

    async def add_up(self, counters: Sums, rows: Sequence[Sequence[Value]]) -> None:
        if rows:
            sql = add_up_arrays_statement(counters, array_types(rows[0]))
            await self._use(lambda connection: connection.execute(sql, *zip(*rows, strict=True)))

    async def script(self, sql: str) -> None:
        """Run several statements without values, as a migration file holds them."""
        await self._use(lambda connection: connection.execute(sql, timeout=SCRIPT_S))

    def confirm(self) -> None:
        if self._failure is not None:
            raise self._failure

    def end(self) -> None:
        self._open = False

    async def _use(self, act: Callable[[Any], Awaitable[Any]]) -> Any:
        if not self._open:
            raise RuntimeError("the transaction has ended")
        # After a failed statement the server undoes everything at COMMIT and calls that a success.
        if self._failure is not None:
            raise self._failure
        try:
            return await act(self._connection)
        except DRIVER_ERRORS as error:
            self._failure = translated(error)
            raise self._failure from (None if self._failure is error else error)


class PostgresDatabase(_Statements):
    """Implements Database on PostgreSQL. It connects when it is first used, and again by itself after a failure."""

    def __init__(
        self, url: str, *, max_connections: int = 10, acquire_timeout_s: float = 1.0, command_timeout_s: float = 5.0
    ) -> None:
        self._pool = PostgresPool(
            url,
            max_connections=max_connections,
            acquire_timeout_s=acquire_timeout_s,
            command_timeout_s=command_timeout_s,
        )

    @property
    def dialect(self) -> Literal["sqlite", "postgres"]:
        return "postgres"

    async def open(self) -> None:
        """Make a first connection. When that fails, later calls try again by themselves."""
        await self.ping()

    async def _use(self, act: Callable[[Any], Awaitable[Any]]) -> Any:
        async with self._pool.lend() as connection:
            return await _translating(act(connection))

    async def insert_new(self, new: NewRows, rows: Sequence[Sequence[Value]]) -> list[Row]:
        """Insert the rows whose key is not there yet, again after a deadlock."""
        insert = super().insert_new
        return await _trying_again(lambda: insert(new, rows))

    async def transaction(self, work: Callable[[PostgresTransaction], Awaitable[T]]) -> T:
        """Run a unit of work; return its result once that is durable. It may be run again after a deadlock."""
        return await _trying_again(lambda: self._transact(work))

    def watch(self, note: Note) -> None:
        self._pool.note = note

    async def ping(self) -> None:
        await self.one("SELECT 1")

    async def close(self) -> None:
        await self._pool.close()

    async def _transact(self, work: Callable[[PostgresTransaction], Awaitable[T]]) -> T:
        async with self._pool.lend() as connection:
            span = connection.transaction(isolation="read_committed")
            await _translating(span.start())
            transaction = PostgresTransaction(connection)
            try:
                result = await work(transaction)
                transaction.confirm()
            except BaseException:
                # A connection that cannot even undo is dropped by the pool, and the server undoes for it.
                with contextlib.suppress(*DRIVER_ERRORS):
                    await span.rollback()
                raise
            finally:
                transaction.end()
            await _translating(span.commit())
            return result


def lock_number(*key: str) -> int:
    """Return the 64-bit number under which PostgreSQL knows a lock. Lengths keep ("ab", "c") from ("a", "bc")."""
    digest = hashlib.blake2b(digest_size=8)
    for part in key:
        data = part.encode()
        digest.update(len(data).to_bytes(4, "big") + data)
    return int.from_bytes(digest.digest(), "big", signed=True)


def _write_rows(rows: Sequence[Sequence[Value]]) -> str:
    """Return rows as one JSON text. The driver takes four times as long for an array of each column."""
    for row in rows:
        check_values(row)
    return _encode_json(rows).decode()


def _new_keys(new: NewRows, rows: Sequence[Sequence[Value]], found: Any) -> list[Row]:
    """Return the keys that were new, from how many there were and which if not all."""
    count, *columns = found
    if count == len(rows):
        width = len(new.key)
        return [tuple(row[:width]) for row in rows]
    return list(zip(*columns, strict=True)) if count else []


def changed_rows(status: str) -> int:
    """Read the row count from a status such as `INSERT 0 3` or `UPDATE 2`."""
    words = status.split()
    return int(words[-1]) if words and words[0] in {"INSERT", "UPDATE", "DELETE", "MERGE"} else 0


def translated(error: Exception) -> Exception:
    """Return the exception for the caller: the same one when the statement itself is wrong."""
    if isinstance(error, CONFLICTS):
        return Conflict(str(error))
    if isinstance(error, RETRYABLE):
        return TryAgain(f"PostgreSQL: {error}")
    lost = isinstance(error, asyncpg.InterfaceError) and "closed" in str(error)
    if lost or isinstance(error, UNAVAILABLE):
        return StoreUnavailable(f"PostgreSQL: {type(error).__name__}: {error}")
    return error


async def _trying_again(act: Callable[[], Awaitable[T]]) -> T:
    """Do something that the server may have undone because of others, up to four times."""
    for attempt in range(RETRIES):
        try:
            return await act()
        except TryAgain:
            # Two units that met in a deadlock must not meet again in step.
            await asyncio.sleep(RETRY_S * 2**attempt * random.uniform(0.5, 1.5))  # noqa: S311 - protects nothing
    return await act()


async def _translating(pending: Awaitable[Any]) -> Any:
    try:
        return await pending
    except DRIVER_ERRORS as error:
        failure = translated(error)
        raise failure from (None if failure is error else error)
