"""Work that every worker repeats for itself: reading keys and configuration again, sharing counts, renewing a lease.

Work of one worker for all of them is a job, in `server/scheduler/jobs.py`.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import structlog

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
