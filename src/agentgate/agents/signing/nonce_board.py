"""NonceBoard: nonces of signed reads that were accepted, in files that the workers of a machine map into memory.

Each worker writes a part and reads all of them, so no read of an agent costs a write in the store. Nothing is evicted:
if a set has no room, the store remembers the nonce, and until that nonce expires, callers query it about the set.

Files survive a restart and a crash of the service. A process that takes over while its predecessor drains writes other
parts. After a power cut, the nonces of the last seconds may be lost.
"""

import fcntl
import itertools
import mmap
import os
import secrets
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

import structlog

from agentgate.lib.clock import MINUTE_MS

# In the data directory.
FOLDER = "nonces"
# Of a part: sets of a marker and seven nonces.
SETS, WAYS = 2**15, 8
PART_BYTES = SETS * WAYS * 8
SECRET_BYTES = 32
# An entry is 40 bits of the nonce's hash and the minute until which it is kept; the marker of a full set has a minute
# only. An entry is written by one process, and in one piece.
_MINUTE_BITS = 24
_MINUTES = 2**_MINUTE_BITS - 1
# 2024-01-01, so that the minutes fit.
_FIRST_MINUTE = 28_401_120
_EMPTY = [0] * WAYS


class NonceBoard:
    """Accepted nonces. Keys are hashed with a secret, so that no agent can fill a chosen set or cause a collision.

    Without any part, the store remembers all nonces.
    """

    def __init__(self, parts: Sequence[memoryview], *, own: int = 0, secret: bytes) -> None:
        self._parts = [part.cast("Q") for part in parts]
        self._own = own
        self._secret = secret

    def add(self, replay_key: bytes, *, kept_until_ms: int, now_ms: int) -> bool | None:
        """Remember a nonce: False if it is remembered already, None if only the store can know or remember it."""
        if not self._parts:
            return None
        own = self._parts[self._own]
        number = int.from_bytes(blake2b(replay_key, digest_size=8, key=self._secret).digest())
        first, tag = number % SETS * WAYS, number >> _MINUTE_BITS << _MINUTE_BITS
        now = now_ms // MINUTE_MS - _FIRST_MINUTE
        is_full = False
        for part in self._parts:
            found = part[first : first + WAYS].tolist()
            if found == _EMPTY:
                continue
            if _has(found, tag, now):
                return False
            is_full = is_full or found[0] >= now
        until = min(kept_until_ms // MINUTE_MS + 1 - _FIRST_MINUTE, _MINUTES)
        free = next((at for at in range(first + 1, first + WAYS) if own[at] & _MINUTES < now), None)
        if free is None:
            own[first] = max(own[first], until)
            return None
        own[free] = tag | until
        # Another worker may have written the nonce in the same moment; both then reject it.
        if any(_has(part[first : first + WAYS].tolist(), tag, now) for part in self._parts if part is not own):
            return False
        return None if is_full else True


def _has(found: list[int], tag: int, now: int) -> bool:
    """Return whether a set has a nonce."""
    return any(entry & _MINUTES >= now and entry - (entry & _MINUTES) == tag for entry in found[1:])


def memory_board() -> NonceBoard:
    """Return a board of this process alone, which ends with it."""
    return NonceBoard([memoryview(bytearray(PART_BYTES))], secret=secrets.token_bytes(SECRET_BYTES))


def open_board(folder: Path, workers: int) -> NonceBoard:
    """Open the board of this machine as one of its workers; one without parts if the files cannot be used."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        alone = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(alone, fcntl.LOCK_EX)
            return _open(folder, workers)
        finally:
            os.close(alone)
    except OSError as failure:
        structlog.get_logger().error("nonces of signed reads are kept in the store", why=str(failure))
        return NonceBoard([], secret=b"")


def _open(folder: Path, workers: int) -> NonceBoard:
    """Map all parts, and take the first that no process has."""
    parts: list[memoryview] = []
    own = -1
    for number in itertools.count():
        path = folder / str(number)
        # Twice as many as workers, because a predecessor has its parts until it has drained.
        if number >= 2 * workers and own >= 0 and not path.exists():
            break
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if os.fstat(file).st_size < PART_BYTES:
                os.ftruncate(file, PART_BYTES)
            if own < 0 and _lock(file):
                own = number
                # A process that writes to a page for which a full disk has no room is killed.
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(file, 0, PART_BYTES)
            # The map has a duplicate of the descriptor, so it keeps the lock.
            parts.append(memoryview(mmap.mmap(file, PART_BYTES)))
        finally:
            os.close(file)
    return NonceBoard(parts, own=own, secret=_secret(folder / "secret"))


def _lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _secret(path: Path) -> bytes:
    secret = path.read_bytes() if path.exists() else b""
    # A power cut can leave a short file, or zeros.
    if len(secret) != SECRET_BYTES or not any(secret):
        secret = secrets.token_bytes(SECRET_BYTES)
        path.touch(0o600)
        path.write_bytes(secret)
    return secret
