"""RateWindows: how many requests a visitor and its network sent within the last minute, over all workers.

Counting is local and never waits. `sync` adds this worker's share to the shared store and learns the others'.
"""

import asyncio
from socket import AF_INET6, inet_pton

from msgspec import Struct

from agentgate.lib.clock import MINUTE_MS
from agentgate.lib.database import StoreUnavailable
from agentgate.lib.shared_cache import FastStore
from agentgate.protection.signals.facts import Rates

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


class _Window(Struct, gc=False):
    """The present window of one visitor or network, in one place: every check at the gateway counts in two of them."""

    # In the window before, by all workers.
    before: int
    own: int = 0
    # How many of our own were told, and how many others told.
    told: int = 0
    others: int = 0
    # Of a visitor: the address it came from last, and the window of that address's network.
    address: str = ""
    network: "_Window | None" = None

    def sum(self, rest: float) -> int:
        """Return how many came within the last minute, in which `rest` of the window before lies."""
        count = self.own + self.others
        return count + int(self.before * rest) if self.before else count


class Counted:
    """A visitor of a site who is counted again and again, with its windows of the present minute."""

    __slots__ = ("key", "network", "network_key", "turn", "window")

    def __init__(self, site: int, visitor: int, address: str) -> None:
        self.key = visitor_key(site, visitor)
        self.network_key = network_key(site, address)
        # Which minute's the windows are. Not the minutes themselves: whoever does not come again would keep them all.
        self.turn = -1
        self.window = self.network = _Window(0)


class RateWindows:
    """Two one-minute windows per key. The last minute is the present window and the rest of the one before."""

    def __init__(self, most_keys: int = MOST_KEYS) -> None:
        self._most_keys = most_keys // 2
        self._minute = 0
        # Until when the present window counts.
        self._end_ms = MINUTE_MS
        self._turns = 0
        self._present: dict[Key, _Window] = {}
        self._before: dict[Key, _Window] = {}

    def count(self, site: int, visitor: int, address: str, now_ms: int) -> Rates:
        """Count a request and return the rates, this one included."""
        if now_ms >= self._end_ms:
            self._turn(now_ms // MINUTE_MS)
        key = visitor_key(site, visitor)
        window = self._present.get(key) or self._open(key)
        network = window.network
        if network is None or window.address != address:
            other_key = network_key(site, address)
            network = window.network = self._present.get(other_key) or self._open(other_key)
            window.address = address
        window.own += 1
        network.own += 1
        rest = 1.0 - (now_ms % MINUTE_MS) / MINUTE_MS
        return Rates(window.sum(rest), network.sum(rest))

    def count_again(self, counted: Counted, now_ms: int) -> tuple[int, int]:
        """Count a request of somebody who was met before; return the rates of visitor and network, it included."""
        if now_ms >= self._end_ms:
            self._turn(now_ms // MINUTE_MS)
        if counted.turn != self._turns:
            counted.turn = self._turns
            counted.window = self._present.get(counted.key) or self._open(counted.key)
            counted.network = self._present.get(counted.network_key) or self._open(counted.network_key)
        window, network = counted.window, counted.network
        window.own += 1
        network.own += 1
        if window.before or network.before:
            rest = 1.0 - (now_ms % MINUTE_MS) / MINUTE_MS
            return window.sum(rest), network.sum(rest)
        return window.own + window.others, network.own + network.others

    def read(self, site: int, visitor: int, address: str, now_ms: int) -> Rates:
        """Return the rates without counting: the request belongs to one that was counted."""
        if now_ms // MINUTE_MS > self._minute:
            self._turn(now_ms // MINUTE_MS)
        rest = 1.0 - (now_ms % MINUTE_MS) / MINUTE_MS
        return Rates(self._sum(visitor_key(site, visitor), rest), self._sum(network_key(site, address), rest))

    async def sync(self, fast: FastStore) -> None:
        """Tell the shared store what was counted since the last time, and learn the sums."""
        minute = self._minute
        untold = [(each.own - each.told, key) for key, each in self._present.items() if each.own >= SHARED_FROM]
        changed = sorted((pair for pair in untold if pair[0]), key=lambda pair: -pair[0])[:MOST_SHARED]
        for start in range(0, len(changed), CALLS_AT_ONCE):
            batch = changed[start : start + CALLS_AT_ONCE]
            told = await asyncio.gather(*(self._share(fast, minute, key, amount) for amount, key in batch))
            # What was not told is told the next time; until then this worker's own counts stand.
            if not all(told):
                return

    def __len__(self) -> int:
        return len(self._present) + len(self._before)

    def _open(self, key: Key) -> _Window:
        window = self._present[key] = _Window(self._count_before(key))
        if len(self._present) >= self._most_keys:
            # There is no more room in it.
            self._end_ms = 0
        return window

    def _count_before(self, key: Key) -> int:
        before = self._before.get(key)
        return 0 if before is None else before.own + before.others

    def _sum(self, key: Key, rest: float) -> int:
        window = self._present.get(key)
        # At least the request that this belongs to.
        return max(1, int(self._count_before(key) * rest) if window is None else window.sum(rest))

    def _turn(self, minute: int) -> None:
        """Start a window; the one before the last is forgotten, as is the last when it ended over a minute ago."""
        self._before = {} if minute > self._minute + 1 else self._present
        self._present = {}
        self._turns += 1
        # A clock that was set back must not start a window for each request.
        self._minute = max(minute, self._minute)
        self._end_ms = (self._minute + 1) * MINUTE_MS

    async def _share(self, fast: FastStore, minute: int, key: Key, amount: int) -> bool:
        try:
            total = await fast.add(f"rate:{minute}:{key}", amount, ttl_ms=SHARED_TTL_MS)
        except StoreUnavailable:
            return False
        if minute == self._minute:
            window = self._present.get(key) or self._open(key)
            window.told += amount
            window.others = max(0, total - window.told)
        return True


def visitor_key(site: int, visitor: int) -> Key:
    """Return what a visitor of a site is counted by."""
    return site << 64 | visitor & 0xFFFF_FFFF_FFFF_FFFF


def network_key(site: int, address: str) -> Key:
    """Return what the network of an address is counted by."""
    return f"{site}:{network_of(address)}"


def network_of(address: str) -> str:
    """Return the /24 of an IPv4 address or the /64 of an IPv6 address as a short text."""
    if ":" not in address:
        return address.rpartition(".")[0] or address
    try:
        return inet_pton(AF_INET6, address)[:8].hex()
    except (OSError, ValueError):
        return address[:64]
