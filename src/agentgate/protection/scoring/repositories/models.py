"""Models and feature capture in SQL."""

from agentgate.lib.database import Row, Transaction
from agentgate.lib.enums import ModelKind, ModelRole
from agentgate.protection.scoring.records import CapturingSite, StoredCapture, StoredModel

_MODEL_COLUMNS = "kind, role, file, installed_ms, installed_by"


class ModelStore:
    """Models that were installed; a kind that has none uses the one that is shipped."""

    def __init__(self, session: Transaction) -> None:
        self._session = session

    async def lock_models(self, kind: ModelKind) -> None:
        """Keep other units of work from changing the models of a kind until this one is done."""
        await self._session.lock("model", kind)

    async def list_models(self) -> list[StoredModel]:
        """Return all of them."""
        rows = await self._session.all(f"SELECT {_MODEL_COLUMNS} FROM model ORDER BY kind, role")  # noqa: S608
        return [_model(row) for row in rows]

    async def find_model(self, kind: ModelKind, role: ModelRole) -> StoredModel | None:
        """Return the model in a role, or None."""
        row = await self._session.one(
            f"SELECT {_MODEL_COLUMNS} FROM model WHERE kind = $1 AND role = $2",  # noqa: S608
            kind.value,
            role.value,
        )
        return None if row is None else _model(row)

    async def save_model(self, model: StoredModel) -> None:
        """Keep a model in its role, in place of the one that was there."""
        await self._session.run(
            f"""INSERT INTO model ({_MODEL_COLUMNS}) VALUES ($1, $2, $3, $4, $5)
                ON CONFLICT (kind, role) DO UPDATE SET file = excluded.file,
                    installed_ms = excluded.installed_ms, installed_by = excluded.installed_by""",  # noqa: S608
            model.kind.value,
            model.role.value,
            model.file,
            model.installed_ms,
            model.installed_by,
        )

    async def delete_model(self, kind: ModelKind, role: ModelRole) -> None:
        """Forget the model in a role."""
        await self._session.run("DELETE FROM model WHERE kind = $1 AND role = $2", kind.value, role.value)


class CaptureStore:
    """Which sites capture features."""

    def __init__(self, session: Transaction) -> None:
        self._session = session

    async def lock_capture(self, site_id: str) -> None:
        """Keep other units of work from changing a site's capture until this one is done."""
        await self._session.lock("feature-capture", site_id)

    async def find_capture(self, site_id: str) -> StoredCapture | None:
        """Return a site's setting; None when it never had one and captures nothing."""
        row = await self._session.one(
            "SELECT enabled, retention_days, updated_ms, updated_by FROM feature_capture WHERE site_id = $1", site_id
        )
        if row is None:
            return None
        enabled, retention_days, updated_ms, updated_by = row
        return StoredCapture(
            enabled=bool(enabled), retention_days=retention_days, updated_ms=updated_ms, updated_by=updated_by
        )

    async def save_capture(self, site_id: str, capture: StoredCapture) -> None:
        """Keep a site's setting."""
        await self._session.run(
            """INSERT INTO feature_capture (site_id, enabled, retention_days, updated_ms, updated_by)
                VALUES ($1, $2, $3, $4, $5)
                ON CONFLICT (site_id) DO UPDATE SET enabled = excluded.enabled,
                    retention_days = excluded.retention_days, updated_ms = excluded.updated_ms,
                    updated_by = excluded.updated_by""",
            site_id,
            int(capture.enabled),
            capture.retention_days,
            capture.updated_ms,
            capture.updated_by,
        )

    async def list_captures(self) -> list[CapturingSite]:
        """Return every site that has a setting."""
        rows = await self._session.all(
            """SELECT site.number, feature_capture.enabled, feature_capture.retention_days
                FROM feature_capture JOIN site ON site.id = feature_capture.site_id ORDER BY site.number"""
        )
        return [
            CapturingSite(number=number, enabled=bool(enabled), retention_days=days) for number, enabled, days in rows
        ]


def _model(row: Row) -> StoredModel:
    kind, role, file, installed_ms, installed_by = row
    return StoredModel(
        kind=ModelKind(kind),
        role=ModelRole(role),
        file=file,
        installed_ms=installed_ms,
        installed_by=installed_by,
    )
