"""LoopBudget: whether the time of a loop iteration is used up, and the connections that wait for the next one.

All data that has arrived by one iteration is handled in it, one request after the other. The CPU time of the iteration
so far is the time that the current request has waited behind the others. After an iteration that was long by the wall
clock, wall time counts too: a single pause is no reason to defer requests, a lack of CPUs is.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Protocol

import structlog

# Requests are handled in the order of arrival, so a request that is not deferred waits hardly longer than one turn.
LONG_S = 0.015
# A request that was queued for this long is rejected. Adapters wait for a second.
DEADLINE_S = 0.5
# At most one in so many per iteration is rejected: a rejection takes half as long as a decision, and delays the others.
REFUSED_PART = 16
# Clocks are read once in so many requests, and not at all in an iteration with few requests.
ASKED_EVERY = 16
ASKED_FROM = 8
# Requests that are closer together by the loop's clock are of one iteration. It advances once per iteration, in
# milliseconds.
SAME_TURN_S = 0.0015
# Reading the CPU time costs a system call. It is not read in an iteration that has taken less than this part of the
# wall time; otherwise this part counts as used.
UNASKED = 0.25


class DeferredConnection(Protocol):
    """A connection that has deferred the data that arrived."""

    def resume(self) -> None:
        """Handle the data as if it arrived now; nothing of it was read yet."""


class LoopBudget:
    """Measures the turns. Ask it for each request, in the turn in which the data of the request arrived."""

    __slots__ = (
        "_began_s", "_call_soon", "_count", "_deadline_s", "_deferred", "_is_followed", "_is_over", "_last_s",
        "_long_s", "_next", "_pipelined", "_queue", "_time", "_used_from_s", "_was_long", "is_refreshed", "is_refusing",
    )  # fmt: skip

    def __init__(self, long_s: float = LONG_S, deadline_s: float = DEADLINE_S) -> None:
        self._long_s = long_s
        self._deadline_s = deadline_s
        # By the clock, and by the CPU time, which is None until it was read.
        self._began_s = 0.0
        self._used_from_s: float | None = None
        # Requests of this turn, and at which of them there is something to do.
        self._count = 0
        self._next = ASKED_FROM
        self._is_over = False
        # Whether the loop will say when this turn ends; else when the last request came, by the loop's clock.
        self._is_followed = False
        self._last_s = 0.0
        # The loop's clock, looked up once: the lookup costs a system call.
        self._time: Callable[[], float] = self._find_loop
        self._call_soon: Callable[[Callable[[], None]], object] = _no_loop
        # Whether the turn before took longer than that by the clock.
        self._was_long = False
        # Connections whose request may be rejected, with the time they were queued; and those resumed at the end of the
        # iteration.
        self._queue: deque[tuple[float, DeferredConnection]] = deque()
        self._deferred: list[DeferredConnection] = []
        # Connections with pipelined requests. One of them continues in each turn, so that all of them together take no
        # more of the loop than one.
        self._pipelined: deque[DeferredConnection] = deque()
        # Set by who refreshes what requests are decided by; it holds until the turn ends.
        self.is_refreshed = False
        # Whether the current request is past its deadline.
        self.is_refusing = False

    @property
    def waiting(self) -> int:
        """The number of queued connections."""
        return len(self._queue) + len(self._deferred) + len(self._pipelined)

    def is_over(self) -> bool:
        """Count the current request, and return whether the turn has no time for it."""
        if not self._is_followed:
            now_s = self._time()
            if now_s - self._last_s > SAME_TURN_S:
                self._count, self.is_refreshed, self._was_long = 0, False, False
            self._last_s = now_s
        self._count += 1
        return self._is_over if self._count < self._next else self._step()

    def enqueue(self, connection: DeferredConnection) -> None:
        """Queue a connection until an iteration has time. It is resumed then, or rejected after its deadline.

        The newest is resumed first (LIFO). In order of arrival, every request would be near its deadline when resumed.
        """
        self._queue.append((time.perf_counter(), connection))
        self._follow()

    def defer(self, connection: DeferredConnection) -> None:
        """Defer a connection to the end of the turn. It is resumed then, however long the turn took."""
        self._deferred.append(connection)
        self._follow()

    def give_way(self, connection: DeferredConnection) -> None:
        """Continue with a connection in a later turn, after all others that gave way before."""
        self._pipelined.append(connection)
        self._follow()

    def _step(self) -> bool:
        if self._count < ASKED_EVERY:
            self._follow()
            self._began_s = time.perf_counter()
            self._next = ASKED_EVERY
        else:
            self._is_over = self._ask()
            self._next += ASKED_EVERY
        return self._is_over

    def _ask(self) -> bool:
        if self._was_long and self._is_long():
            return True
        if self._used_from_s is not None:
            return time.thread_time() - self._used_from_s > self._long_s
        if time.perf_counter() - self._began_s > self._long_s * UNASKED:
            self._used_from_s = time.thread_time() - self._long_s * UNASKED
        return False

    def _is_long(self) -> bool:
        return time.perf_counter() - self._began_s > self._long_s

    def _follow(self) -> None:
        """Follow the end of the iteration with a callback of the loop. Otherwise it ends when the loop's clock
        advances.

        For a single request, the callback and another poll for events add 5% of its cost.
        """
        if self._is_followed:
            return
        self._is_followed = True
        if self._call_soon is _no_loop:
            self._find_loop()
        # Called when all that has arrived was handled, before anything that arrives later.
        self._call_soon(self._end)

    def _find_loop(self) -> float:
        loop = asyncio.get_running_loop()
        self._time, self._call_soon = loop.time, loop.call_soon
        return loop.time()

    def _end(self) -> None:
        if self.waiting:
            self._resume()
        self._was_long = self._count >= ASKED_FROM and self._is_long()
        self._count, self._next = 0, ASKED_FROM
        self._used_from_s = None
        self._last_s = self._time()
        self._is_over = self._is_followed = self.is_refreshed = False
        if self.waiting:
            # Should nothing arrive, their turn is the next one.
            self._follow()

    def _resume(self) -> None:
        deferred, self._deferred = self._deferred, []
        for connection in deferred:
            _resume(connection)
        if self._pipelined:
            _resume(self._pipelined.popleft())
        if self._queue:
            self._refuse_oldest()
            if self._count < ASKED_FROM:
                self._resume_newest()

    def _resume_newest(self) -> None:
        while self._queue and not self.is_over():
            _resume(self._queue.pop()[1])

    def _refuse_oldest(self) -> None:
        queue, due_s = self._queue, time.perf_counter() - self._deadline_s
        self.is_refusing = True
        for _ in range(len(queue) // REFUSED_PART + 1):
            if not queue or queue[0][0] > due_s:
                break
            _resume(queue.popleft()[1])
        self.is_refusing = False


def _no_loop(_: Callable[[], None]) -> None:
    """Stand for a loop that was not asked for yet."""


def _resume(connection: DeferredConnection) -> None:
    try:
        connection.resume()
    except Exception:  # noqa: BLE001 - one failure must not keep the others waiting
        structlog.get_logger().exception("a connection could not be resumed")
