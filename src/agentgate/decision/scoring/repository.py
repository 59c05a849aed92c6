"""Models and captured features in SQL."""

from typing import Protocol

from agentgate.decision.scoring.records import CapturingSite, FormerModel, StoredCapture, StoredModel
from agentgate.events.labels.repository import LabelStores
from agentgate.lib.database import LockingRepository, RecordTable
from agentgate.lib.enums import ModelKind, ModelRole
from agentgate.people.installation.configuration_version import ConfigurationStores

_MODELS = RecordTable("model", StoredModel)
_FORMER = RecordTable("model_version", FormerModel)
_CAPTURES = RecordTable("feature_capture", StoredCapture)


class ModelStore(LockingRepository):
    """Models that were installed; a kind that has none uses the one that is shipped."""

    async def lock_models(self, kind: ModelKind) -> None:
        """Keep other units of work from changing the models of a kind until this one is done."""
        await self._session.lock("model", kind)

    async def list_models(self) -> list[StoredModel]:
        return await _MODELS.find_all(self._session, "TRUE ORDER BY kind, role")

    async def find_model(self, kind: ModelKind, role: ModelRole) -> StoredModel | None:
        return await _MODELS.find(self._session, "kind = $1 AND role = $2", kind.value, role.value)

    async def save_model(self, model: StoredModel) -> None:
        """Save a model in its role. It replaces the present one."""
        await _MODELS.save(self._session, model, "kind", "role")

    async def delete_model(self, kind: ModelKind, role: ModelRole) -> None:
        await self._session.run("DELETE FROM model WHERE kind = $1 AND role = $2", kind.value, role.value)

    async def retire(self, model: FormerModel, *, keep: int) -> None:
        """Keep a model that was active, and at most so many of its kind."""
        await _FORMER.save(self._session, model, "kind", "version")
        await self._session.run(
            """DELETE FROM model_version WHERE kind = $1 AND version NOT IN (
                SELECT version FROM model_version WHERE kind = $1 ORDER BY retired_ms DESC, version LIMIT $2)""",
            model.kind.value,
            keep,
        )

    async def list_former(self, kind: ModelKind) -> list[FormerModel]:
        """Return the models of a kind that were active, the last retired first."""
        return await _FORMER.find_all(self._session, "kind = $1 ORDER BY retired_ms DESC, version", kind.value)


class CaptureStore(LockingRepository):
    """Which sites capture features."""

    async def lock_capture(self, site_id: str) -> None:
        """Keep other units of work from changing a site's capture until this one is done."""
        await self._session.lock("feature-capture", site_id)

    async def find_capture(self, site_id: str) -> StoredCapture | None:
        """Return a site's setting; None when it never had one and captures nothing."""
        return await _CAPTURES.find(self._session, "site_id = $1", site_id)

    async def save_capture(self, site_id: str, capture: StoredCapture) -> None:
        await _CAPTURES.save(self._session, capture, "site_id", site_id=site_id)

    async def list_captures(self) -> list[CapturingSite]:
        """Return every site that has a setting."""
        rows = await self._session.all(
            """SELECT site.number, feature_capture.enabled, feature_capture.retention_days
                FROM feature_capture JOIN site ON site.id = feature_capture.site_id ORDER BY site.number"""
        )
        return [
            CapturingSite(number=number, enabled=bool(enabled), retention_days=days) for number, enabled, days in rows
        ]


class ScoringStores(LabelStores, ConfigurationStores, Protocol):
    """The repositories that a unit of work on labels, capture or models uses."""

    models: ModelStore
    captures: CaptureStore
