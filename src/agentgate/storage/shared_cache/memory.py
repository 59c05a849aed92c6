"""MemorySharedCache: the shared cache of one process. When it is full, the keys that expire soonest are evicted."""

import heapq
from collections.abc import Sequence

from agentgate.lib.clock import Clock
from agentgate.lib.shared_cache import Addition

# Dead entries of the heap are tolerated up to the number of live ones and this many more.
SLACK = 1_024


class MemorySharedCache:
    """Implements SharedCache in a dictionary, with a heap of their expiry times."""

    kind = "memory"
    # No other process uses these counts.
    is_alone = True

    def __init__(self, clock: Clock, max_keys: int = 200_000, *, workers: int = 1) -> None:
        self._clock = clock
        # Processes that do not share counts must share the limit: each counts for all of them.
        self._workers = workers
        self._max_keys = max_keys
        self._entries: dict[str, tuple[int, bytes | int]] = {}
        self._expiries: list[tuple[int, str]] = []

    async def get(self, key: str) -> bytes | None:
        return self.get_now(key)

    def get_now(self, key: str) -> bytes | None:
        """Return as `get` does. Nothing here waits: the owner's process does without coroutines."""
        value = self._live(key)
        return b"%d" % value if isinstance(value, int) else value

    async def put(self, key: str, value: bytes, *, ttl_ms: int) -> None:
        self.put_now(key, value, ttl_ms=ttl_ms)

    def put_now(self, key: str, value: bytes, *, ttl_ms: int) -> None:
        self._set(key, value, ttl_ms=ttl_ms)

    async def take_once(self, key: str, *, ttl_ms: int) -> bool:
        return self.take_once_now(key, ttl_ms=ttl_ms)

    def take_once_now(self, key: str, *, ttl_ms: int) -> bool:
        if self._live(key) is not None:
            return False
        self._set(key, b"1", ttl_ms=ttl_ms)
        return True

    async def add(self, key: str, amount: int, *, ttl_ms: int) -> int:
        """Add to a counter and return the new count, times the workers. The first addition starts the time to live."""
        return self.add_now(key, amount, ttl_ms=ttl_ms)

    def add_now(self, key: str, amount: int, *, ttl_ms: int) -> int:
        entry = self._entries.get(key)
        if entry is None or entry[0] <= self._clock.now_ms():
            self._set(key, amount, ttl_ms=ttl_ms)
            return amount * self._workers
        count = int(entry[1]) + amount
        self._entries[key] = (entry[0], count)
        return count * self._workers

    async def exchange(self, additions: Sequence[Addition], *, ttl_ms: int) -> list[int]:
        """Add to many counters; return the new counts, which belong to this process."""
        return [self.add_now(key, amount, ttl_ms=ttl_ms) // self._workers for key, amount in additions]

    def counters(self) -> list[tuple[str, int, int]]:
        """Return key, count and remaining time to live of every live counter, of this process alone."""
        now_ms = self._clock.now_ms()
        return [
            (key, count, expires_ms - now_ms)
            for key, (expires_ms, count) in self._entries.items()
            if isinstance(count, int) and count and expires_ms > now_ms
        ]

    async def delete(self, key: str) -> None:
        self.delete_now(key)

    def delete_now(self, key: str) -> None:
        self._entries.pop(key, None)

    async def ping(self) -> bool:
        return True

    async def close(self) -> None:
        self._entries.clear()
        self._expiries.clear()

    def _live(self, key: str) -> bytes | int | None:
        entry = self._entries.get(key)
        if entry is None or entry[0] <= self._clock.now_ms():
            return None
        return entry[1]

    def _set(self, key: str, value: bytes | int, *, ttl_ms: int) -> None:
        if ttl_ms <= 0:
            raise ValueError("a time to live must be positive")
        now_ms = self._clock.now_ms()
        self._make_room(now_ms, needed=0 if key in self._entries else 1)
        self._entries[key] = (now_ms + ttl_ms, value)
        heapq.heappush(self._expiries, (now_ms + ttl_ms, key))
        if len(self._expiries) > 2 * len(self._entries) + SLACK:
            self._expiries = [(expires_ms, name) for name, (expires_ms, _) in self._entries.items()]
            heapq.heapify(self._expiries)

    def _make_room(self, now_ms: int, *, needed: int) -> None:
        """Drop expired keys, and those that expire soonest while the store is full."""
        while self._expiries:
            expires_ms, key = self._expiries[0]
            if expires_ms > now_ms and len(self._entries) + needed <= self._max_keys:
                return
            heapq.heappop(self._expiries)
            # An entry that was set again, or deleted, left its old time behind in the heap.
            if self._entries.get(key, (None,))[0] == expires_ms:
                del self._entries[key]
