"""What webhooks ask of the durable store, and of the store of events."""

from typing import Protocol

from agentgate.events.queries.ports import SiteNumber
from agentgate.events.queries.records import Decision


class DecisionFeed(Protocol):
    """Decisions in the order of their IDs."""

    async def list_after(self, site: SiteNumber, *, after: int, until: int, limit: int) -> list[Decision]:
        """Return a site's first kept decisions with after < ID <= until, oldest first."""
        ...
