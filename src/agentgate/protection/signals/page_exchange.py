"""PageExchange: tells other workers which visitors were allowed pages; the parts of these may come to any of them."""

import asyncio

from agentgate.lib.clock import MINUTE_MS
from agentgate.lib.database import StoreUnavailable
from agentgate.lib.shared_cache import SharedCache
from agentgate.protection.signals.rate_exchange import Key

# Pages are counted by slot. Parts come soon after their page: the present slot and the one before are asked for.
SLOT_MS = 10 * MINUTE_MS
TTL_MS = 2 * SLOT_MS


class PageExchange:
    """Counts of allowed pages over a shared store."""

    def __init__(self, shared_cache: SharedCache) -> None:
        self._shared_cache = shared_cache
        self._untold: dict[str, int] = {}
        self._task: asyncio.Task[None] | None = None

    def tell(self, key: Key, now_ms: int) -> None:
        """Tell of an allowed page, together with all others of this turn of the event loop."""
        name = _name_of(now_ms // SLOT_MS, key)
        self._untold[name] = self._untold.get(name, 0) + 1
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._tell())

    def count(self, key: Key, now_ms: int) -> int | None:
        """Return how many pages a visitor was lately allowed by all workers; None where that takes a while to learn."""
        slot = now_ms // SLOT_MS
        asked = [(_name_of(slot, key), 0), (_name_of(slot - 1, key), 0)]
        answer = self._shared_cache.exchange_now(asked, ttl_ms=TTL_MS)
        return None if answer is None else sum(answer)

    async def _tell(self) -> None:
        while self._untold:
            untold, self._untold = self._untold, {}
            try:
                await self._shared_cache.exchange(list(untold.items()), ttl_ms=TTL_MS)
            except StoreUnavailable:
                # The others fall back to what they give to visitors of whom nothing can be known.
                return


def _name_of(slot: int, key: Key) -> str:
    return f"page:{slot}:{key}"
