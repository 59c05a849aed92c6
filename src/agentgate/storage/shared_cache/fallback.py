"""FallbackFastStore: goes on with this process's memory while the shared store is away.

The local store counts for all workers, so that limits hold at about the same height, and counts all the time.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from agentgate.lib.clock import SECOND_MS, Clock
from agentgate.lib.database import StoreUnavailable
from agentgate.lib.shared_cache import FastStore

T = TypeVar("T")

# How long nobody asks a store that has just failed. Longer would prolong an outage, shorter would slow every call.
OPEN_MS = SECOND_MS


class FallbackFastStore:
    """Asks the primary store; while that fails, asks the local one. A primary that is away raises nothing here."""

    # Answers come from elsewhere, and others count there too.
    is_alone = False

    def __init__(self, primary: FastStore, local: FastStore, clock: Clock) -> None:
        self._primary = primary
        self._local = local
        self._clock = clock
        self._degraded = False
        self._ask_again_ms = 0

    @property
    def degraded(self) -> bool:
        """Whether the local store answers at present."""
        return self._degraded

    async def get(self, key: str) -> bytes | None:
        """Return the value, or None. Read a counter with `add(key, 0)`: that is scaled, this is not."""
        return await self._ask(lambda store: store.get(key))

    async def put(self, key: str, value: bytes, *, ttl_ms: int) -> None:
        """Set the value and its time to live, whatever was there."""
        await self._ask(lambda store: store.put(key, value, ttl_ms=ttl_ms))

    async def take_once(self, key: str, *, ttl_ms: int) -> bool:
        """Return True for the first caller within `ttl_ms`; while degraded, for the first of each process."""
        return await self._ask(lambda store: store.take_once(key, ttl_ms=ttl_ms))

    async def add(self, key: str, amount: int, *, ttl_ms: int) -> int:
        """Add to a counter and return the new count; while degraded, the local store's.

        The local one always counts along: whoever is near a limit must not start at nothing when the primary goes away.
        """
        counted = await self._local.add(key, amount, ttl_ms=ttl_ms)
        if self._may_ask_primary():
            try:
                shared = await self._primary.add(key, amount, ttl_ms=ttl_ms)
            except StoreUnavailable:
                self._note(answers=False)
            else:
                self._note(answers=True)
                return shared
        return counted

    async def delete(self, key: str) -> None:
        """Forget the key in both stores, so that it does not come back when the other one answers."""
        await self._local.delete(key)
        await self._ask(lambda store: store.delete(key))

    async def ping(self) -> bool:
        """Say whether the primary store answers now."""
        try:
            answers = await self._primary.ping()
        except StoreUnavailable:
            answers = False
        self._note(answers=answers)
        return answers

    async def close(self) -> None:
        """Let go of both stores."""
        await self._primary.close()
        await self._local.close()

    async def _ask(self, act: Callable[[FastStore], Awaitable[T]]) -> T:
        if self._may_ask_primary():
            try:
                result = await act(self._primary)
            except StoreUnavailable:
                self._note(answers=False)
            else:
                self._note(answers=True)
                return result
        return await act(self._local)

    def _may_ask_primary(self) -> bool:
        if not self._degraded:
            return True
        now_ms = self._clock.now_ms()
        if now_ms < self._ask_again_ms:
            return False
        # One caller tries; the others are answered locally until it is back, not all held up at once.
        self._ask_again_ms = now_ms + OPEN_MS
        return True

    def _note(self, *, answers: bool) -> None:
        self._degraded = not answers
        if not answers:
            self._ask_again_ms = self._clock.now_ms() + OPEN_MS
