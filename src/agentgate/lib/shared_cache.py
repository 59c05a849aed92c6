"""SharedCache: short-lived shared state that may be lost, such as rate windows.

Operations that must happen once (redeeming a token, a nonce, a code) never use it: they are SQL statements in the
durable store.
"""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

# A counter's key, and what to add to it.
Addition = tuple[str, int]


class SharedCache(Protocol):
    """Expiring values and counters: in memory, in one process for all workers, or on Redis.

    Keys are plain text, values are bytes.
    """

    @property
    def kind(self) -> str:
        """The kind of cache, for the readiness probe."""

    @property
    def is_alone(self) -> bool:
        """Whether counts belong to this process alone."""

    async def get(self, key: str) -> bytes | None:
        """Return the value, or None when there is none or it has expired."""

    async def put(self, key: str, value: bytes, *, ttl_ms: int) -> None:
        """Set the value and its time to live; replace an earlier value."""

    async def take_once(self, key: str, *, ttl_ms: int) -> bool:
        """Return True for the first caller within `ttl_ms`, False for every other."""

    async def add(self, key: str, amount: int, *, ttl_ms: int) -> int:
        """Add to a counter and return the new count. The first addition starts the time to live."""

    async def exchange(self, additions: Sequence[Addition], *, ttl_ms: int) -> list[int]:
        """Add to many counters that only this method uses; return the new counts of all processes.

        A shared store that is unavailable raises StoreUnavailable: nothing is estimated, the caller has separate
        counts.
        """

    async def delete(self, key: str) -> None:
        """Delete the key. Nothing happens when there is none."""

    async def ping(self) -> bool:
        """Return whether the store responds now."""

    async def close(self) -> None:
        """Let go of connections."""


@runtime_checkable
class InProcessCache(SharedCache, Protocol):
    """A cache in this process's memory, also without a coroutine: that takes longer than counting."""

    def add_now(self, key: str, amount: int, *, ttl_ms: int) -> int:
        """Add as `add` does."""
