"""Dice: the choices that a program or a draw is made of. The same key always gives the same ones, in the same order."""

import hashlib
import struct
from collections.abc import Iterator, Sequence
from itertools import chain, count
from typing import TypeVar

T = TypeVar("T")

UNITS = struct.Struct("<32H")
KEY_BYTES = 64


class Dice:
    """A stream of choices out of blake2b. Bounds are small, so the bias of the products does not matter."""

    def __init__(self, seed: bytes, number: int, *, purpose: bytes = b"probe") -> None:
        self._next = chain.from_iterable(_blocks(seed[:KEY_BYTES], number, purpose)).__next__

    def below(self, bound: int) -> int:
        return self._next() * bound >> 16

    def between(self, least: int, most: int) -> int:
        return least + (self._next() * (most - least + 1) >> 16)

    def hits(self, percent: int) -> bool:
        """Return True with a probability in percent."""
        return self._next() * 100 >> 16 < percent

    def pick(self, choices: Sequence[T]) -> T:
        return choices[self._next() * len(choices) >> 16]

    def hundredths(self, least: int, most: int) -> float:
        """Draw a number with two places; the bounds are hundredths."""
        return self.between(least, most) / 100

    def some(self, values: Sequence[T], most: int) -> list[T]:
        """Draw several different ones, in a drawn order."""
        left = list(values)
        drawn: list[T] = []
        while left and len(drawn) < most:
            drawn.append(left.pop(self.below(len(left))))
        return drawn

    def shuffled(self, values: Sequence[T]) -> list[T]:
        """Draw an order."""
        return self.some(values, len(values))


def _blocks(seed: bytes, number: int, purpose: bytes) -> Iterator[tuple[int, ...]]:
    start = number.to_bytes(8, "big")
    for block in count():
        text = start + block.to_bytes(4, "big")
        yield UNITS.unpack(hashlib.blake2b(text, key=seed, person=purpose).digest())
