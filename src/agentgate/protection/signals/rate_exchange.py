"""RateExchange: what this worker counted since the last time, against what all others counted.

It works on `SharedCount`, of which the rate windows are made, and knows nothing else of them. Two ways: `tell`, in the
background for all counts that have grown, and `ask`, at once for a count that may have reached a mark.
"""

import asyncio
from bisect import bisect_right
from collections.abc import Sequence
from sys import maxsize

from msgspec import Struct

from agentgate.lib.clock import MINUTE_MS
from agentgate.lib.database import StoreUnavailable
from agentgate.lib.shared_cache import SharedCache

# A count of this minute is still asked for in the next one, and the clocks of two machines differ.
SHARED_TTL_MS = 3 * MINUTE_MS
# How many requests all other workers together may have counted and not told, in hundredths of the highest mark.
MOST_UNTOLD_PERCENT = 3

# A visitor's key is a number, a network's is text.
Key = int | str


class SharedCount(Struct, gc=False):
    """The requests of one visitor or network in one minute: this worker's own, and the others'."""

    own: int = 0
    others: int = 0
    # From which count of its own on this worker has to `ask` before it relies on the sum.
    ask_at: int = maxsize
    # How many of its own were sent to the shared store; the newest answer, and how many were sent by then.
    told: int = 0
    total: int = 0
    total_told: int = 0
    # Which store has `told`, `total` and `total_told`: another one, made anew, was told nothing.
    store: int = 0


class RateExchange:
    """Exchanges counts over a shared store. `marks` are the counts at which a decision may change, in rising order."""

    def __init__(self, shared_cache: SharedCache, *, workers: int) -> None:
        self._shared_cache = shared_cache
        # Somebody else counts too, or there would be nothing to exchange; how many machines share a Redis is not known.
        self.workers = max(2, workers)
        self._urgent: dict[Key, tuple[int, SharedCount]] = {}
        self._telling = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def first_ask(self, marks: Sequence[int], before: int) -> int:
        """Return `ask_at` of a new count, where so many of the minute before may still matter."""
        return 1 if before else self._step(0, marks)

    def ask(self, minute: int, key: Key, count: SharedCount, *, at: int, marks: Sequence[int]) -> None:
        """Learn what the others counted, if they can have made the sum `at` reach a mark.

        `at` is the sum that this worker knows: its own, the others' and the rest of the minute before.
        """
        untold = self._untold(count)
        if at >= marks[-1]:
            # Past the last mark nothing changes, but the minute before fades, and the sum may fall below it again.
            count.ask_at = count.own + self._step(at, marks)
            return
        if untold >= self._step(at - untold, marks):
            known = count.others
            store = self._shared_cache.incarnation
            answer = self._shared_cache.exchange_now([(name_of(minute, key), untold)], ttl_ms=SHARED_TTL_MS)
            if answer is None:
                self._tell_soon(minute, key, count)
                count.ask_at = count.own + self._step(at, marks)
                return
            _send(count, store)
            self._take(count, count.own, untold, answer[0])
            at, untold = at + count.others - known, 0
        count.ask_at = max(count.own + 1, count.own - untold + self._step(at - untold, marks))

    async def tell(self, minute: int, counts: Sequence[tuple[Key, SharedCount]]) -> None:
        """Tell what was counted since the last time and learn the others'; raise StoreUnavailable when that failed."""
        # One at a time: two that overtake each other would tell the same requests twice.
        async with self._telling:
            store = self._shared_cache.incarnation
            sent = [count.own for _, count in counts]
            amounts = [self._untold(count) for _, count in counts]
            # Sent from here on: an `ask` that comes before the answer tells the rest only.
            for _, count in counts:
                _send(count, store)
            try:
                totals = await self._shared_cache.exchange(
                    [(name_of(minute, key), amount) for (key, _), amount in zip(counts, amounts, strict=True)],
                    ttl_ms=SHARED_TTL_MS,
                )
            except BaseException:
                # Told again the next time; until then this worker's own counts stand.
                for (_, count), amount in zip(counts, amounts, strict=True):
                    count.told -= amount
                raise
            for (_, count), own, amount, total in zip(counts, sent, amounts, totals, strict=True):
                self._take(count, own, amount, total)

    def is_told(self, count: SharedCount) -> bool:
        """Return whether the store has all of this worker's own."""
        return not self._untold(count)

    def _untold(self, count: SharedCount) -> int:
        return count.own - count.told if count.store == self._shared_cache.incarnation else count.own

    def _take(self, count: SharedCount, own: int, amount: int, total: int) -> None:
        """Take over an answer: `total` of all workers, after `amount` more had made this worker's own `own`."""
        store = self._shared_cache.incarnation
        if own < count.total_told:
            # A later exchange was answered first.
            return
        if store != count.store or total < count.total:
            # The store began at nothing, and has no more of this worker's than was sent now. The rest is told again, by
            # every worker; until then what is known of the others stays.
            count.told -= own - amount
            count.store, own = store, amount
        count.others = max(count.others, total - own)
        count.total, count.total_told = total, own

    def _step(self, at: int, marks: Sequence[int]) -> int:
        """Return how many this worker may count on its own after the sum `at`.

        If each worker counts no more than its part of what is left to the next mark, they do not pass it together. And
        what some have not told yet, while one goes on alone, stays within the bound.
        """
        most = marks[-1] * MOST_UNTOLD_PERCENT // 100 // (self.workers - 1)
        place = bisect_right(marks, at)
        part = -(-(marks[place] - at) // self.workers) if place < len(marks) else most
        return max(1, min(part, most))

    def _tell_soon(self, minute: int, key: Key, count: SharedCount) -> None:
        """Tell without waiting, where waiting would take long; all that is asked meanwhile goes together."""
        self._urgent[key] = (minute, count)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._tell_urgent())

    async def _tell_urgent(self) -> None:
        while self._urgent:
            urgent, self._urgent = self._urgent, {}
            for minute in {minute for minute, _ in urgent.values()}:
                try:
                    await self.tell(minute, [(key, count) for key, (its, count) in urgent.items() if its == minute])
                except StoreUnavailable:
                    # They are told in the background when it is back.
                    return


def _send(count: SharedCount, store: int) -> None:
    """Note that all of this worker's own is on its way to a store."""
    if count.store != store:
        count.store, count.total, count.total_told = store, 0, 0
    count.told = count.own


def name_of(minute: int, key: Key) -> str:
    """Return the shared store's key of a count."""
    return f"rate:{minute}:{key}"
