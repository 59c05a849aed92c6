"""Work outside of requests: after the response, so that its duration reveals nothing, or periodically."""

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


Work = Callable[[], Awaitable[object]]


class PeriodicTask:
    """Repeats a piece of work at an interval, and at once when woken. A failure is logged and the next turn comes."""

    def __init__(self, name: str, work: Work, *, interval_s: float) -> None:
        self._name = name
        self._work = work
        self._interval_s = interval_s
        self._woken = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._failing: str | None = None

    def start(self) -> None:
        """Begin; the first turn comes after one interval."""
        self._task = asyncio.create_task(self._repeat())

    def wake(self) -> None:
        """Do the work now. Called from the event loop."""
        self._woken.set()

    async def stop(self) -> None:
        """Stop, wherever the work is."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _repeat(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), self._interval_s)
            self._woken.clear()
            try:
                await self._work()
            except Exception as failure:  # noqa: BLE001 - the values at hand stay in use; the next turn tries again
                self._note(type(failure).__name__)
            else:
                self._failing = None

    def _note(self, reason: str) -> None:
        # Once for each kind of failure: one line is enough for a store that is unavailable for an hour.
        if reason != self._failing:
            structlog.get_logger().error("recurring work failed", work=self._name, reason=reason)
        self._failing = reason
