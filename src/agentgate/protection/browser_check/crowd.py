"""Crowd: what others say about a visitor: failures of its network, clusters it belongs to, an issuer that vouches."""

from agentgate.http.request import Request
from agentgate.lib.limiter import Limiter
from agentgate.lib.shared_cache import SharedCache
from agentgate.protection.browser_check.clusters import Clusters
from agentgate.protection.browser_check.failures import Failures
from agentgate.protection.browser_check.private_tokens import PrivateTokens
from agentgate.protection.browser_check.work import Level
from agentgate.protection.tokens.repositories.redemptions import RedemptionStore


class Crowd:
    """Failures, clusters and private tokens: evidence beside that of the page itself. It is kept for a day at most."""

    def __init__(self, limiter: Limiter, shared_cache: SharedCache, redemptions: RedemptionStore) -> None:
        self.failures = Failures(limiter)
        self.clusters = Clusters(shared_cache)
        self.private_tokens = PrivateTokens(redemptions, shared_cache)

    async def level(self, request: Request, site: int) -> Level:
        """Return the least work that a caller gets."""
        if self.clusters.is_suspected(site, request):
            return Level.RAISED
        return await self.failures.level(request.address)
