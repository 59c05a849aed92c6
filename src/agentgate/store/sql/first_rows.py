"""Rows of which the first with a key wins. Those who put rows at the same time share one commit.

No timer: alone, a row is put at once; what arrives while a commit is under way goes with the next one.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import structlog

from agentgate.core.database import Database, NewRows, Row, StoreUnavailable, Value
from agentgate.store.databases.values import check_values

# A larger group would make the first of it wait longer than it saves the others.
LARGEST_GROUP = 1_000
# When more than this wait, the store is not keeping up, and waiting longer would help nobody.
MOST_WAITING = 20_000

# Whether the row is new, or why nobody knows.
Outcome = bool | StoreUnavailable
Done = Callable[[Outcome], None]


class Waiting(NamedTuple):
    """One who wants to be first."""

    key: Row
    row: tuple[Value, ...]
    done: Done


class FirstRows:
    """A table into which many put rows. The columns of the key are the first ones of a row."""

    def __init__(self, database: Database, table: NewRows) -> None:
        self._database = database
        self._table = table
        self._waiting: list[Waiting] = []
        self._putting: asyncio.Task[None] | None = None

    async def put(self, row: tuple[Value, ...]) -> bool:
        """Put a row, durably; False when its key is there already. Of many at once, one wins."""
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.put_then(row, partial(_settle, future))
        return await future

    def put_then(self, row: tuple[Value, ...], done: Done) -> None:
        """Put a row likewise, and say how it went as soon as that is known."""
        if len(self._waiting) >= MOST_WAITING:
            raise StoreUnavailable(f"too many wait for {self._table.table}")
        # Here already, so that a value which cannot be stored fails its own call and not the whole group.
        check_values(row)
        self._waiting.append(Waiting(row[: len(self._table.key)], row, done))
        if self._putting is None:
            self._putting = asyncio.create_task(self._put_waiting())

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
                _tell(waiting, _unknown(failure))
            if not isinstance(failure, Exception):
                raise
            return
        for waiting in group:
            _tell(waiting, waiting.key in new and firsts[waiting.key] is waiting)


def _tell(waiting: Waiting, outcome: Outcome) -> None:
    try:
        waiting.done(outcome)
    except Exception:  # noqa: BLE001 - one who cannot bear the news must not keep it from the others
        structlog.get_logger().exception("what became of a row could not be told")


def _settle(future: asyncio.Future[bool], outcome: Outcome) -> None:
    # Who wanted it may have been cancelled meanwhile; the row is there all the same.
    if future.done():
        return
    if isinstance(outcome, bool):
        future.set_result(outcome)
    else:
        future.set_exception(outcome)


def _unknown(failure: BaseException) -> StoreUnavailable:
    # One for each who waits: an exception that several raise collects all their tracebacks.
    told = StoreUnavailable(str(failure) if isinstance(failure, StoreUnavailable) else f"putting rows: {failure!r}")
    told.__cause__ = failure
    return told
