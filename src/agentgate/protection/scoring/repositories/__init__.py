"""Models, captured features and single events in SQL."""

from typing import Protocol

from agentgate.events.label_repository import LabelStore
from agentgate.lib.configuration_version import ConfigurationStores
from agentgate.people.audit.repository import AuditStores
from agentgate.protection.scoring.repositories.models import CaptureStore, ModelStore


class SiteNumbers(Protocol):
    """Under which numbers events know sites."""

    async def find_number(self, site_id: str) -> int:
        """Return the number of an existing site."""
        ...


class ScoringStores(AuditStores, ConfigurationStores, Protocol):
    """The repositories that a unit of work on labels, capture or models uses."""

    @property
    def models(self) -> ModelStore: ...

    @property
    def decision_labels(self) -> LabelStore: ...

    @property
    def captures(self) -> CaptureStore: ...

    @property
    def sites(self) -> SiteNumbers: ...
