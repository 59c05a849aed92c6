"""Turns: verifications of one challenge, one after the other within this worker.

So whoever comes while a token is being made learns that the challenge was used, and not that its attempts are gone.
That a challenge makes one token only is the store's doing, not this.
"""

import asyncio
from weakref import WeakValueDictionary


class Turns:
    """A lock for each challenge that is being verified."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, challenge_id: str) -> asyncio.Lock:
        """Return the challenge's lock. It lives as long as a verification holds it or waits for it."""
        lock = self._locks.get(challenge_id)
        if lock is None:
            lock = self._locks[challenge_id] = asyncio.Lock()
        return lock

    def __len__(self) -> int:
        return len(self._locks)
