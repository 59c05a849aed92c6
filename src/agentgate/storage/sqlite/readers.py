"""Reads of one SQLite file on the threads of an executor, for reads that take milliseconds.

Each connection is used by one thread at a time; there are never more of them than the executor has threads.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import TypeVar

import apsw

from agentgate.lib.database import StoreUnavailable, Value
from agentgate.storage.sqlite.connection import BREAKING, Statement, translated
from agentgate.storage.values import check_values

T = TypeVar("T")

Fetch = Callable[[apsw.Connection, Statement, Sequence[Value]], T]


class SqliteReaders:
    """Idle read-only connections of one file. A file that does not exist is not created."""

    def __init__(self, connect: Callable[[], apsw.Connection], threads: Executor | None) -> None:
        """Prepare; no executor: the event loop's own."""
        self._connect = connect
        self._threads = threads
        # Taking from and giving to a deque is one step of the interpreter, so threads need no lock.
        self._idle: deque[apsw.Connection] = deque()
        self._closed = False

    async def read(self, fetch: Fetch[T], prepared: Statement, values: Sequence[Value]) -> T:
        check_values(values)
        try:
            reading = asyncio.get_running_loop().run_in_executor(self._threads, self._read, fetch, prepared, values)
        except RuntimeError as error:
            raise StoreUnavailable("the threads that read have ended") from error
        return await reading

    def close(self) -> None:
        """Close the idle connections; a connection that still reads is closed afterwards."""
        self._closed = True
        while (connection := self._take()) is not None:
            _close(connection)

    def _read(self, fetch: Fetch[T], prepared: Statement, values: Sequence[Value]) -> T:
        try:
            connection = self._take() or self._connect()
        except apsw.Error as error:
            raise translated(error) from error
        broken = False
        try:
            return fetch(connection, prepared, values)
        except apsw.Error as error:
            broken = isinstance(error, BREAKING)
            raise translated(error) from error
        finally:
            self._give_back(connection, broken=broken)

    def _take(self) -> apsw.Connection | None:
        with contextlib.suppress(IndexError):
            return self._idle.pop()
        return None

    def _give_back(self, connection: apsw.Connection, *, broken: bool) -> None:
        if broken:
            _close(connection)
            return
        self._idle.append(connection)
        # Looked at only now, or a close in between would miss this one.
        if self._closed:
            self.close()


def _close(connection: apsw.Connection) -> None:
    with contextlib.suppress(apsw.Error):
        connection.close(True)  # noqa: FBT003 - positional in apsw
