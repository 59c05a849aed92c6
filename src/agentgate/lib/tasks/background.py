"""Work that begins after the response, so that the duration of the request reveals nothing about it."""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable

import structlog

# Begun at once, the work could be seen in how long the same client's next request takes.
LONGEST_DELAY_S = 0.5
MOST_WAITING = 1000


class BackgroundTasks:
    """Runs such work at a random moment soon after; what fails is logged and not tried again."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._hurry = asyncio.Event()

    def start(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Begin the work a little later. Excess work is dropped: people try again."""
        if len(self._tasks) >= MOST_WAITING:
            structlog.get_logger().warning("background work dropped: the queue is full", work=name)
            return
        task = asyncio.create_task(self._run(name, work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def finish(self) -> None:
        """Do all queued work now, and return when it is done."""
        self._hurry.set()
        while self._tasks:
            await asyncio.gather(*self._tasks)
        self._hurry.clear()

    async def _run(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        delay_s = random.uniform(0, LONGEST_DELAY_S)  # noqa: S311 - it hides a duration, it protects no secret
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._hurry.wait(), delay_s)
        try:
            await work()
        except Exception as failure:  # noqa: BLE001 - nobody waits for this work who could be told
            structlog.get_logger().warning("background work failed", work=name, failure=type(failure).__name__)
