"""What rules ask of the durable store, of the stored events, and of the parts above that make labels and scores."""

from collections.abc import AsyncIterator
from typing import Protocol

from agentgate.protection.rules.replay_records import ReplayedEvent, SampleFacts, SampleRequest


class EventReplay(Protocol):
    """Stored decisions, to be made again."""

    def replay(self, site_id: str, *, from_ms: int, to_ms: int, limit: int) -> AsyncIterator[list[ReplayedEvent]]:
        """Return the newest decisions of a site that rules made, in batches, newest first, at most `limit`."""
        ...


class Explainer(Protocol):
    """Makes labels and scores of a sample request, as it would of a real one."""

    async def observe(self, site_id: str, request: SampleRequest) -> SampleFacts:
        """Return what the service sees in the request."""
        ...
