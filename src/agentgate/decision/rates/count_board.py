"""CountBoard: counts by visitor or network, in memory that all workers of a machine share.

Any worker may receive a visitor's requests. Each worker writes only its own part of the memory and reads all parts, so
no worker waits for another and nothing is sent. A replacement worker continues with the part of its predecessor.
"""

from typing import NamedTuple

# Entries of a worker: a set of a few for each remainder of the key. When all are taken, the smallest count of the
# oldest slot is overwritten.
SETS, WAYS = 2**15, 8
PART_BYTES = SETS * WAYS * 8
# An entry is 28 bits of the key, 20 of the slot, 16 of the count. It is written by one process, and in one piece. A set
# is filled from its first entry on, and no entry becomes 0 again.
_SLOT_BITS, _COUNT_BITS = 20, 16
_SLOTS, _MOST = 2**_SLOT_BITS - 1, 2**_COUNT_BITS - 1
_AGE = 2 ** (_SLOT_BITS + _COUNT_BITS) - 1
_PRIME = 2**61 - 1


class BoardPlace(NamedTuple):
    """The place of a key and a slot: the first entry of their set within a part, and the bits that identify them."""

    first: int
    stamp: int
    slot: int


NOWHERE = BoardPlace(0, 0, 0)


class CountBoard:
    """Counts by key and slot, the number of a time interval. Keys are hashes that outsiders cannot choose."""

    def __init__(self, memory: memoryview, *, own: int) -> None:
        self._entries = memory.cast("Q")
        self._own = own * SETS * WAYS

    def find(self, key: int, slot: int) -> BoardPlace:
        """Return where a key is counted in a slot; it is worth keeping."""
        number = key % _PRIME
        return BoardPlace(number % SETS * WAYS, number >> 33 << _SLOT_BITS | slot & _SLOTS, slot)

    def add(self, place: BoardPlace, count: int = 1) -> None:
        """Add to what this worker counted."""
        entries = self._entries
        first, stamp, _ = place
        first += self._own
        for at in range(first, first + WAYS):
            entry = entries[at]
            if entry >> _COUNT_BITS == stamp:
                count += entry & _MOST
                break
            if not entry:
                break
        else:
            at = min(range(first, first + WAYS), key=lambda each: entries[each] & _AGE)
        entries[at] = stamp << _COUNT_BITS | (count if count < _MOST else _MOST)  # noqa: FURB136 - a call takes longer

    def sums(self, place: BoardPlace) -> tuple[int, int]:
        """Return what all workers counted in a slot, and in the one before."""
        entries = self._entries
        first, stamp, _ = place
        count = count_before = 0
        for part in range(first, len(entries), SETS * WAYS):
            for at in range(part, part + WAYS):
                entry = entries[at]
                if not entry:
                    break
                found = entry >> _COUNT_BITS
                if found == stamp:
                    count += entry & _MOST
                elif found == stamp - 1:
                    count_before += entry & _MOST
        return count, count_before
