"""Lateness: whether more has arrived at once than can be answered in time.

All data that has arrived by one turn of the loop is handled in that turn, one request after the other. The processor
time of the turn so far is how long the request in hand has waited behind the others. After a turn that was long on the
wall, that time counts: one pause that is over is no reason to refuse anybody, too few processors are.
"""

import asyncio
import time

# What arrived first is handled first, so that nobody waits much longer than one turn takes. A shorter time would refuse
# more and decide less: to refuse a request takes more than half as long as to decide about it.
LATE_S = 0.02
# Clocks are looked at once in so many requests, and not at all in a turn with few of them.
ASKED_EVERY = 16
ASKED_FROM = 8
# Asking for the processor time costs a call of the system. In a turn that has taken less than this part of the time on
# the wall it is not asked for; of one that has, this part is taken for used up.
UNASKED = 0.25


class Lateness:
    """Follows the turns. It must be asked for each request, in the turn in which its data arrived."""

    def __init__(self, late_s: float = LATE_S) -> None:
        self._late_s = late_s
        # By the clock, and by the processor time, which is None until it was asked for.
        self._began_s = 0.0
        self._used_from_s: float | None = None
        # Requests of this turn, and at which of them there is something to do.
        self._count = 0
        self._next = 1
        self._is_late = False
        self._is_followed = False
        # Whether the turn before took longer than that by the clock.
        self._was_long = False
        # Whether `looked` was called in this turn.
        self.has_looked = False

    def looked(self) -> None:
        """Note that what changes between turns was looked at. Nothing of it changes before the turn ends.

        To be called while data that has arrived is handled: what tasks do comes before that or after the turn's end.
        """
        self.has_looked = True
        self._follow()

    def is_late(self) -> bool:
        """Say whether the request in hand has waited too long to be worth answering."""
        self._count += 1
        return self._is_late if self._count < self._next else self._step()

    def _step(self) -> bool:
        if self._count < ASKED_FROM:
            self._follow()
            self._next = ASKED_FROM
        elif self._count < ASKED_EVERY:
            self._began_s = time.perf_counter()
            self._next = ASKED_EVERY
        else:
            self._is_late = self._ask()
            self._next += ASKED_EVERY
        return self._is_late

    def _ask(self) -> bool:
        if self._was_long and self._is_long():
            return True
        if self._used_from_s is not None:
            return time.thread_time() - self._used_from_s > self._late_s
        if time.perf_counter() - self._began_s > self._late_s * UNASKED:
            self._used_from_s = time.thread_time() - self._late_s * UNASKED
        return False

    def _is_long(self) -> bool:
        return time.perf_counter() - self._began_s > self._late_s

    def _follow(self) -> None:
        if not self._is_followed:
            self._is_followed = True
            # Called when all that has arrived was handled, before anything that arrives later.
            asyncio.get_running_loop().call_soon(self._end)

    def _end(self) -> None:
        self._was_long = self._count >= ASKED_FROM and self._is_long()
        self._count, self._next = 0, 1
        self._used_from_s = None
        self._is_late = self._is_followed = self.has_looked = False
