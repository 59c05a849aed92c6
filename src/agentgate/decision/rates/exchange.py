"""RateExchange: rates over the workers of several machines, exchanged through Redis.

Counts are sent in two ways: `tell`, in the background, for all counts that have grown, and `ask`, soon, for a count
that may have reached a mark. No request waits for the response.
"""

import asyncio
from collections.abc import Sequence

from agentgate.decision.rates.sharing import Key, RateSharing, SharedCount
from agentgate.lib.clock import MINUTE_MS
from agentgate.lib.database import StoreUnavailable
from agentgate.lib.shared_cache import SharedCache

# A count of this minute is still asked for in the next one, and the clocks of two machines differ.
SHARED_TTL_MS = 3 * MINUTE_MS


class RateExchange(RateSharing):
    """Tells a shared store what this worker counted since the last time, against what all others counted."""

    def __init__(self, shared_cache: SharedCache, *, workers: int) -> None:
        super().__init__(workers=workers)
        self._shared_cache = shared_cache
        self._urgent: dict[Key, tuple[int, SharedCount]] = {}
        self._telling = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def ask(self, minute: int, count: SharedCount, *, rest_ms: int, marks: Sequence[int]) -> None:
        """Tell soon what this worker counted, if that is as much as it may keep to itself."""
        at = count.sum(rest_ms)
        # Past the last mark nothing changes, but the minute before fades, and the sum may fall below it again.
        if at < marks[-1]:
            untold = count.own - count.told
            most = self._step(at - untold, marks)
            if untold < most:
                count.ask_at = count.told + most
                return
            self._tell_soon(minute, count)
        count.ask_at = count.own + self._step(at, marks)

    def finish(self, minute: int, count: SharedCount) -> None:
        """Do nothing: the next `tell` completes the minute."""

    async def tell(self, minute: int, counts: Sequence[SharedCount]) -> None:
        """Send what was counted since the last time and read the others' counts. Raise StoreUnavailable on failure."""
        # One at a time: two that overtake each other would tell the same requests twice.
        async with self._telling:
            named = [(name_of(minute, count.key), count) for count in counts]
            await tell_all(self._shared_cache, named, ttl_ms=SHARED_TTL_MS)

    def _tell_soon(self, minute: int, count: SharedCount) -> None:
        """Tell in a background task, because waiting could take long. Counts that are due at the same time are sent
        together."""
        self._urgent[count.key] = (minute, count)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._tell_urgent())

    async def _tell_urgent(self) -> None:
        while self._urgent:
            urgent, self._urgent = self._urgent, {}
            for minute in {minute for minute, _ in urgent.values()}:
                try:
                    await self.tell(minute, [count for its, count in urgent.values() if its == minute])
                except StoreUnavailable:
                    # The background sync sends them when the store is available again.
                    return


async def tell_all(shared_cache: SharedCache, named: Sequence[tuple[str, SharedCount]], *, ttl_ms: int) -> None:
    """Send what was counted since the last time under these names, and take over what the others counted."""
    sent = [(count, count.own, count.own - count.told) for _, count in named]
    # Mark these as told now, so that only the rest is sent before the response arrives.
    for count, own, _ in sent:
        count.told = own
    try:
        totals = await shared_cache.exchange(
            [(name, amount) for (name, _), (_, _, amount) in zip(named, sent, strict=True)], ttl_ms=ttl_ms
        )
    except BaseException:
        # The next call sends them again. Until then this worker relies on its own counts.
        for count, _, amount in sent:
            count.told -= amount
        raise
    for (count, own, amount), total in zip(sent, totals, strict=True):
        take(count, own, amount, total)


def take(count: SharedCount, own: int, amount: int, total: int) -> None:
    """Merge a response: `total` of all workers, after `amount` new requests raised this worker's count to `own`."""
    if total < count.total:
        # The store started empty and contains only the `amount` that this worker just sent. Every worker sends the rest
        # again. Until then, keep what is known of the others.
        count.told -= own - amount
        own = amount
    count.others = max(count.others, total - own)
    count.total = total


def name_of(minute: int, key: Key) -> str:
    """Return the shared store's key of a count."""
    return f"rate:{minute}:{key}"
