"""A turn of the loop: whether its time is used up, and who waits until there is time again.

All data that has arrived by one turn is handled in that turn, one request after the other. The processor time of the
turn so far is how long the request in hand has waited behind the others. After a turn that was long on the wall, that
time counts: one pause that is over is no reason to keep anybody waiting, too few processors are.
"""

import asyncio
import time
from collections import deque
from typing import Protocol

import structlog

# What arrived first is handled first, so that nobody who is not held waits much longer than one turn takes.
LONG_S = 0.015
# Who was held for so long is refused. Adapters wait for a second.
HELD_S = 0.5
# Only one in so many at a time: to refuse takes half as long as to decide, and others would have to wait for it.
REFUSED_PART = 16
# Clocks are looked at once in so many requests, and not at all in a turn with few of them.
ASKED_EVERY = 16
ASKED_FROM = 8
# Asking for the processor time costs a call of the system. In a turn that has taken less than this part of the time on
# the wall it is not asked for; of one that has, this part is taken for used up.
UNASKED = 0.25


class DeferredConnection(Protocol):
    """A connection that has put off what arrived."""

    def go_on(self) -> None:
        """Handle it as if it arrived now; it was not looked at yet."""
        ...


class Turn:
    """Follows the turns. It must be asked for each request, in the turn in which its data arrived."""

    def __init__(self, long_s: float = LONG_S, held_s: float = HELD_S) -> None:
        self._long_s = long_s
        self._held_s = held_s
        # By the clock, and by the processor time, which is None until it was asked for.
        self._began_s = 0.0
        self._used_from_s: float | None = None
        # Requests of this turn, and at which of them there is something to do.
        self._count = 0
        self._next = 1
        self._is_over = False
        self._is_followed = False
        # Whether the turn before took longer than that by the clock.
        self._was_long = False
        # Those whose request can be refused, with the time since when they wait; and those who wait for the end only.
        self._held: deque[tuple[float, DeferredConnection]] = deque()
        self._delayed: list[DeferredConnection] = []
        # Whether `looked` was called in this turn.
        self.has_looked = False
        # Whether the request in hand was held for too long to be worth answering.
        self.is_refusing = False

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._held) + len(self._delayed)

    def looked(self) -> None:
        """Note that what changes between turns was looked at. Nothing of it changes before the turn ends.

        To be called while requests are handled: what tasks do comes before that or after the turn's end.
        """
        self.has_looked = True
        self._follow()

    def is_over(self) -> bool:
        """Count the request in hand, and say whether the turn has no time for it."""
        self._count += 1
        return self._is_over if self._count < self._next else self._step()

    def hold(self, connection: DeferredConnection) -> None:
        """Let a connection wait until a turn has time. It is then told to go on; or, after a while, to be refused.

        Who came last goes on first. Whoever comes first would have waited too long already when there is time, and so
        would everybody after him.
        """
        self._held.append((time.perf_counter(), connection))
        self._follow()

    def delay(self, connection: DeferredConnection) -> None:
        """Let a connection wait until all that has arrived was handled. It is told to go on then, whatever the time."""
        self._delayed.append(connection)
        self._follow()

    def _step(self) -> bool:
        if self._count < ASKED_FROM:
            self._follow()
            self._next = ASKED_FROM
        elif self._count < ASKED_EVERY:
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
        if not self._is_followed:
            self._is_followed = True
            # Called when all that has arrived was handled, before anything that arrives later.
            asyncio.get_running_loop().call_soon(self._end)

    def _end(self) -> None:
        if self._delayed:
            delayed, self._delayed = self._delayed, []
            for connection in delayed:
                _go_on(connection)
        if self._held:
            self._refuse_oldest()
            if self._count < ASKED_FROM:
                self._go_on_with_newest()
        self._was_long = self._count >= ASKED_FROM and self._is_long()
        self._count, self._next = 0, 1
        self._used_from_s = None
        self._is_over = self._is_followed = self.has_looked = False
        if self.waiting:
            # Should nothing arrive, their turn is the next one.
            self._follow()

    def _go_on_with_newest(self) -> None:
        while self._held and not self.is_over():
            _go_on(self._held.pop()[1])

    def _refuse_oldest(self) -> None:
        held, due_s = self._held, time.perf_counter() - self._held_s
        self.is_refusing = True
        for _ in range(len(held) // REFUSED_PART + 1):
            if not held or held[0][0] > due_s:
                break
            _go_on(held.popleft()[1])
        self.is_refusing = False


def _go_on(connection: DeferredConnection) -> None:
    try:
        connection.go_on()
    except Exception:  # noqa: BLE001 - one that cannot go on must not keep the others waiting
        structlog.get_logger().exception("a connection could not go on")
