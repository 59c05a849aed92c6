"""Memo: a bounded memory of results that depend on one text or tuple only."""

from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Memo(Generic[T]):
    """A dictionary that is emptied when it is full.

    Emptying costs next to nothing per entry, unlike keeping track of the oldest, and what is in use is back at once.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._found: dict[Hashable, T] = {}
        self.get = self._found.get

    def keep(self, key: Hashable, value: T) -> T:
        """Remember a result and return it."""
        if len(self._found) >= self._most:
            self._found.clear()
        self._found[key] = value
        return value

    def __len__(self) -> int:
        return len(self._found)
