"""Counting different visitors over days whose visitors were deleted: the smallest numbers of each day are kept.

Visitors' numbers are keyed hashes, so they are evenly distributed: the density of the smallest shows how many there
are.
"""

import struct
from bisect import bisect_right
from collections.abc import Iterable, Sequence

# As many as a day keeps. Up to here the count is exact.
KEPT = 2_048
_NUMBERS = 1 << 64
# So many expected numbers are hardly ever too few.
_ENOUGH = KEPT * 5 // 4


def estimate_sources(sketches: Iterable[bytes], others: Iterable[Sequence[int]]) -> int:
    """Return how many different visitors there are in sketches, eight bytes each, and in other unsigned numbers."""
    days: list[Sequence[int]] = [struct.unpack(f">{len(sketch) // 8}Q", sketch) for sketch in sketches]
    days += [sorted(visitors)[:KEPT] for visitors in others]
    # A full sketch has no visitors above its last number.
    told = min((day[-1] for day in days if len(day) >= KEPT), default=_NUMBERS)
    # If no visitor comes on two days, the smallest numbers are below `told` divided by the number of days. The count of
    # numbers within the bound determines how much further to search, so few more numbers are sorted than needed.
    bound = told // max(len(days), 1)
    found = _up_to(bound, days)
    while len(found) < KEPT and bound < told:
        bound = min((bound + 1) * max(_ENOUGH // (len(found) + 1), 2), told)
        found = _up_to(bound, days)
    if len(found) < KEPT:
        return len(found)
    # Of n evenly distributed numbers, the k-th smallest is at about k/n of the possible range.
    return round((KEPT - 1) * _NUMBERS / sorted(found)[KEPT - 1])


def _up_to(bound: int, days: Iterable[Sequence[int]]) -> set[int]:
    """Return the different numbers up to a bound. The numbers of each day come in order."""
    return set[int]().union(*(day[: bisect_right(day, bound)] for day in days))
