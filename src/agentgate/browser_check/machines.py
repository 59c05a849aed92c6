"""Machines: hourly budgets for the checks of one computer's shape, over all networks and workers.

People have equal computers too, but in many networks. Each network adds to the budget, so that a popular phone never
reaches it and one machine behind a pool of addresses does. A network with few checks of a shape never pays for others.
"""

from collections import OrderedDict

from msgspec import Struct

from agentgate.lib.clock import DAY_MS, HOUR_MS
from agentgate.lib.shared_cache import SharedCache

# Checks of one shape within an hour without a challenge: in all, and for each of its networks.
LEAST, PER_NETWORK = 600, 60
# And this multiple of the average hour of the day.
USUAL_TIMES = 3
# Cached shapes; the least recently seen are evicted first.
MOST_MACHINES = 16_384


class Machine(Struct):
    """Worth of a shape's hours of this day, at most `PER_NETWORK` for each network: no farm raises its budget."""

    hour: int
    worth: int = 0
    earlier: int = 0

    def usual(self, now_ms: int) -> float:
        """Return the average of the day's past hours."""
        hours = now_ms % DAY_MS // HOUR_MS
        return self.earlier / hours if hours else 0.0


class Machines:
    """Counts checks by shape, network and hour."""

    def __init__(self, shared_cache: SharedCache) -> None:
        self._shared_cache = shared_cache
        self._known: OrderedDict[bytes, Machine] = OrderedDict()

    async def is_over(self, shape: bytes, network: int, *, tokens: int, now_ms: int) -> bool:
        """Count a check, and return whether it is beyond the shape's budget. `tokens`: the site's own; 0: the usual."""
        machine = self._machine(shape, now_ms)
        name = f"machine:{shape.hex()}:{machine.hour}"
        count = await self._add(name, 1)
        of_network = await self._add(f"{name}:{network:x}", 1)
        networks = await self._add(f"{name}:networks", int(of_network == 1))
        machine.worth = max(machine.worth, min(count, PER_NETWORK * networks))
        if tokens:
            return count > tokens
        budget = max(LEAST, PER_NETWORK * networks, USUAL_TIMES * machine.usual(now_ms))
        return count > budget and of_network > PER_NETWORK

    def clear(self) -> None:
        """Forget the day."""
        self._known.clear()

    def _machine(self, shape: bytes, now_ms: int) -> Machine:
        hour = now_ms // HOUR_MS
        machine = self._known.get(shape)
        if machine is None:
            machine = self._known[shape] = Machine(hour)
            if len(self._known) > MOST_MACHINES:
                self._known.popitem(last=False)
        self._known.move_to_end(shape)
        if machine.hour != hour:
            machine.hour, machine.earlier, machine.worth = hour, machine.earlier + machine.worth, 0
        return machine

    async def _add(self, key: str, amount: int) -> int:
        return await self._shared_cache.add(key, amount, ttl_ms=HOUR_MS)
