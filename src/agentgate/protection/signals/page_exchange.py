"""PageExchange: tells other workers which visitors were allowed pages; the parts of these may come to any of them."""

import asyncio
import contextlib

from agentgate.lib.clock import Clock
from agentgate.lib.database import StoreUnavailable
from agentgate.lib.shared_cache import SharedCache
from agentgate.protection.signals.part_budget import TOLD_FOR_MS
from agentgate.protection.signals.rate_exchange import Key

# Pages are counted by slot. Parts come soon after their page: the present slot and the one before are asked for.
SLOT_MS = TOLD_FOR_MS
TTL_MS = 2 * SLOT_MS


class PageExchange:
    """Counts of allowed pages over a shared store."""

    def __init__(self, shared_cache: SharedCache, clock: Clock) -> None:
        self._shared_cache = shared_cache
        self._clock = clock
        self._untold: dict[Key, int] = {}
        self._task: asyncio.Task[None] | None = None

    def tell(self, key: Key, pages: int) -> None:
        """Tell of allowed pages at the end of this turn of the loop, all together.

        Not later: a browser asks for a hundred pictures as soon as it has read the page.
        """
        if not self._untold:
            asyncio.get_running_loop().call_soon(self._start)
        self._untold[key] = self._untold.get(key, 0) + pages

    def count(self, key: Key, now_ms: int) -> int | None:
        """Return how many pages a visitor was lately allowed by all workers; None where that takes a while to learn."""
        slot = now_ms // SLOT_MS
        asked = [(_name_of(slot, key), 0), (_name_of(slot - 1, key), 0)]
        answer = self._shared_cache.exchange_now(asked, ttl_ms=TTL_MS)
        return None if answer is None else sum(answer)

    def _start(self) -> None:
        untold, self._untold = self._untold, {}
        self._task = asyncio.get_running_loop().create_task(self._tell(untold))

    async def _tell(self, untold: dict[Key, int]) -> None:
        slot = self._clock.now_ms() // SLOT_MS
        # The others fall back to what they give to visitors of whom nothing can be known.
        with contextlib.suppress(StoreUnavailable):
            await self._shared_cache.exchange(
                [(_name_of(slot, key), pages) for key, pages in untold.items()], ttl_ms=TTL_MS
            )


def _name_of(slot: int, key: Key) -> str:
    return f"page:{slot}:{key}"
