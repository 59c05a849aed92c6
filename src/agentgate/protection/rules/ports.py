"""What rules ask of the durable store, of the stored events, and of the parts above that make labels and scores."""

from collections.abc import AsyncIterator
from typing import Protocol

from agentgate.events.queries.ports import TrafficStores
from agentgate.lib.configuration_version import ConfigurationStores
from agentgate.people.audit.repository import AuditStores
from agentgate.protection.rules.records import StoredRules
from agentgate.protection.rules.replay_records import ReplayedEvent, SampleFacts, SampleRequest


class RuleStore(Protocol):
    """The rules of sites."""

    async def find_rules(self, site_id: str) -> StoredRules | None:
        """Return what is stored for a site; None while it has never had rules of its own."""
        ...

    async def list_rules(self) -> dict[str, StoredRules]:
        """Return what is stored, by site ID; sites that never had rules of their own are absent."""
        ...

    async def save_rules(self, site_id: str, rules: StoredRules) -> bool:
        """Keep a new revision; False, and nothing kept, unless it follows the present one."""
        ...


class RuleStores(AuditStores, ConfigurationStores, Protocol):
    """The ports that a unit of work on rules uses."""

    @property
    def rules(self) -> RuleStore: ...


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


class RevisionStore(Protocol):
    """Earlier rules of sites."""

    async def find_revision(self, site_id: str, effective_version: str) -> StoredRules | None:
        """Return the newest revision that was in force under a version, or None."""
        ...


class DecisionStores(TrafficStores, Protocol):
    """The ports that reading a decision with its rule uses."""

    @property
    def rules(self) -> RuleStore: ...

    @property
    def rule_revisions(self) -> RevisionStore: ...
