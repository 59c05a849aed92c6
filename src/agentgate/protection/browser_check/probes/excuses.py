"""Excuses: how many shown checks pass without any evidence of an engine.

Somebody whose page or browser lets no program run is a person as often as anybody. A solver without an engine can say
the same of itself each time. So there are as many excuses in an hour as people need, and no more.

An engine that is old or new lacks a few words of the programs and still lays out the others; so does no solver.
"""

from agentgate.lib.clock import HOUR_MS
from agentgate.protection.browser_check.probes.engines import BrowserClaim
from agentgate.protection.browser_check.probes.judge import UNKNOWN, Judgement, State

# Of sessions with evidence, one in so many earns an excuse; the first in an hour needs none.
EARNED_BY = 100
# Of the eight programs of one of the draws, an engine of any version has so many right.
LEAST_RIGHT = 2


def may_be_excused(claim: BrowserClaim, fresh: Judgement, first: Judgement) -> bool:
    """Say whether a browser of this name can be without evidence as this one is, by the shown check's programs."""
    if fresh.state not in UNKNOWN or not claim.can_run:
        return False
    if fresh.state is State.UNABLE:
        # The SDK of every named engine sends something.
        return claim.engine is None
    return fresh.state is not State.UNPROVEN or max(fresh.right, first.right) >= LEAST_RIGHT


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
