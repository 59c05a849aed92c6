"""RateWindows: how many requests a visitor and its network sent within the last minute, over all workers.

Counting is local and never waits. `sync` adds this worker's share to the shared store and learns the others'.
"""

import asyncio
from socket import AF_INET6, inet_pton

from agentgate.core.clock import MINUTE_MS
from agentgate.core.database import StoreUnavailable
from agentgate.core.fast import FastStore
from agentgate.detect.facts import Rates

# Both windows together.
MOST_KEYS = 200_000
# What a worker has seen less often is not worth a call: with this many workers it still stays below every threshold.
SHARED_FROM = 3
# Bounds of one sync: calls at once, and keys in all, those with most to tell first.
CALLS_AT_ONCE = 32
MOST_SHARED = 2_000
SHARED_TTL_MS = 3 * MINUTE_MS

# A visitor's key is a number, a network's is text.
Key = int | str


class RateWindows:
    """Two one-minute windows per key. The last minute is the present window and the rest of the one before."""

    def __init__(self, most_keys: int = MOST_KEYS) -> None:
        self._most_keys = most_keys // 2
        self._minute = 0
        self._own: dict[Key, int] = {}
        # Of keys that were shared in the present window: how many of our own were told, and how many others told.
        self._told: dict[Key, int] = {}
        self._others: dict[Key, int] = {}
        self._before: dict[Key, int] = {}

    def count(self, site: int, visitor: int, address: str, now_ms: int) -> Rates:
        """Count a request and return the rates, this one included."""
        minute = now_ms // MINUTE_MS
        if minute > self._minute or len(self._own) >= self._most_keys:
            self._turn(minute)
        # How much of the window before lies within the last minute.
        rest = 1.0 - (now_ms % MINUTE_MS) / MINUTE_MS
        visitor_key = site << 64 | visitor & 0xFFFF_FFFF_FFFF_FFFF
        return Rates(visitor=self._add(visitor_key, rest), network=self._add(f"{site}:{network_of(address)}", rest))

    def read(self, site: int, visitor: int, address: str, now_ms: int) -> Rates:
        """Return the rates without counting: the request belongs to one that was counted."""
        if now_ms // MINUTE_MS > self._minute:
            self._turn(now_ms // MINUTE_MS)
        rest = 1.0 - (now_ms % MINUTE_MS) / MINUTE_MS
        visitor_key = site << 64 | visitor & 0xFFFF_FFFF_FFFF_FFFF
        return Rates(visitor=self._sum(visitor_key, rest), network=self._sum(f"{site}:{network_of(address)}", rest))

    async def sync(self, fast: FastStore) -> None:
        """Tell the shared store what was counted since the last time, and learn the sums."""
        minute = self._minute
        untold = [(count - self._told.get(key, 0), key) for key, count in self._own.items() if count >= SHARED_FROM]
        changed = sorted((pair for pair in untold if pair[0]), key=lambda pair: -pair[0])[:MOST_SHARED]
        for start in range(0, len(changed), CALLS_AT_ONCE):
            batch = changed[start : start + CALLS_AT_ONCE]
            told = await asyncio.gather(*(self._share(fast, minute, key, amount) for amount, key in batch))
            # What was not told is told the next time; until then this worker's own counts stand.
            if not all(told):
                return

    def __len__(self) -> int:
        return len(self._own) + len(self._before)

    def _add(self, key: Key, rest: float) -> int:
        count = self._own.get(key, 0) + 1
        self._own[key] = count
        before = self._before.get(key)
        others = self._others.get(key)
        if others is not None:
            count += others
        return count if before is None else count + int(before * rest)

    def _sum(self, key: Key, rest: float) -> int:
        # At least the request that this belongs to.
        return max(1, self._own.get(key, 0) + self._others.get(key, 0) + int(self._before.get(key, 0) * rest))

    def _turn(self, minute: int) -> None:
        """Start a window; the one before the last is forgotten, as is the last when it ended over a minute ago."""
        if minute > self._minute + 1:
            self._before = {}
        else:
            self._before = self._own
            for key, count in self._others.items():
                self._before[key] = self._before.get(key, 0) + count
        self._own, self._told, self._others = {}, {}, {}
        # A clock that was set back must not start a window for each request.
        self._minute = max(minute, self._minute)

    async def _share(self, fast: FastStore, minute: int, key: Key, amount: int) -> bool:
        try:
            total = await fast.add(f"rate:{minute}:{key}", amount, ttl_ms=SHARED_TTL_MS)
        except StoreUnavailable:
            return False
        if minute == self._minute:
            told = self._told.get(key, 0) + amount
            self._told[key] = told
            self._others[key] = max(0, total - told)
        return True


def network_of(address: str) -> str:
    """Return the /24 of an IPv4 address or the /64 of an IPv6 address as a short text."""
    if ":" not in address:
        return address.rpartition(".")[0] or address
    try:
        return inet_pton(AF_INET6, address)[:8].hex()
    except (OSError, ValueError):
        return address[:64]
