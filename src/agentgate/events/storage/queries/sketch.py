"""Counting different visitors over days whose visitors are forgotten: the smallest numbers of each day are kept.

Visitors' numbers are keyed hashes, so they are spread evenly: how close the smallest lie tells how many there are.
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
    # A full sketch says nothing of visitors above its last number.
    told = min((day[-1] for day in days if len(day) >= KEPT), default=_NUMBERS)
    # When nobody comes twice, the smallest of all lie in a part of that. What is found there tells how much more has to
    # be looked at, so hardly more numbers are put in order than are wanted.
    bound = told // max(len(days), 1)
    found = _up_to(bound, days)
    while len(found) < KEPT and bound < told:
        bound = min((bound + 1) * max(_ENOUGH // (len(found) + 1), 2), told)
        found = _up_to(bound, days)
    if len(found) < KEPT:
        return len(found)
    # The largest of the k smallest of n even spread numbers lies at about k/n of all there are.
    return round((KEPT - 1) * _NUMBERS / sorted(found)[KEPT - 1])


def _up_to(bound: int, days: Iterable[Sequence[int]]) -> set[int]:
    """Return the different numbers up to a bound. The numbers of each day come in order."""
    return set[int]().union(*(day[: bisect_right(day, bound)] for day in days))
