"""Lateness: whether more has arrived at once than can be answered in time.

All data that has arrived by one turn of the loop is handled in that turn, one request after the other. The processor
time of the turn so far is how long the request in hand has waited behind the others: no queue to keep. It is not the
time on the wall, because a pause that is over is no reason to refuse anybody.
"""

import asyncio
import time

# Whoever waits longer than this in one turn may have waited as long for the turn before.
LATE_S = 0.02
# Asking for the processor time costs a call of the system, so it is asked for once in so many requests, and not at all
# in a turn with few of them.
ASKED_EVERY = 16
ASKED_FROM = 8


class Lateness:
    """Follows the turns. It must be asked for each request, in the turn in which its data arrived."""

    def __init__(self, late_s: float = LATE_S) -> None:
        self._late_s = late_s
        self._began_s = 0.0
        # Requests of this turn.
        self._count = 0
        self._is_late = False

    def is_late(self) -> bool:
        """Say whether the request in hand has waited too long to be worth answering."""
        self._count += 1
        if self._count == ASKED_FROM:
            self._began_s = time.thread_time()
        elif self._count == 1:
            # Called when all that has arrived was handled, before anything that arrives later.
            asyncio.get_running_loop().call_soon(self._end)
        elif not self._count % ASKED_EVERY:
            self._is_late = time.thread_time() - self._began_s > self._late_s
        return self._is_late

    def _end(self) -> None:
        self._count = 0
        self._is_late = False
