"""What redeeming asks of the durable stores."""

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from agentgate.lib.database import StoreUnavailable

# Whether a receipt is spent now (False: it was before), or why nobody knows.
SpendOutcome = bool | StoreUnavailable


class Redemption(Struct, frozen=True, gc=False):
    """A receipt that was spent: by which call, and what that was answered, byte for byte.

    Without a request ID the call can never be repeated, so there is no answer to keep.
    """

    request_id: str | None = None
    answer: bytes | None = None


class RedemptionStore(Protocol):
    """Spent receipts. Siteverify, gateway and handoff share them."""

    async def find_redemption(self, site_id: str, receipt_id: str) -> Redemption | None:
        """Return how a receipt was spent; None when it was not."""
        ...

    async def spend(self, site_id: str, receipt_id: str, redemption: Redemption, *, kept_until_ms: int) -> bool:
        """Spend a receipt, durably; False when it was spent already. Of many at once, one wins."""
        ...

    def spend_then(
        self,
        site_id: str,
        receipt_id: str,
        redemption: Redemption,
        *,
        kept_until_ms: int,
        done: Callable[[SpendOutcome], None],
    ) -> None:
        """Spend a receipt likewise; `done` is called with how it went, without a task that waits for it."""
        ...

    async def forget_redemptions(self, before_ms: int, *, most: int) -> int:
        """Remove some of those that need not be remembered any more; return how many went."""
        ...
