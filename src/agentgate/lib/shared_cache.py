"""FastStore: short-lived shared state that may be forgotten, such as rate windows.

What must happen once (spending a token, a nonce, a code) never goes here: it is an SQL statement in the durable store.
"""

from typing import Protocol, runtime_checkable


class FastStore(Protocol):
    """Expiring values and counters, in memory or on Redis. Keys are plain text, values are bytes."""

    @property
    def is_alone(self) -> bool:
        """Say whether no other process counts here, nor is counted for."""
        ...

    async def get(self, key: str) -> bytes | None:
        """Return the value, or None when there is none or it has expired."""
        ...

    async def put(self, key: str, value: bytes, *, ttl_ms: int) -> None:
        """Set the value and its time to live, whatever was there."""
        ...

    async def take_once(self, key: str, *, ttl_ms: int) -> bool:
        """Return True for the first caller within `ttl_ms`, False for every other."""
        ...

    async def add(self, key: str, amount: int, *, ttl_ms: int) -> int:
        """Add to a counter and return the new count. The first addition starts the time to live."""
        ...

    async def delete(self, key: str) -> None:
        """Forget the key. Nothing happens when there is none."""
        ...

    async def ping(self) -> bool:
        """Say whether the store answers now."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


@runtime_checkable
class LocalFastStore(FastStore, Protocol):
    """One that answers out of this process's memory, also without a coroutine: that takes longer than counting."""

    def add_now(self, key: str, amount: int, *, ttl_ms: int) -> int:
        """Add as `add` does."""
        ...
