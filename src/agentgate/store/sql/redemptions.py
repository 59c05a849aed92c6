"""Spent receipts in SQL. Those who spend at the same time share one commit."""

from collections.abc import Callable

from agentgate.core.database import Database, NewRows, Value
from agentgate.store.sql.first_rows import FirstRows
from agentgate.tokens.ports import Redemption, SpendOutcome

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


class SqlRedemptions:
    """Implements RedemptionStore."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._rows = FirstRows(database, _ROWS)

    async def find_redemption(self, site_id: str, receipt_id: str) -> Redemption | None:
        """Return how a receipt was spent; None when it was not."""
        row = await self._database.one(
            "SELECT request_id, answer FROM redemption WHERE site_id = $1 AND receipt_id = $2", site_id, receipt_id
        )
        return Redemption(row[0], None if row[1] is None else bytes(row[1])) if row else None

    async def spend(self, site_id: str, receipt_id: str, redemption: Redemption, *, kept_until_ms: int) -> bool:
        """Spend a receipt, durably; False when it was spent already. Of many at once, one wins."""
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
        self._rows.put_then(_row(site_id, receipt_id, redemption, kept_until_ms), done)

    async def forget_redemptions(self, before_ms: int, *, most: int) -> int:
        """Remove some of those that need not be remembered any more; return how many went."""
        return await self._database.run(
            """DELETE FROM redemption WHERE (site_id, receipt_id) IN
                (SELECT site_id, receipt_id FROM redemption WHERE kept_until_ms < $1 ORDER BY kept_until_ms LIMIT $2)
                AND kept_until_ms < $1""",
            before_ms,
            most,
        )


def _row(site_id: str, receipt_id: str, redemption: Redemption, kept_until_ms: int) -> tuple[Value, ...]:
    return site_id, receipt_id, redemption.request_id, redemption.answer, kept_until_ms
