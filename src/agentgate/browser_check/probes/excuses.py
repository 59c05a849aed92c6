"""Excuses: how many shown checks pass without any evidence of an engine.

Clients whose page or browser blocks the programs are people as often as others. A solver without an engine can claim
the same each time. So the number of excuses in an hour is limited to what people need.

An engine that is old or new lacks a few words of the programs and still lays out the others; so does no solver.
"""

from agentgate.browser_check.probes.engines import BrowserClaim
from agentgate.browser_check.probes.judge import UNKNOWN, Judgment, ProbeState
from agentgate.lib.clock import HOUR_MS

# One excuse for so many sessions with evidence; the first in an hour is free.
EARNED_BY = 100
# Of the eight programs of one of the draws, an engine of any version has so many right.
LEAST_RIGHT = 2


def may_be_excused(claim: BrowserClaim, fresh: Judgment, first: Judgment) -> bool:
    """Return whether a browser of this name may lack evidence, by the interactive challenge's programs."""
    if fresh.state not in UNKNOWN or not claim.can_run:
        return False
    if fresh.state is ProbeState.UNABLE:
        # The SDK of every named engine sends something.
        return claim.engine is None
    return fresh.state is not ProbeState.UNPROVEN or max(fresh.right, first.right) >= LEAST_RIGHT


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
