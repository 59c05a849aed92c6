"""Excuses: how many shown checks pass without any evidence of an engine.

Somebody whose page or browser lets no program run is a person as often as anybody. A solver without an engine can say
the same of itself each time. So there are as many excuses in an hour as people need, and no more.
"""

from agentgate.lib.clock import HOUR_MS

# Of sessions with evidence, one in so many earns an excuse; the first in an hour needs none.
EARNED_BY = 100


class Excuses:
    """The excuses of this worker in the current hour."""

    def __init__(self) -> None:
        self._hour = 0
        self._earned = 0
        self._given = 0

    def earn(self, now_ms: int) -> None:
        """Count a session that gave evidence of an engine."""
        self._begin(now_ms)
        self._earned += 1

    def give(self, now_ms: int) -> bool:
        """Return whether a session without evidence is excused."""
        self._begin(now_ms)
        is_given = self._given <= self._earned // EARNED_BY
        self._given += is_given
        return is_given

    def _begin(self, now_ms: int) -> None:
        hour = now_ms // HOUR_MS
        if hour != self._hour:
            self._hour, self._earned, self._given = hour, 0, 0
