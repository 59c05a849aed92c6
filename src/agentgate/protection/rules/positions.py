"""Places in a text and paths in a value: how a problem says where it is."""

from typing import NamedTuple

# Longer than any number that means something in a rule set, and short enough for every reader.
NUMBER_CHARACTERS = 30

# Keys and indexes from the top of a value to one of its parts.
Path = tuple[str | int, ...]


class Place(NamedTuple):
    """Line and column, counted from 1."""

    line: int
    column: int


class TextProblem(Exception):  # noqa: N818 - says what it is
    """A text cannot be read at all."""

    def __init__(self, message: str, place: Place) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
