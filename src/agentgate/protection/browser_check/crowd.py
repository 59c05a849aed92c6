"""Crowd: what many visitors together say about one: failures of its network, and clusters that it belongs to."""

from agentgate.http.request import Request
from agentgate.lib.limiter import Limiter
from agentgate.lib.shared_cache import FastStore
from agentgate.protection.browser_check.clusters import Clusters
from agentgate.protection.browser_check.failures import Failures
from agentgate.protection.browser_check.work import Level


class Crowd:
    """Holds what is counted over visitors. Nothing in it outlives a day."""

    def __init__(self, limiter: Limiter, fast: FastStore) -> None:
        self.failures = Failures(limiter)
        self.clusters = Clusters(fast)

    async def level(self, request: Request, site: int) -> Level:
        """Return the least work that a caller gets."""
        if self.clusters.is_suspected(site, request):
            return Level.RAISED
        return await self.failures.level(request.address)
