"""Token budgets: checks that an address and a network may pass within an hour at a site without a visible challenge.

They rest on addresses alone, because clients can forge all else. A network's budget grows with its visiting addresses:
a pool has few in each network, and a carrier, from which most visitors of a site can come, has hundreds.
"""

from typing import NamedTuple

from agentgate.http.address import network_of, source_of
from agentgate.lib.clock import HOUR_MS
from agentgate.lib.shared_cache import SharedCache

# Of an address, and the least of a network.
PER_HOUR = 120
# For each address of a network, and for each of a network with so many of them. An IPv6 network counts as many
# addresses as an IPv4 one has.
PER_ADDRESS, PER_CROWDED, CROWD, MOST_ADDRESSES = 5, 8, 64, 254


class Budget(NamedTuple):
    """Silent checks of an address and of its network, and how many the network may have."""

    of_address: int
    of_network: int
    network_most: int

    def is_over(self, part: int = 1) -> bool:
        """Return whether more than a part, such as a half (2), was used."""
        return self.of_address * part > PER_HOUR or self.of_network * part > self.network_most


class TokenBudgets:
    """Counts the checks that pass, for all workers. An hour begins with the network's first check."""

    def __init__(self, shared_cache: SharedCache) -> None:
        self._shared_cache = shared_cache

    async def count(self, site: int, address: str, now_ms: int) -> Budget:
        """Count a check, and return the budget with it."""
        return await self._add(1, site, address, now_ms)

    async def next(self, site: int, address: str, now_ms: int) -> Budget:
        """Return the budget as it would be with one more check."""
        budget = await self._add(0, site, address, now_ms)
        return budget._replace(of_address=budget.of_address + 1, of_network=budget.of_network + 1)

    async def _add(self, amount: int, site: int, address: str, now_ms: int) -> Budget:
        network = f"tokens:{site}:{network_of(address)}"
        # The number of the hour would be worth two budgets to a farm that begins shortly before the next one.
        began = await self._shared_cache.get(network)
        if began is None and not amount:
            return Budget(0, 0, PER_HOUR)
        if began is None:
            began = str(now_ms).encode()
            await self._shared_cache.put(network, began, ttl_ms=HOUR_MS)
        name = f"{network}:{began.decode()}"
        source = f"{name}:{source_of(address)}"
        # Not by the count: while Redis is unavailable, the first check counts for all workers.
        is_new = amount > 0 and await self._shared_cache.take_once(f"{source}:seen", ttl_ms=HOUR_MS)
        addresses = await self._count(f"{name}:addresses", int(is_new))
        return Budget(
            await self._count(source, amount), await self._count(f"{name}:all", amount), network_most(addresses)
        )

    async def _count(self, key: str, amount: int) -> int:
        return await self._shared_cache.add(key, amount, ttl_ms=HOUR_MS)


def network_most(addresses: int) -> int:
    """Return the budget of a network from which so many addresses came."""
    counted = min(addresses, MOST_ADDRESSES)
    return max(PER_HOUR, counted * (PER_ADDRESS if counted < CROWD else PER_CROWDED))
