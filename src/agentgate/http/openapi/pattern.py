"""A readable text that a regular expression accepts, for examples. It knows what patterns of field types use."""

import re
import string
import sys
from itertools import cycle, islice

_FILLERS = ("example", "0123456789abcdef", "EXAMPLE", "0123456789")
_QUANTIFIER = re.compile(r"([*+?]|\{(\d+)(,?)(\d*)\})\??")
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]")
_GROUP_START = re.compile(r"\((\?(?::|P<\w+>|<\w+>))?")
_NAMED_CLASSES = frozenset("dDwWsS")


def sample(pattern: str) -> str:
    """Return a text that fits a pattern, or "example" where the pattern is beyond this module."""
    try:
        text = _PatternReader(pattern).alternation()
        return text if re.search(pattern, text) else "example"
    except (re.error, IndexError, StopIteration):
        return "example"


class _PatternReader:
    """Reads a pattern from left to right, and writes the least text that each part accepts."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0

    def alternation(self) -> str:
        """Read up to the end or a closing parenthesis; the first alternative is the example."""
        first = self._sequence()
        while self._next() == "|":
            self._at += 1
            self._sequence()
        return first

    def _next(self) -> str:
        return self._pattern[self._at : self._at + 1]

    def _sequence(self) -> str:
        written = []
        while self._next() not in {"", "|", ")"}:
            written.append(self._part())
        return "".join(written)

    def _part(self) -> str:
        character = self._next()
        if character in {"^", "$"}:
            self._at += 1
            return ""
        if character == "(":
            return self._group()
        found = _CLASS.match(self._pattern, self._at) if character == "[" else None
        one = found[0] if found else self._pattern[self._at : self._at + (2 if character == "\\" else 1)]
        self._at += len(one)
        least, most = self._quantifier()
        if found or one == "." or one[1:] in _NAMED_CLASSES:
            return _fill(one, least, most)
        return one[-1] * least

    def _group(self) -> str:
        start = _GROUP_START.match(self._pattern, self._at)
        assert start is not None
        self._at = start.end()
        inner = self.alternation()
        self._at += 1
        return inner * self._quantifier()[0]

    def _quantifier(self) -> tuple[int, int]:
        found = _QUANTIFIER.match(self._pattern, self._at)
        if found is None:
            return 1, 1
        self._at = found.end()
        if found[1] in {"*", "+", "?"}:
            return (1 if found[1] == "+" else 0), (1 if found[1] == "?" else sys.maxsize)
        least = int(found[2])
        open_end = sys.maxsize if found[3] else least
        return least, int(found[4] or open_end)


def _fill(one: str, least: int, most: int) -> str:
    if least == 0:
        return ""
    allowed = re.compile(one)
    fillers = [filler for filler in _FILLERS if all(map(allowed.fullmatch, filler))]
    for filler in fillers:
        if least <= len(filler):
            return filler[:most]
    printable = string.ascii_letters + string.digits + string.punctuation
    repeated = max(fillers, key=len, default=None) or next(filter(allowed.fullmatch, printable))
    return "".join(islice(cycle(repeated), least))
