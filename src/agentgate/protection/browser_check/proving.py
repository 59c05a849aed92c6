"""Prover: checks memory-hard work in threads, few at a time, and refuses early when too much of it waits."""

import asyncio
from collections.abc import Callable

from agentgate.lib.errors import Refused
from agentgate.protection.browser_check.judge import Proof

# Each takes a processor for two milliseconds, which the event loop has better uses for.
MOST_RUNNING = 2
# Some 200 milliseconds of waiting.
MOST_WAITING = 128


class Prover:
    """Runs what checks a proof: at once where that is quick, else in a thread."""

    def __init__(self) -> None:
        self._running = asyncio.Semaphore(MOST_RUNNING)
        self._waiting = 0

    async def run(self, prove: Callable[[], Proof], *, needs_memory: bool) -> Proof:
        """Return what a verification proves; refuse it unseen while too many wait."""
        if not needs_memory:
            return prove()
        if self._waiting >= MOST_WAITING:
            raise Refused("unavailable", headers={"retry-after": "5"})
        self._waiting += 1
        try:
            async with self._running:
                return await asyncio.to_thread(prove)
        finally:
            self._waiting -= 1
