"""Spent receipts in SQL. Concurrent spends share one commit."""

from collections.abc import Callable
from functools import partial

from msgspec import Struct

from agentgate.lib.clock import Clock, SystemClock
from agentgate.lib.database import Database, NewRows, StoreUnavailable, Value
from agentgate.protection.tokens.repositories.spend_marks import MarkedRows, SpendMarks
from agentgate.storage.repositories.first_rows import FirstRows

# Whether a receipt is spent now (False: it was before), or why nobody knows.
SpendOutcome = bool | StoreUnavailable

ROWS = NewRows(
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


class Redemption(Struct, frozen=True, gc=False):
    """A receipt that was spent: by which call, and what that was answered, byte for byte.

    Without a request ID the call can never be repeated, so there is no answer to keep.
    """

    request_id: str | None = None
    answer: bytes | None = None


class RedemptionStore:
    """Spent receipts. Siteverify, gateway and handoff share them."""

    def __init__(self, database: Database, marks: SpendMarks | None = None, *, clock: Clock | None = None) -> None:
        self._database = database
        self._marks = marks
        self._marked = None if marks is None else MarkedRows(database, marks, clock or SystemClock())
        self._rows = FirstRows(self._marked or database, ROWS)

    @property
    def lost_ms(self) -> int:
        """When spends were lost, or are known to have been; 0 or less where none were."""
        return 0 if self._marks is None else self._marks.lost_ms

    async def check_marks(self, now_ms: int, *, is_unmarked: bool = False) -> None:
        """Look whether the last spends are there. If not, nothing issued until now can be spent: it may have been.

        `is_unmarked`: the database was in use, and there is nothing beside it that a use would have left. Then it was
        put there, and what was spent since it was copied is not in it.
        """
        if self._marks is not None and self._marked is not None:
            is_unmarked = is_unmarked and not self._marks.list_marks()
            await self._marked.check(now_ms, is_unmarked=is_unmarked)

    async def raise_floor(self, now_ms: int) -> None:
        """Let nothing be spent that was issued until now: a store that was restored does not know what was spent."""
        if self._marked is not None:
            await self._marked.lose(now_ms)

    async def read_floor(self) -> None:
        """Take over what another worker, another machine or a command has found to be lost."""
        if self._marked is not None:
            await self._marked.read_floor()

    async def find_redemption(self, site_id: str, receipt_id: str) -> Redemption | None:
        """Return how a receipt was spent; None when it was not."""
        row = await self._database.one(
            "SELECT request_id, answer FROM redemption WHERE site_id = $1 AND receipt_id = $2", site_id, receipt_id
        )
        return Redemption(row[0], None if row[1] is None else bytes(row[1])) if row else None

    async def spend(self, site_id: str, receipt_id: str, redemption: Redemption, *, kept_until_ms: int) -> bool:
        """Spend a receipt, durably; False when it was spent already, or may have been. Of many at once, one wins."""
        if self._is_doubtful(kept_until_ms):
            await self._rows.put(_row(site_id, receipt_id, Redemption(), kept_until_ms))
            return False
        return await self._rows.put(_row(site_id, receipt_id, redemption, kept_until_ms))

    def spend_then(
        self,
        site_id: str,
        receipt_id: str,
        redemption: Redemption,
        *,
        kept_until_ms: int,
        done: Callable[[SpendOutcome], None],
    ) -> None:
        """Spend a receipt likewise, and tell the caller how it went as soon as that is known."""
        marks = self._marks
        if marks is not None and marks.is_doubtful(kept_until_ms):
            redemption, done = Redemption(), partial(_tell_spent, done)
        self._rows.put_then((site_id, receipt_id, redemption.request_id, redemption.answer, kept_until_ms), done)

    def _is_doubtful(self, kept_until_ms: int) -> bool:
        return self._marks is not None and self._marks.is_doubtful(kept_until_ms)

    async def forget_redemptions(self, before_ms: int, *, most: int) -> int:
        """Remove some of those that need not be remembered any more; return how many went."""
        return await self._database.run(
            """DELETE FROM redemption WHERE (site_id, receipt_id) IN
                (SELECT site_id, receipt_id FROM redemption WHERE kept_until_ms < $1 ORDER BY kept_until_ms LIMIT $2)
                AND kept_until_ms < $1""",
            before_ms,
            most,
        )


def _tell_spent(done: Callable[[SpendOutcome], None], outcome: SpendOutcome) -> None:
    # A missing row proves nothing: it may be among the lost spends.
    done(outcome if isinstance(outcome, StoreUnavailable) else False)


def _row(site_id: str, receipt_id: str, redemption: Redemption, kept_until_ms: int) -> tuple[Value, ...]:
    return site_id, receipt_id, redemption.request_id, redemption.answer, kept_until_ms
