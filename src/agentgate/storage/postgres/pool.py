"""The connections of a PostgreSQL database: asyncpg's pool, a line before it, and one connection kept at hand."""

import asyncio
import contextlib
import time
from socket import gaierror
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import asyncpg

from agentgate.lib.database import Note, StoreUnavailable

CLOSE_S = 10.0

# Exceptions of asyncpg, as opposed to exceptions of a unit of work.
DRIVER_ERRORS = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError)


class PostgresPool:
    """Lends connections. It connects when one is first needed, and again by itself after a failure."""

    def __init__(self, url: str, *, max_connections: int, acquire_timeout_s: float, command_timeout_s: float) -> None:
        self._url = url
        self._max_connections = max_connections
        self._acquire_timeout_s = acquire_timeout_s
        self._command_timeout_s = command_timeout_s
        self._pool: Any = None
        self._starting = asyncio.Lock()
        self._places = asyncio.Semaphore(max_connections)
        # The last one that was given back, with its place. To get one from the pool and to return it takes the event
        # loop as long as twenty redemptions; the next caller has this one for nothing.
        self._at_hand: Any = None
        self._lent = 0
        self._all_back = asyncio.Event()
        self._closed = False
        # Told how long a connection was lent, with the wait for it.
        self.note: Note | None = None

    def lend(self) -> "Loan":
        """Lend a connection for a block: `async with pool.lend() as connection`."""
        return Loan(self)

    async def take(self) -> Any:
        """Return a connection, which is then to be given back; StoreUnavailable when none can be had in time."""
        if self._closed:
            raise StoreUnavailable("the database is closed")
        self._lent += 1
        try:
            return await self._find()
        except BaseException:
            self._count_back()
            raise

    async def give_back(self, connection: Any, *, is_well: bool) -> None:
        """Take a connection back. After a failure it goes through the pool, which checks it."""
        try:
            # Callers that wait in line come first, and get it from the pool.
            if is_well and self._at_hand is None and not self._closed and not self._places.locked():
                self._at_hand = connection
            else:
                await self._return(connection)
        finally:
            self._count_back()

    async def close(self) -> None:
        """Wait until all lent connections are back, then close them."""
        if self._closed:
            return
        self._closed = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                while self._lent:
                    self._all_back.clear()
                    await self._all_back.wait()
                if self._at_hand is not None:
                    await self._return(self._at_hand)
                if self._pool is not None:
                    await self._pool.close()
                return
        if self._pool is not None:
            self._pool.terminate()

    async def _find(self) -> Any:
        connection, self._at_hand = self._at_hand, None
        if connection is not None:
            if not _is_closed(connection):
                return connection
            await self._return(connection)
        await self._take_place()
        try:
            return await self._acquire(self._pool or await self._start())
        except BaseException:
            self._places.release()
            raise

    async def _take_place(self) -> None:
        """Wait in line. The pool itself lets newcomers overtake, and under load some would wait until they time out."""
        if not self._places.locked():
            await self._places.acquire()
            return
        try:
            async with asyncio.timeout(self._acquire_timeout_s):
                await self._places.acquire()
        except TimeoutError as error:
            raise StoreUnavailable("too many units of work are queued for PostgreSQL") from error

    async def _acquire(self, pool: Any) -> Any:
        try:
            return await pool.acquire(timeout=self._acquire_timeout_s)
        except asyncpg.ClientConfigurationError:
            raise
        except DRIVER_ERRORS as error:
            raise StoreUnavailable(f"PostgreSQL gave no connection: {reason(error, self._url)}") from error

    async def _return(self, connection: Any) -> None:
        try:
            # A commit is valid, even if the connection breaks afterwards.
            with contextlib.suppress(*DRIVER_ERRORS):
                await self._pool.release(connection)
        finally:
            self._places.release()

    def _count_back(self) -> None:
        self._lent -= 1
        if self._lent == 0:
            self._all_back.set()

    async def _start(self) -> Any:
        """Create the pool. It connects on demand, so this works while the server is unavailable."""
        async with self._starting:
            if self._pool is None:
                milliseconds = round(self._command_timeout_s * 1_000)
                self._pool = await asyncpg.create_pool(
                    self._url,
                    min_size=0,
                    max_size=self._max_connections,
                    timeout=self._acquire_timeout_s,
                    # The server stops a slow statement first, so that the connection stays usable.
                    command_timeout=self._command_timeout_s + 1,
                    statement_cache_size=512,
                    init=_use_plain_numbers,
                    reset=_keep_session,
                    server_settings={
                        "application_name": "agentgate",
                        "statement_timeout": str(milliseconds),
                        "lock_timeout": str(milliseconds * 4 // 5),
                        "idle_in_transaction_session_timeout": str(milliseconds * 2),
                        "jit": "off",
                    },
                )
            return self._pool


class Loan:
    """A connection for as long as a block runs."""

    __slots__ = ("_connection", "_pool", "_started_s")

    def __init__(self, pool: PostgresPool) -> None:
        self._pool = pool
        self._connection: Any = None
        self._started_s = 0.0

    async def __aenter__(self) -> Any:
        self._started_s = time.perf_counter()
        self._connection = await self._pool.take()
        return self._connection

    async def __aexit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._pool.note is not None:
            self._pool.note(time.perf_counter() - self._started_s)
        await self._pool.give_back(self._connection, is_well=kind is None)


def reason(error: Exception, url: str) -> str:
    """Describe why a connection failed. Of the address only host, port, user and database are shown."""
    address, _, _ = url.partition("?")
    parts = urlsplit(address)
    place, user, database = parts.netloc.rpartition("@")[2] or "the socket", parts.username, parts.path.lstrip("/")
    match error:
        case asyncpg.InvalidPasswordError() | asyncpg.InvalidAuthorizationSpecificationError():
            return f"{place} rejects the user {user!r}: {error}; check user and password in DATABASE_URL"
        case asyncpg.InvalidCatalogNameError():
            return f"{place} has no database {database!r}; create it with `createdb --owner={user} {database}`"
        case gaierror():
            return f"no host is named {parts.hostname!r}; check DATABASE_URL"
        case TimeoutError():
            return f"{place} did not respond in time"
        case OSError():
            return f"no response from {place} ({error.strerror or type(error).__name__}); is PostgreSQL running there?"
    return f"{type(error).__name__}: {error}"


def _is_closed(connection: Any) -> bool:
    try:
        return bool(connection.is_closed())
    except asyncpg.InterfaceError:
        # The server ended it, and the pool has taken it back by itself.
        return True


async def _use_plain_numbers(connection: Any) -> None:
    """Return aggregates as SQLite does, not as Decimal."""
    await connection.set_type_codec("numeric", schema="pg_catalog", encoder=str, decoder=_plain_number, format="text")


def _plain_number(text: str) -> int | float:
    return int(text) if text.lstrip("-").isdigit() else float(text)


async def _keep_session(_connection: Any) -> None:
    """Do nothing: all we set is local to a transaction, and asyncpg's own reset costs a round trip each time."""
