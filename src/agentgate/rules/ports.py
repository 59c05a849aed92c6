"""What rules ask of the durable store."""

from typing import Protocol

from agentgate.rules.records import StoredRules


class RuleStore(Protocol):
    """The rules of sites."""

    async def find_rules(self, site_id: str) -> StoredRules | None:
        """Return what is stored for a site; None while it has never had rules of its own."""
        ...
