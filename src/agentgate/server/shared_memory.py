"""Memory that the workers of a machine share, a part for each. It has no name and no file, and ends with them."""

import mmap
import os
from collections.abc import Callable
from multiprocessing.reduction import DupFd
from typing import Any


class SharedMemory:
    """The memory as one worker has it; it can be handed to a process at its start."""

    def __init__(self, file: int, own: int = 0) -> None:
        self._file = file
        # The number of this worker's part.
        self.own = own

    def of(self, own: int) -> "SharedMemory":
        """Return it as another worker has it."""
        return SharedMemory(self._file, own)

    def open(self) -> memoryview:
        """Return all of it, the other workers' parts too."""
        return memoryview(mmap.mmap(self._file, 0))

    def __reduce__(self) -> tuple[Callable[..., "SharedMemory"], tuple[Any, int]]:
        """Write it for a process that is being started, which gets a descriptor of its own."""
        return _receive, (DupFd(self._file), self.own)


def share_memory(size: int) -> SharedMemory | None:
    """Return new memory of so many bytes, all 0; None where the system has no such memory."""
    if not hasattr(os, "memfd_create"):
        return None
    file = os.memfd_create("agentgate-workers")
    os.ftruncate(file, size)
    return SharedMemory(file)


def _receive(file: Any, own: int) -> SharedMemory:
    return SharedMemory(file.detach(), own)
