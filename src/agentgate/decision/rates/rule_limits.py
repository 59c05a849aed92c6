"""RuleLimits: how often the rules with a `rate` were met within their window, over all workers and machines.

A window is counted in ten slots and one more: the whole slot in which it began counts. So no stretch of the window's
length has more than the limit, and a request counts for up to 10% of the window longer.
"""

import asyncio
import secrets
from collections.abc import Sequence
from hashlib import blake2b

from msgspec import Struct

from agentgate.decision.rates.exchange import tell_all
from agentgate.decision.rates.sharing import SharedCount
from agentgate.lib.database import StoreUnavailable
from agentgate.lib.shared_cache import SharedCache
from agentgate.sites.rules.rate import SLOTS, RuleLimit

# Memory is bounded: sets of a few counters. In a full set, the smallest counter makes room.
SETS, WAYS = 2**13, 8
# A worker tells the others at once after this share of a limit, in hundredths.
MOST_UNTOLD_PERCENT = 1
# Counters from half of their limit on are read again in each exchange, so many at most.
MOST_READ = 2_000
_PRIME = 2**61 - 1


class _LimitSlot(SharedCount, gc=False, kw_only=True):
    """The requests of a slot."""

    number: int


class _Counter(Struct, gc=False):
    """The requests of one client that met one rule."""

    key: int
    limit: RuleLimit
    slots: list[_LimitSlot]
    total: int = 0
    # Up to which slot the counts of the others are complete.
    read: int = -1

    def sum(self, now: int) -> int:
        """Return the sum of the slots that reach into the window that ends now."""
        if self.slots and self.slots[0].number < now - SLOTS:
            self.slots = [slot for slot in self.slots if slot.number >= now - SLOTS]
        self.total = sum(slot.own + slot.others for slot in self.slots)
        return self.total

    def slot(self, number: int) -> _LimitSlot:
        """Return a slot that is not older than the newest, or one that was not used yet."""
        for slot in reversed(self.slots):
            if slot.number == number:
                return slot
        slot = _LimitSlot(key=self.key, number=number)
        self.slots.append(slot)
        self.slots.sort(key=lambda each: each.number)
        return slot

    @property
    def is_untold(self) -> bool:
        return any(slot.own > slot.told for slot in self.slots)


class RuleLimits:
    """Counts requests by rule and client."""

    def __init__(self, shared_cache: SharedCache | None = None) -> None:
        # None where no other process counts.
        self._shared_cache = shared_cache
        self._sets: dict[int, list[_Counter]] = {}
        # A secret, so that clients cannot choose counters to displace.
        self._secret = secrets.randbits(64)
        # Counters to exchange: as soon as possible, and in the next turn.
        self._urgent: dict[int, _Counter] = {}
        self._watched: dict[int, _Counter] = {}
        self._task: asyncio.Task[None] | None = None

    def is_over(self, limit: RuleLimit, site: int, client: int | str, now_ms: int) -> bool:
        """Count a request; return whether there are more than the limit, this one included."""
        number = client if isinstance(client, int) else int.from_bytes(blake2b(client.encode(), digest_size=8).digest())
        key = limit.tag ^ (site << 64 | number)
        counter, now = self._find(key, limit), now_ms // limit.slot_ms
        if counter.slots and counter.slots[-1].number > now:
            # The clock was set back.
            now = counter.slots[-1].number
        slot = counter.slot(now)
        slot.own += 1
        total = counter.sum(now)
        if self._shared_cache is not None:
            self._note(counter, slot, now, total)
        return total > limit.more_than

    async def sync(self) -> None:
        """Send the counts since the last time, and read counters that are near their limit again."""
        watched, self._watched = self._watched, {}
        counters = list(watched.values())[-MOST_READ:]
        try:
            await self._exchange(counters)
        except StoreUnavailable:
            # Told the next time; until then this worker's own counts apply.
            self._watched = watched | self._watched
            return
        for counter in counters:
            now = counter.slots[-1].number if counter.slots else 0
            if counter.is_untold or counter.sum(now) * 2 > counter.limit.more_than:
                self._watched.setdefault(counter.key, counter)

    def __len__(self) -> int:
        return sum(map(len, self._sets.values()))

    def _find(self, key: int, limit: RuleLimit) -> _Counter:
        place = (key ^ self._secret) % _PRIME % SETS
        found = self._sets.setdefault(place, [])
        for counter in found:
            if counter.key == key:
                return counter
        made = _Counter(key, limit, [])
        if len(found) < WAYS:
            found.append(made)
        else:
            found[min(range(WAYS), key=lambda at: found[at].total)] = made
        return made

    def _note(self, counter: _Counter, slot: _LimitSlot, now: int, total: int) -> None:
        """Let the others know soon, where they may need it."""
        most = counter.limit.more_than
        untold = slot.own - slot.told
        # Far past the limit nothing changes at once.
        if counter.read < now - 1 or (untold * 100 >= most * MOST_UNTOLD_PERCENT and total <= most * 2):
            self._urgent[counter.key] = counter
            if self._task is None or self._task.done():
                self._task = asyncio.get_running_loop().create_task(self._tell_urgent())
        self._watched[counter.key] = counter

    async def _tell_urgent(self) -> None:
        while self._urgent:
            urgent, self._urgent = self._urgent, {}
            try:
                await self._exchange(list(urgent.values()))
            except StoreUnavailable:
                return

    async def _exchange(self, counters: Sequence[_Counter]) -> None:
        """Tell the counts of these counters, and take over the others' counts."""
        assert self._shared_cache is not None
        for ttl_ms in {_ttl_of(each.limit) for each in counters}:
            same = [each for each in counters if _ttl_of(each.limit) == ttl_ms and each.slots]
            # The slot before may have grown since it was read.
            slots = [
                each.slot(number)
                for each in same
                for now in [each.slots[-1].number]
                for number in range(max(now - SLOTS, each.read - 1), now + 1)
            ]
            named = [(f"limit:{slot.number}:{slot.key:x}", slot) for slot in slots]
            await tell_all(self._shared_cache, named, ttl_ms=ttl_ms)
            for counter in same:
                counter.read = max(counter.read, counter.slots[-1].number)
                counter.slots = [slot for slot in counter.slots if slot.own or slot.others or slot is counter.slots[-1]]


def _ttl_of(limit: RuleLimit) -> int:
    # Clocks of two machines differ.
    return limit.slot_ms * (SLOTS + 2) + 1_000
