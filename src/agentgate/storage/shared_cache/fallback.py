"""FallbackSharedCache: uses this process's memory while the shared cache is unavailable.

The local store counts for all workers, so that limits hold at about the same height, and counts all the time.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar, runtime_checkable

from agentgate.lib.clock import SECOND_MS, Clock
from agentgate.lib.database import StoreUnavailable
from agentgate.lib.shared_cache import Addition, SharedCache
from agentgate.storage.shared_cache.memory import MemorySharedCache

T = TypeVar("T")

# How long a store that has just failed is not used. Longer would prolong an outage, shorter would slow every call.
OPEN_MS = SECOND_MS
# An outage during which many keys are counted must not fill the memory.
MOST_MISSED = 50_000


@runtime_checkable
class RestoredSharedCache(SharedCache, Protocol):
    """A shared store that can be given the counts it missed."""

    @property
    def incarnation(self) -> int:
        """The incarnation of the store that responded last: a new number means that earlier counts are lost.

        0 before any response, and always for a store that cannot detect it.
        """

    async def restore(self, counters: Sequence[tuple[str, int, int]]) -> None:
        """Add to counters: key, count, remaining time to live of each."""


class FallbackSharedCache:
    """Uses the primary store; while that fails, the local one. An unavailable primary raises nothing here."""

    # Responses come from another process, which others use too.
    is_alone = False

    def __init__(self, primary: SharedCache, local: MemorySharedCache, clock: Clock) -> None:
        self._primary = primary
        self._restored = primary if isinstance(primary, RestoredSharedCache) else None
        self._incarnation = 0
        self._restoring = asyncio.Lock()
        # Counts of this process alone. An addition without a response is among them, so it may be counted twice: a
        # limit on guessing applies a little early then; otherwise it would restart with every outage.
        self._missed: dict[str, int] = {}
        self._local = local
        self._clock = clock
        self._degraded = False
        self._ask_again_ms = 0

    @property
    def kind(self) -> str:
        return self._primary.kind

    @property
    def degraded(self) -> bool:
        """Whether the local store is in use."""
        return self._degraded

    async def get(self, key: str) -> bytes | None:
        """Return the value, or None. Read a counter with `add(key, 0)`: that is scaled, this is not."""
        return await self._ask(lambda store: store.get(key))

    async def put(self, key: str, value: bytes, *, ttl_ms: int) -> None:
        await self._ask(lambda store: store.put(key, value, ttl_ms=ttl_ms))

    async def take_once(self, key: str, *, ttl_ms: int) -> bool:
        """Return True for the first caller within `ttl_ms`; while degraded, for the first of each process."""
        return await self._ask(lambda store: store.take_once(key, ttl_ms=ttl_ms))

    async def add(self, key: str, amount: int, *, ttl_ms: int) -> int:
        """Add to a counter and return the new count; while degraded, the local store's.

        The local one always counts too: a subject near its limit must not start at 0 when the primary goes away.
        """
        counted = await self._local.add(key, amount, ttl_ms=ttl_ms)
        if self._may_ask_primary():
            try:
                shared = await self._primary.add(key, amount, ttl_ms=ttl_ms)
            except StoreUnavailable:
                self._note(answers=False)
            else:
                self._note(answers=True)
                if not await self._catch_up(counted_there=(key, amount)):
                    return shared
                # The counts that it was given just now may be of this key.
                return await self._ask(lambda store: store.add(key, 0, ttl_ms=ttl_ms))
        if amount and self._restored is not None and len(self._missed) < MOST_MISSED:
            self._missed[key] = self._missed.get(key, 0) + amount
        return counted

    async def exchange(self, additions: Sequence[Addition], *, ttl_ms: int) -> list[int]:
        """Exchange with the primary store, or raise StoreUnavailable: the caller continues with its own counts."""
        if not self._may_ask_primary():
            raise StoreUnavailable("the shared cache is unavailable")
        try:
            counts = await self._primary.exchange(additions, ttl_ms=ttl_ms)
        except StoreUnavailable:
            self._note(answers=False)
            raise
        self._note(answers=True)
        return counts

    async def delete(self, key: str) -> None:
        """Delete the key in both stores, so that it does not come back with the other one."""
        await self._local.delete(key)
        await self._ask(lambda store: store.delete(key))

    async def ping(self) -> bool:
        """Return whether the primary store responds now."""
        try:
            answers = await self._primary.ping()
        except StoreUnavailable:
            answers = False
        self._note(answers=answers)
        if answers:
            await self._catch_up()
        return answers

    async def close(self) -> None:
        await self._primary.close()
        await self._local.close()

    async def _ask(self, act: Callable[[SharedCache], Awaitable[T]]) -> T:
        if self._may_ask_primary():
            try:
                result = await act(self._primary)
            except StoreUnavailable:
                self._note(answers=False)
            else:
                self._note(answers=True)
                return result
        return await act(self._local)

    async def _catch_up(self, counted_there: Addition = ("", 0)) -> bool:
        """Give the primary the counts of this process that it missed; return whether there were any.

        That is all of them when it was replaced; the other workers do the same. Otherwise a used-up limit would be
        reset. `counted_there` is the one addition that a new primary has already.
        """
        primary = self._restored
        if primary is None:
            return False
        if not self._incarnation:
            self._incarnation = primary.incarnation
        if primary.incarnation == self._incarnation and not self._missed:
            return False
        async with self._restoring:
            counters, missed = self._local.counters(), self._missed
            if primary.incarnation == self._incarnation:
                told = [(name, missed[name], left_ms) for name, _, left_ms in counters if name in missed]
            else:
                key, amount = counted_there
                told = [(name, count - amount if name == key else count, left_ms) for name, count, left_ms in counters]
            self._incarnation, self._missed = primary.incarnation, {}
            try:
                await primary.restore(told)
            except StoreUnavailable:
                self._missed = {name: count for name, count, _ in told}
                self._note(answers=False)
        return True

    def _may_ask_primary(self) -> bool:
        if not self._degraded:
            return True
        now_ms = self._clock.now_ms()
        if now_ms < self._ask_again_ms:
            return False
        # One caller tries; the others use the local store until the primary is back, so that they are not all delayed.
        self._ask_again_ms = now_ms + OPEN_MS
        return True

    def _note(self, *, answers: bool) -> None:
        self._degraded = not answers
        if not answers:
            self._ask_again_ms = self._clock.now_ms() + OPEN_MS
