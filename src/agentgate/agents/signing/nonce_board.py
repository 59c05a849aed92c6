"""NonceBoard: nonces of signed reads that were accepted, in memory that the workers of a machine share.

Each worker writes a part and reads all of them, so no read of an agent costs a write in the store. Nothing is evicted:
if a set has no room, the store remembers the nonce, and until that nonce expires, callers query it about the set.
"""

import secrets
from hashlib import blake2b

from agentgate.lib.clock import MINUTE_MS

# Of a worker: sets of a marker and seven nonces.
SETS, WAYS = 2**15, 8
PART_BYTES = SETS * WAYS * 8
# An entry is 40 bits of the nonce's hash and the minute until which it is kept; the marker of a full set has a minute
# only. An entry is written by one process, and in one piece.
_MINUTE_BITS = 24
_MINUTES = 2**_MINUTE_BITS - 1
# 2024-01-01, so that the minutes fit.
_FIRST_MINUTE = 28_401_120


def nonce_bytes(workers: int) -> int:
    """Return how much memory the boards of so many workers take."""
    return workers * PART_BYTES


class NonceBoard:
    """Accepted nonces. Keys are hashed with a secret, so that no agent can fill a chosen set or cause a collision."""

    def __init__(self, memory: memoryview | None = None, *, own: int = 0, secret: bytes | None = None) -> None:
        self._entries = (memoryview(bytearray(PART_BYTES)) if memory is None else memory).cast("Q")
        self._own = own * SETS * WAYS
        self._secret = secret or secrets.token_bytes(32)

    def add(self, replay_key: bytes, *, kept_until_ms: int, now_ms: int) -> bool | None:
        """Remember a nonce: False if it is remembered already, None if only the store can know or remember it."""
        entries = self._entries
        number = int.from_bytes(blake2b(replay_key, digest_size=8, key=self._secret).digest())
        first, tag = number % SETS * WAYS, number >> _MINUTE_BITS << _MINUTE_BITS
        now = now_ms // MINUTE_MS - _FIRST_MINUTE
        is_full, free = False, -1
        for part in range(first, len(entries), SETS * WAYS):
            is_full = is_full or entries[part] >= now
            for at in range(part + 1, part + WAYS):
                entry = entries[at]
                is_kept = entry & _MINUTES >= now
                if is_kept and entry - (entry & _MINUTES) == tag:
                    return False
                if not is_kept and part == first + self._own and free < 0:
                    free = at
        until = min(kept_until_ms // MINUTE_MS + 1 - _FIRST_MINUTE, _MINUTES)
        if free < 0:
            marker = first + self._own
            entries[marker] = max(entries[marker], until)
            return None
        entries[free] = tag | until
        if self._is_others(first, tag, now):
            return False
        return None if is_full else True

    def _is_others(self, first: int, tag: int, now: int) -> bool:
        """Return whether another worker has written the nonce in the same moment; both then reject it."""
        entries = self._entries
        return any(
            entries[at] & _MINUTES >= now and entries[at] - (entries[at] & _MINUTES) == tag
            for part in range(first, len(entries), SETS * WAYS)
            if part != first + self._own
            for at in range(part + 1, part + WAYS)
        )
