"""Glob: text in which a star stands for any characters, none included. Matching takes linear time, never backtracking.

Between two stars the first occurrence is the best one, so one search from left to right is enough. There is nothing
else to a glob: no question mark, no brackets. `\\*` is a star that is meant, `\\\\` a backslash.
"""

from collections.abc import Iterable

STAR, ESCAPE = "*", "\\"
# Replaces a star where one glob is matched with another: no glob contains this character.
_ANYTHING = "\uffff"


class Glob:
    __slots__ = ("_first", "_last", "_least", "_middle", "parts")

    def __init__(self, parts: Iterable[str]) -> None:
        """Take the texts between the stars; a single one is a glob without a star."""
        self.parts = tuple(parts)
        self._first, self._last = self.parts[0], self.parts[-1]
        self._middle = tuple(filter(None, self.parts[1:-1]))
        self._least = sum(map(len, self.parts))

    def matches(self, text: str) -> bool:
        """Return whether the whole text fits."""
        if len(self.parts) == 1:
            return text == self._first
        if len(text) < self._least or not text.startswith(self._first) or not text.endswith(self._last):
            return False
        place, end = len(self._first), len(text) - len(self._last)
        for part in self._middle:
            place = text.find(part, place, end)
            if place < 0:
                return False
            place += len(part)
        return True

    def covers(self, other: "Glob") -> bool:
        """Return whether every text that fits the other glob fits this one."""
        return self.matches(other.example(_ANYTHING))

    @property
    def is_universal(self) -> bool:
        """Return whether every text fits."""
        return len(self.parts) > 1 and self._least == 0

    def example(self, filling: str = "") -> str:
        """Return a text that fits, with the given text for each star."""
        return filling.join(self.parts)


def split_glob(text: str) -> list[str]:
    """Return the texts between the stars, with escapes resolved. ValueError for a backslash that escapes nothing."""
    parts, letters = [""], iter(text)
    for letter in letters:
        if letter == STAR:
            parts.append("")
        elif letter == ESCAPE:
            escaped = next(letters, "")
            if escaped not in (STAR, ESCAPE):
                raise ValueError("a backslash must be followed by a star or another backslash")
            parts[-1] += escaped
        else:
            parts[-1] += letter
    return parts


def read_folded_glob(text: str) -> Glob:
    """Return a case-insensitive glob; texts to match must be in lower case."""
    return Glob(part.lower() for part in split_glob(text))


def read_program_glob(text: str) -> Glob:
    """Return the glob of a User-Agent. Without a star, it matches anywhere in the text."""
    parts = [part.lower() for part in split_glob(text)]
    return Glob(("", *parts, "") if len(parts) == 1 else parts)
