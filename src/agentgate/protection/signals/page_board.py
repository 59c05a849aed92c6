"""PageBoard: which visitors were allowed pages, in memory that all workers of a machine share.

The parts of a page may come to another worker than the page. Each worker writes a part of the memory of its own and
reads all of them, without locks or messages.
"""

from agentgate.lib.clock import MINUTE_MS

# A page is known for one slot at least, and two at most.
SLOT_MS = 10 * MINUTE_MS
# Entries of a worker: a set of a few for each remainder of the key, of which the oldest is overwritten.
SETS, WAYS = 2**15, 4
PART_BYTES = SETS * WAYS * 8
# An entry is 32 bits of the key, 16 of the slot, 16 of the count. It is written by one process, and in one piece.
_SLOTS = _MOST = 0xFFFF
_PRIME = 2**61 - 1


class PageBoard:
    """Counts of allowed pages by visitor."""

    def __init__(self, memory: memoryview, *, own: int) -> None:
        self._entries = memory.cast("Q")
        self._own = own * SETS * WAYS

    def add(self, key: int, now_ms: int) -> None:
        """Count a page that this worker allowed."""
        entries, slot = self._entries, now_ms // SLOT_MS & _SLOTS
        place, tag = _place_of(key)
        first = oldest = self._own + place
        most_age, count = -1, 1
        for at in range(first, first + WAYS):
            entry = entries[at]
            age = slot - (entry >> 16) & _SLOTS if entry else _SLOTS
            if entry >> 32 == tag:
                oldest, count = at, min((entry & _MOST) + 1, _MOST) if age <= 1 else 1
                break
            if age > most_age:
                oldest, most_age = at, age
        entries[oldest] = tag << 32 | slot << 16 | count

    def count(self, key: int, now_ms: int) -> int:
        """Return how many pages all workers allowed a visitor lately."""
        entries, slot = self._entries, now_ms // SLOT_MS & _SLOTS
        place, tag = _place_of(key)
        pages = 0
        for first in range(place, len(entries), SETS * WAYS):
            for at in range(first, first + WAYS):
                entry = entries[at]
                if entry >> 32 == tag and slot - (entry >> 16) & _SLOTS <= 1:
                    pages += entry & _MOST
        return pages


def _place_of(key: int) -> tuple[int, int]:
    """Return the first entry of a key's set within a part, and the bits by which it is known there."""
    number = key % _PRIME
    return number % SETS * WAYS, number >> 29
