"""BoundedCache: a cache with two generations. It is never cleared, and entries in use are never evicted.

An entry that is read moves to the young generation. When that is full it becomes the old one, and the former old one is
dropped: one assignment, however many entries there are.
"""

from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """Holds at most twice `capacity` entries. None means that nothing is cached."""

    __slots__ = ("_capacity", "_old", "young")

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        # Read first by a hot path, without a call: `cache.young.get(key) or cache.promote(key)`.
        self.young: dict[K, V] = {}
        self._old: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """Return what is cached under a key, and keep it for another generation."""
        found = self.young.get(key)
        return self.promote(key) if found is None else found

    def promote(self, key: K) -> V | None:
        """Return what the old generation has under a key, and keep it for another one. The young one has nothing."""
        found = self._old.get(key)
        if found is not None:
            self.put(key, found)
        return found

    def put(self, key: K, value: V) -> V:
        if len(self.young) >= self._capacity:
            self._old, self.young = self.young, {}
        self.young[key] = value
        return value

    def __len__(self) -> int:
        return len(self.young.keys() | self._old.keys())
