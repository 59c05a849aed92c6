"""What labels, feature capture and models ask of the stores and of the rules in force."""

from typing import Protocol

from agentgate.events.label_ports import LabelStore
from agentgate.events.records import Event
from agentgate.lib.configuration_version import ConfigurationStores
from agentgate.lib.enums import ModelKind, ModelRole
from agentgate.people.audit.repository import AuditStores
from agentgate.protection.rules.evaluate import CompiledRules
from agentgate.protection.scoring.records import CapturingSite, ScoreSample, StoredCapture, StoredModel


class ModelStore(Protocol):
    """Models that were installed; a kind that has none uses the one that is shipped."""

    async def lock_models(self, kind: ModelKind) -> None:
        """Keep other units of work from changing the models of a kind until this one is done."""
        ...

    async def list_models(self) -> list[StoredModel]:
        """Return all of them."""
        ...

    async def find_model(self, kind: ModelKind, role: ModelRole) -> StoredModel | None:
        """Return the model in a role, or None."""
        ...

    async def save_model(self, model: StoredModel) -> None:
        """Keep a model in its role, in place of the one that was there."""
        ...

    async def delete_model(self, kind: ModelKind, role: ModelRole) -> None:
        """Forget the model in a role."""
        ...


class CaptureStore(Protocol):
    """Which sites capture features."""

    async def lock_capture(self, site_id: str) -> None:
        """Keep other units of work from changing a site's capture until this one is done."""
        ...

    async def find_capture(self, site_id: str) -> StoredCapture | None:
        """Return a site's setting; None when it never had one and captures nothing."""
        ...

    async def save_capture(self, site_id: str, capture: StoredCapture) -> None:
        """Keep a site's setting."""
        ...

    async def list_captures(self) -> list[CapturingSite]:
        """Return every site that has a setting."""
        ...


class SiteNumbers(Protocol):
    """Under which numbers events know sites."""

    async def find_number(self, site_id: str) -> int:
        """Return the number of an existing site."""
        ...


class ScoringStores(AuditStores, ConfigurationStores, Protocol):
    """The ports that a unit of work on labels, capture or models uses."""

    @property
    def models(self) -> ModelStore: ...

    @property
    def decision_labels(self) -> LabelStore: ...

    @property
    def captures(self) -> CaptureStore: ...

    @property
    def sites(self) -> SiteNumbers: ...


class KeptEvents(Protocol):
    """Single events, as far as they are still kept."""

    async def find_event(self, site: int, decision: int) -> Event | None:
        """Return a decision of the site with its features, or None."""
        ...

    async def find_by_request(self, site: int, request_id: str) -> int | None:
        """Return the newest decision about a request of the site, or None."""
        ...

    async def count_features(self, site: int) -> int:
        """Return how many feature vectors of the site are stored."""
        ...


class ScoreSamples(Protocol):
    """Decisions that a candidate scored in shadow."""

    async def newest(
        self, kind: ModelKind, *, active_version: str, candidate_version: str, since_id: int, limit: int
    ) -> list[ScoreSample]:
        """Return the newest requests of all sites since an ID that these two versions scored."""
        ...


class RulesInForce(Protocol):
    """The rules of every site, as they decide now."""

    def compiled(self, site: int) -> CompiledRules | None:
        """Return a site's rules by its number; None for a site that is no more."""
        ...
