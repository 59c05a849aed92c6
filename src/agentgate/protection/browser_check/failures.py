"""Failures: networks whose verifications fail get harder work for a while. Counted over all workers.

A browser of a person solves its work and runs its program: a few wrong answers from one network within an hour are a
program's. `record` is for every proof that was wrong, whatever it was of.
"""

from agentgate.http.address import network_of
from agentgate.lib.clock import HOUR_MS
from agentgate.lib.limiter import Limiter, Window
from agentgate.protection.browser_check.work import Level

FAILED_VERIFICATIONS = Window("browser-failed-network", 5, HOUR_MS)


class Failures:
    """Counts wrong proofs by network: the /24 of IPv4, the /48 of IPv6."""

    def __init__(self, limiter: Limiter) -> None:
        self._limiter = limiter

    async def record(self, address: str) -> None:
        """Count a verification whose proofs were wrong."""
        await self._limiter.count(FAILED_VERIFICATIONS, network_of(address))

    async def level(self, address: str) -> Level:
        """Return the least work that an address gets now."""
        is_over = await self._limiter.is_over(FAILED_VERIFICATIONS, network_of(address))
        return Level.RAISED if is_over else Level.USUAL
