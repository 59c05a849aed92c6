"""Memory that the workers of a machine share, a part for each. It has no name and no file, and ends with them."""

import mmap
import os
import secrets
import tempfile
from collections.abc import Callable
from multiprocessing.reduction import DupFd
from typing import Any


class SharedMemory:
    """The memory as one worker has it; it can be handed to a process at its start."""

    def __init__(self, file: int, secret: bytes, own: int = 0) -> None:
        self._file = file
        # Known to the workers alone: with it they hash what they write there.
        self.secret = secret
        # The number of this worker's part.
        self.own = own

    def of(self, own: int) -> "SharedMemory":
        """Return it as another worker has it."""
        return SharedMemory(self._file, self.secret, own)

    def open(self) -> memoryview:
        """Return all of it, the other workers' parts too."""
        return memoryview(mmap.mmap(self._file, 0))

    def __reduce__(self) -> tuple[Callable[..., "SharedMemory"], tuple[Any, bytes, int]]:
        """Serialize it for a process that is being started, which gets its own descriptor."""
        return _receive, (DupFd(self._file), self.secret, self.own)


def share_memory(size: int) -> SharedMemory:
    """Return `size` bytes of new memory, all 0."""
    return SharedMemory(_open_file(size), secrets.token_bytes(32))


def _open_file(size: int) -> int:
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("agentgate-workers")
        os.ftruncate(file, size)
        return file
    # If the system has no memory files, use a temporary file that is removed at once. Fill it, because a process that
    # touches a page for which a full disk has no room is killed.
    with tempfile.TemporaryFile() as temporary:
        temporary.write(bytes(size))
        temporary.flush()
        return os.dup(temporary.fileno())


def _receive(file: Any, secret: bytes, own: int) -> SharedMemory:
    return SharedMemory(file.detach(), secret, own)
