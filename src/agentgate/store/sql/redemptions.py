"""Spent receipts in SQL. Those who spend at the same time share one commit.

No timer: alone, a receipt is spent at once; what arrives while a commit is under way goes with the next one.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import structlog

from agentgate.core.database import Database, NewRows, StoreUnavailable, Value
from agentgate.store.databases.values import check_values
from agentgate.tokens.ports import Redemption, SpendOutcome

# A larger group would make the first of it wait longer than it saves the others.
LARGEST_GROUP = 1_000
# When more than this wait, the store is not keeping up, and waiting longer would help nobody.
MOST_WAITING = 20_000

_ROWS = NewRows(
    "redemption",
    key=("site_id", "receipt_id"),
    types=(
        ("site_id", "text"),
        ("receipt_id", "text"),
        ("request_id", "text"),
        ("answer", "bytea"),
        ("kept_until_ms", "bigint"),
    ),
)

Key = tuple[str, str]
# Called with whether the receipt is spent now, or with why nobody knows.
Done = Callable[[SpendOutcome], None]


class Waiting(NamedTuple):
    """One who wants to spend."""

    key: Key
    row: tuple[Value, ...]
    done: Done


class SqlRedemptions:
    """Implements RedemptionStore."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: list[Waiting] = []
        self._spending: asyncio.Task[None] | None = None

    async def find_redemption(self, site_id: str, receipt_id: str) -> Redemption | None:
        """Return how a receipt was spent; None when it was not."""
        row = await self._database.one(
            "SELECT request_id, answer FROM redemption WHERE site_id = $1 AND receipt_id = $2", site_id, receipt_id
        )
        return Redemption(row[0], None if row[1] is None else bytes(row[1])) if row else None

    async def spend(self, site_id: str, receipt_id: str, redemption: Redemption, *, kept_until_ms: int) -> bool:
        """Spend a receipt, durably; False when it was spent already. Of many at once, one wins."""
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.spend_then(site_id, receipt_id, redemption, kept_until_ms=kept_until_ms, done=partial(_settle, future))
        return await future

    def spend_then(
        self, site_id: str, receipt_id: str, redemption: Redemption, *, kept_until_ms: int, done: Done
    ) -> None:
        """Spend a receipt likewise, and tell the caller how it went as soon as that is known."""
        if len(self._waiting) >= MOST_WAITING:
            raise StoreUnavailable("too many receipts wait to be spent")
        row = (site_id, receipt_id, redemption.request_id, redemption.answer, kept_until_ms)
        # Here already, so that a value which cannot be stored fails its own call and not the whole group.
        check_values(row)
        self._waiting.append(Waiting((site_id, receipt_id), row, done))
        if self._spending is None:
            self._spending = asyncio.create_task(self._spend_waiting())

    async def forget_redemptions(self, before_ms: int, *, most: int) -> int:
        """Remove some of those that need not be remembered any more; return how many went."""
        return await self._database.run(
            """DELETE FROM redemption WHERE (site_id, receipt_id) IN
                (SELECT site_id, receipt_id FROM redemption WHERE kept_until_ms < $1 ORDER BY kept_until_ms LIMIT $2)
                AND kept_until_ms < $1""",
            before_ms,
            most,
        )

    async def _spend_waiting(self) -> None:
        try:
            while self._waiting:
                group, self._waiting = self._waiting[:LARGEST_GROUP], self._waiting[LARGEST_GROUP:]
                await self._spend_group(group)
        finally:
            self._spending = None

    async def _spend_group(self, group: list[Waiting]) -> None:
        # Of several with the same key the first stands for all: it wins, or the receipt was spent before.
        firsts: dict[Key, Waiting] = {}
        for waiting in group:
            firsts.setdefault(waiting.key, waiting)
        try:
            spent = set(await self._database.insert_new(_ROWS, [firsts[key].row for key in sorted(firsts)]))
        except BaseException as failure:
            # Nobody knows whether it was committed, so nobody is told that a receipt was or was not spent.
            for waiting in group:
                _tell(waiting, _unknown(failure))
            if not isinstance(failure, Exception):
                raise
            return
        for waiting in group:
            _tell(waiting, waiting.key in spent and firsts[waiting.key] is waiting)


def _tell(waiting: Waiting, outcome: SpendOutcome) -> None:
    try:
        waiting.done(outcome)
    except Exception:  # noqa: BLE001 - one who cannot bear the news must not keep it from the others
        structlog.get_logger().exception("a spent receipt could not be answered")


def _settle(future: asyncio.Future[bool], outcome: SpendOutcome) -> None:
    # Who wanted it may have been cancelled meanwhile; it is spent all the same.
    if future.done():
        return
    if isinstance(outcome, bool):
        future.set_result(outcome)
    else:
        future.set_exception(outcome)


def _unknown(failure: BaseException) -> StoreUnavailable:
    # One for each who waits: an exception that several raise collects all their tracebacks.
    told = StoreUnavailable(str(failure) if isinstance(failure, StoreUnavailable) else f"spending: {failure!r}")
    told.__cause__ = failure
    return told
