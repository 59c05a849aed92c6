"""The owner of a shared cache as a separate process, with ends for as many workers as a test needs."""

import contextlib
import multiprocessing
import os
import signal
import socket
from collections.abc import Iterator

from agentgate.storage.shared_cache.owned import Pair, open_pair, run_owner

MOST_WORKERS = 4


class StoreOwner:
    """A process that can be frozen, killed and restarted on the same sockets, as the supervisor does."""

    def __init__(self) -> None:
        self.pairs: list[Pair] = [open_pair() for _ in range(MOST_WORKERS)]
        self._given = 0
        self.start()

    def new_end(self) -> socket.socket:
        """Return the end of the next worker."""
        self._given += 1
        return self.pairs[self._given - 1].worker_end.dup()

    def start(self) -> None:
        """Start an owner."""
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["agentgate.storage.shared_cache.owned"])
        ends = [pair.owner_end for pair in self.pairs]
        self._process = context.Process(target=run_owner, args=(ends, _beat), daemon=True)
        self._process.start()

    def kill(self) -> None:
        """End it as a crash would."""
        self._process.kill()
        self._process.join()

    def freeze(self) -> None:
        """Stop it from responding, without ending it."""
        os.kill(self._process.pid or 0, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it continue."""
        os.kill(self._process.pid or 0, signal.SIGCONT)


def _beat() -> None:
    """Do nothing: no supervisor reads the heartbeat."""


@contextlib.contextmanager
def store_owner() -> Iterator[StoreOwner]:
    """Run an owner for as long as the block does."""
    owner = StoreOwner()
    try:
        yield owner
    finally:
        owner.kill()
        for pair in owner.pairs:
            for end in pair:
                end.close()
