"""Rows of which the first with a key wins. Those who put rows at the same time share one commit.

No timer: alone, a row is put at once; what arrives while a commit is under way goes with the next one.
"""

import asyncio
from typing import NamedTuple

from agentgate.core.database import Database, NewRows, Row, StoreUnavailable, Value
from agentgate.store.databases.values import check_values

# A larger group would make the first of it wait longer than it saves the others.
LARGEST_GROUP = 1_000
# When more than this wait, the store is not keeping up, and waiting longer would help nobody.
MOST_WAITING = 20_000


class Waiting(NamedTuple):
    """One who wants to be first."""

    key: Row
    row: tuple[Value, ...]
    future: asyncio.Future[bool]


class FirstRows:
    """A table into which many put rows. The columns of the key are the first ones of a row."""

    def __init__(self, database: Database, table: NewRows) -> None:
        self._database = database
        self._table = table
        self._waiting: list[Waiting] = []
        self._putting: asyncio.Task[None] | None = None

    async def put(self, row: tuple[Value, ...]) -> bool:
        """Put a row, durably; False when its key is there already. Of many at once, one wins."""
        if len(self._waiting) >= MOST_WAITING:
            raise StoreUnavailable(f"too many wait for {self._table.table}")
        # Here already, so that a value which cannot be stored fails its own call and not the whole group.
        check_values(row)
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append(Waiting(row[: len(self._table.key)], row, future))
        if self._putting is None:
            self._putting = asyncio.create_task(self._put_waiting())
        return await future

    async def _put_waiting(self) -> None:
        try:
            while self._waiting:
                group, self._waiting = self._waiting[:LARGEST_GROUP], self._waiting[LARGEST_GROUP:]
                await self._put_group(group)
        finally:
            self._putting = None

    async def _put_group(self, group: list[Waiting]) -> None:
        # Of several with the same key the first stands for all: it wins, or the row was there before.
        firsts: dict[Row, Waiting] = {}
        for waiting in group:
            firsts.setdefault(waiting.key, waiting)
        try:
            new = set(await self._database.insert_new(self._table, [firsts[key].row for key in sorted(firsts)]))
        except BaseException as failure:
            # Nobody knows whether it was committed, so nobody is told that a row is new or not.
            for waiting in group:
                if not waiting.future.done():
                    waiting.future.set_exception(_unknown(failure))
            if not isinstance(failure, Exception):
                raise
            return
        for waiting in group:
            # Who wanted it may have been cancelled meanwhile; the row is there all the same.
            if not waiting.future.done():
                waiting.future.set_result(waiting.key in new and firsts[waiting.key] is waiting)


def _unknown(failure: BaseException) -> StoreUnavailable:
    # One for each who waits: an exception that several raise collects all their tracebacks.
    told = StoreUnavailable(str(failure) if isinstance(failure, StoreUnavailable) else f"putting rows: {failure!r}")
    told.__cause__ = failure
    return told
