"""Counting different visitors over days whose visitors are forgotten: the smallest numbers of each day are kept.

Visitors' numbers are keyed hashes, so they are spread evenly: how close the smallest lie tells how many there are.
"""

import struct
from bisect import bisect_left
from collections.abc import Iterable, Sequence

# As many as a day keeps. Up to here the count is exact.
KEPT = 2_048
_NUMBERS = 1 << 64


def estimate_sources(sketches: Iterable[bytes], others: Iterable[Sequence[int]]) -> int:
    """Return how many different visitors there are in sketches, eight bytes each, and in other unsigned numbers."""
    smallest: list[int] = []
    for sketch in sketches:
        smallest = _merge(smallest, struct.unpack(f">{len(sketch) // 8}Q", sketch))
    for visitors in others:
        smallest = _merge(smallest, sorted(visitors))
    if len(smallest) < KEPT:
        return len(smallest)
    # The largest of the k smallest of n even spread numbers lies at about k/n of all there are.
    return round((KEPT - 1) * _NUMBERS / smallest[-1])


def _merge(smallest: list[int], ordered: Sequence[int]) -> list[int]:
    # What is above the last of enough numbers cannot come in, and of a later day that is nearly everything.
    end = bisect_left(ordered, smallest[-1]) if len(smallest) == KEPT else len(ordered)
    return sorted({*smallest, *ordered[:end]})[:KEPT] if end else smallest
