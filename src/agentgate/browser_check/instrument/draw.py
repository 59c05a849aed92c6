"""Source of an instrument program: a stream of choices derived from the challenge's seed, names, literals.

The stream is cryptographic: the seed, and with it the result, cannot be found from a program without running it.
"""

import hashlib
import struct
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, count
from typing import Final, NamedTuple, TypeVar

MASK: Final = 0xFFFFFFFF
UNITS_PER_BLOCK: Final = 1024
LETTERS: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
# None of these ends a reserved word or a global of two letters, so no name can collide with one.
ENDINGS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$"
NAMES: Final = len(LETTERS) * len(ENDINGS)
# Without a common factor with NAMES, so that a walk comes back only after all of them.
STRIDES: Final = (407, 541, 659, 773, 851, 971, 1063, 1187, 1291, 1409, 1523, 1613)
WORD_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
# Every character the program's own texts may hold. Others count as 0, in the program and here.
ALPHABET: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,:;-+()[]{}_=?#%&/~*!"

T = TypeVar("T")
# Four 32-bit words without sign; what the page's layout captures is kept behind them.
ProgramState = list[int]


class Piece(NamedTuple):
    """An expression of the program without side effects beyond its inputs, and its value in a real browser."""

    script: str
    value: Callable[[ProgramState], int]


class ProgramStep(NamedTuple):
    """Statements of the program, and their effect on the state."""

    script: str
    run: Callable[[ProgramState], None]


class RandomChoices:
    """The choices, in the order in which they are drawn."""

    def __init__(self, key: bytes) -> None:
        self._next = chain.from_iterable(_blocks(key)).__next__
        self._place = self.below(NAMES)
        self._stride = self.pick(STRIDES)

    def below(self, bound: int) -> int:
        """Draw 0 to bound - 1; the bound is small, so the bias of the product does not matter."""
        return self._next() * bound >> 16

    def between(self, least: int, most: int) -> int:
        return least + (self._next() * (most - least + 1) >> 16)

    def pick(self, choices: Sequence[T]) -> T:
        return choices[self._next() * len(choices) >> 16]

    def shuffled(self, values: Sequence[T]) -> list[T]:
        drawn = list(values)
        for last in range(len(drawn) - 1, 0, -1):
            other = self._next() * (last + 1) >> 16
            drawn[last], drawn[other] = drawn[other], drawn[last]
        return drawn

    def cut(self, text: str) -> str:
        """Draw another order of a text: as with cards, a few pieces of it change places."""
        for _ in range(6):
            one, other = sorted((self.below(len(text)), self.below(len(text))))
            text = text[other:] + text[one:other][::-1] + text[:one]
        return text

    def some(self, values: Sequence[T], count: int) -> list[T]:
        """Draw several different ones, in a drawn order."""
        drawn = list(values)
        for place in range(min(count, len(drawn) - 1)):
            other = place + (self._next() * (len(drawn) - place) >> 16)
            drawn[place], drawn[other] = drawn[other], drawn[place]
        return drawn[:count]

    def word(self) -> int:
        """Draw 32 bits."""
        return self._next() << 16 | self._next()

    def odd(self) -> int:
        """Draw an odd word: multiplying by it loses nothing."""
        return self._next() << 16 | self._next() | 1

    def name(self) -> str:
        """Give an identifier that the program does not have yet: a walk through all of them, from a drawn start."""
        self._place = (self._place + self._stride) % NAMES
        return LETTERS[self._place // 38] + ENDINGS[self._place % 38]

    def names(self, count: int) -> list[str]:
        """Draw several identifiers."""
        return [self.name() for _ in range(count)]

    def letters(self, count: int) -> str:
        """Draw a text of small letters."""
        return "".join([WORD_LETTERS[self._next() * 26 >> 16] for _ in range(count)])

    def constant(self) -> tuple[int, str]:
        """Draw a word and one way of writing it."""
        value = self.word()
        return value, self.literal(value)

    def factor(self) -> tuple[int, str]:
        """Draw an odd word and one way of writing it."""
        value = self.odd()
        return value, self.literal(value)

    def literal(self, value: int) -> str:
        """Write a number of 0 to 2^32 - 1 in one of several ways; each binds as tightly as a number."""
        way = self._next() & 15
        if way < 6:
            return str(value)
        if way < 11:
            return hex(value)
        if way == 11 and value < 0x7FFFFFFF:
            return f"(~-{value + 1})"
        if way == 12:
            other = self.word() & 0x7FFFFFFF
            return f"({value ^ other}^{other})" if value < 0x80000000 else f"(({value ^ other}^{other})>>>0)"
        if way == 13 and value < 0x10000:
            return f"0b{value:b}" if value < 64 else f"0o{value:o}"
        return str(value) if value < 0x80000000 else f"(-{(1 << 32) - value}>>>0)"

    def text(self, value: str) -> str:
        """Write a text of ASCII without quotes or backslashes in one of several ways."""
        way = self._next() & 7
        if way < 3:
            return f'"{value}"'
        if way < 5:
            return f"'{value}'"
        if way == 5 or len(value) < 3:
            return f"`{value}`"
        at = self.below(len(value))
        if way == 6:
            return f'"{value[:at]}\\x{ord(value[at]):02x}{value[at + 1 :]}"'
        return f'("{value[:at]}"+`{value[at:]}`)'


def _blocks(key: bytes) -> Iterator[tuple[int, ...]]:
    for block in count():
        digest = hashlib.shake_256(key + block.to_bytes(2, "big")).digest(2 * UNITS_PER_BLOCK)
        yield struct.unpack(f"<{UNITS_PER_BLOCK}H", digest)
