"""Rows of which the first with a key wins. Concurrent callers share one commit.

No timer: alone, a row is put at once; rows that arrive during a commit go with the next one.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

import structlog

from agentgate.lib.database import NewRows, Row, StoreUnavailable, Value
from agentgate.storage.values import check_values

# A larger group would delay its first row by more than it saves the others.
LARGEST_GROUP = 1_000
# A smaller one is not made smaller still.
SMALLEST_HALF = 16
# If more than this are queued, the store is too slow, and a longer queue would not help.
MOST_WAITING = 20_000
# After this number of reported outcomes, the next group can be sent, and requests can be read.
TOLD_AT_ONCE = 16

# Whether the row is new, or why that is unknown.
Outcome = bool | StoreUnavailable
Done = Callable[[Outcome], None]
# A row that waits: its key, the row, and the callback for the outcome.
Waiting = tuple[Row, tuple[Value, ...], Done]


class Inserter(Protocol):
    """A database, or a wrapper of one."""

    async def insert_new(self, new: NewRows, rows: Sequence[Sequence[Value]]) -> list[Row]:
        """Insert the rows whose key is not there yet; return the keys of those."""


class FirstRows:
    """A table into which many put rows. The columns of the key are the first ones of a row."""

    def __init__(self, database: Inserter, table: NewRows) -> None:
        self._database = database
        self._table = table
        self._key_width = len(table.key)
        self._waiting: list[Waiting] = []
        self._is_putting = False
        # The size of the next group.
        self._most = LARGEST_GROUP
        # Kept, because the loop alone does not keep a task alive.
        self._groups: set[asyncio.Task[None]] = set()

    async def put(self, row: tuple[Value, ...]) -> bool:
        """Put a row, durably; False if its key exists. Of many at once, one wins."""
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.put_then(row, partial(_fill, future))
        return await future

    def put_then(self, row: tuple[Value, ...], done: Done) -> None:
        """Put a row likewise, and report the outcome as soon as it is known."""
        if len(self._waiting) >= MOST_WAITING:
            raise StoreUnavailable(f"too many requests are queued for {self._table.table}")
        # Here already, so that a value which cannot be stored fails its own call and not the whole group.
        check_values(row)
        self._waiting.append((row[: self._key_width], row, done))
        if not self._is_putting:
            self._start_group(self._most)

    def _start_group(self, most: int) -> None:
        self._is_putting = True
        task = asyncio.create_task(self._put_group(most))
        self._groups.add(task)
        task.add_done_callback(self._groups.discard)

    async def _put_group(self, most: int) -> None:
        group, self._waiting = self._waiting[:most], self._waiting[most:]
        # Of several rows with the same key only the first is inserted: it wins, or the key existed before.
        firsts: dict[Row, Waiting] = {}
        for waiting in group:
            firsts.setdefault(waiting[0], waiting)
        try:
            new = set(await self._database.insert_new(self._table, [firsts[key][1] for key in sorted(firsts)]))
        except BaseException as failure:
            # It is unknown whether the commit succeeded, so no caller gets an outcome.
            for _, _, done in group:
                _tell(done, _unknown(failure))
            self._start_next(LARGEST_GROUP)
            if not isinstance(failure, Exception):
                raise
            return
        # Queued rows are sent before the outcomes are reported. With an empty queue, the notified callers come again
        # together, and would come in small groups if the first of them were sent at once.
        is_next_sent = bool(self._waiting)
        if is_next_sent:
            self._start_group(_fair_half(len(self._waiting), len(group)))
        try:
            await _tell_all([(waiting[2], waiting[0] in new and firsts[waiting[0]] is waiting) for waiting in group])
        finally:
            if not is_next_sent:
                # Should all of them come again together, half goes ahead, and the two halves take turns from then on.
                self._start_next(LARGEST_GROUP if len(group) < 2 * SMALLEST_HALF else _fair_half(0, len(group)))

    def _start_next(self, most: int) -> None:
        self._is_putting, self._most = False, most
        if self._waiting:
            self._start_group(most)


def _fair_half(waiting: int, told: int) -> int:
    """Return how many of the queued rows to send while other callers are notified, who will come again.

    Commits and requests then alternate, each as long as the other. If all were sent, a small group and a large one
    would alternate permanently: the loop idle during the long commit, and the store during many responses.
    """
    return min(max((waiting + told + 1) // 2, SMALLEST_HALF), LARGEST_GROUP)


async def _tell_all(outcomes: list[tuple[Done, bool]]) -> None:
    """Notify all callers, some at a time: the next group can be sent, and its commit runs concurrently."""
    at = 0
    try:
        while at < len(outcomes):
            await asyncio.sleep(0)
            portion = outcomes[at : at + TOLD_AT_ONCE]
            at += len(portion)
            for done, outcome in portion:
                _tell(done, outcome)
    finally:
        # Callers hear the outcome also when this task is canceled.
        for done, outcome in outcomes[at:]:
            _tell(done, outcome)


def _tell(done: Done, outcome: Outcome) -> None:
    try:
        done(outcome)
    except Exception:  # noqa: BLE001 - a failing callback must not keep the outcome from the others
        structlog.get_logger().exception("the result of an insert is unknown")


def _fill(future: asyncio.Future[bool], outcome: Outcome) -> None:
    # The caller may have been canceled; the row is stored nevertheless.
    if future.done():
        return
    if isinstance(outcome, bool):
        future.set_result(outcome)
    else:
        future.set_exception(outcome)


def _unknown(failure: BaseException) -> StoreUnavailable:
    # One exception for each caller: a shared one would collect all their tracebacks.
    told = StoreUnavailable(str(failure) if isinstance(failure, StoreUnavailable) else f"putting rows: {failure!r}")
    told.__cause__ = failure
    return told
