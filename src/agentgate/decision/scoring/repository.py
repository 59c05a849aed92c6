"""Models, captured features, single events and scored samples in SQL."""

import json
from collections.abc import Callable
from functools import partial
from typing import Protocol

from msgspec.structs import replace

from agentgate.decision.scoring.records import CapturingSite, FormerModel, ScoreSample, StoredCapture, StoredModel
from agentgate.events.decision_ids import id_day
from agentgate.events.label_repository import LabelStore
from agentgate.events.records import Event
from agentgate.events.storage.days.days import EventDays, day_bounds, newest_bounds
from agentgate.events.storage.dictionary import KnownWords, WordKind
from agentgate.events.storage.encoding import EVENT_COLUMNS
from agentgate.events.storage.events import read_events
from agentgate.lib.database import Database, LockingRepository, RecordTable, Row
from agentgate.lib.enums import ModelKind, ModelRole
from agentgate.people.audit.repository import AuditStores
from agentgate.people.installation.configuration_version import ConfigurationStores
from agentgate.sites.repository import SiteStore

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
        """Return the model in a role, or None."""
        return await _MODELS.find(self._session, "kind = $1 AND role = $2", kind.value, role.value)

    async def save_model(self, model: StoredModel) -> None:
        """Save a model in its role, in place of the present one."""
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


_EVENT = f"SELECT {', '.join(EVENT_COLUMNS)} FROM event WHERE id = $1 AND site = $2 AND id >= $3 AND id < $4"  # noqa: S608
_BY_REQUEST = """SELECT id FROM {} WHERE site = $1 AND request_id = $2 AND id >= $3 AND id < $4
    ORDER BY id DESC LIMIT 1"""


class KeptEvents:
    """Stored single events."""

    def __init__(self, stats: Database, segments: EventDays, words: KnownWords) -> None:
        self._stats = stats
        self._segments = segments
        self._words = words

    async def find_event(self, site: int, decision: int) -> Event | None:
        """Return a decision of the site with its features, or None."""
        day = id_day(decision)
        row = await self._segments.session(day).one(_EVENT, decision, site, *day_bounds(day))
        if row is None:
            return None
        event: Event
        [event] = await read_events([row], self._words, lambda event: event)
        kept = await self._stats.one("SELECT features FROM feature_vector WHERE site = $1 AND id = $2", site, decision)
        return event if kept is None else replace(event, features=json.loads(kept[0]))

    async def find_by_request(self, site: int, request_id: str) -> int | None:
        """Return the newest decision about a request of the site, or None."""
        newest = _BY_REQUEST.format(self._segments.layout.details)
        for least, end in newest_bounds(await self._segments.days(), self._segments.layout):
            row = await self._segments.session(id_day(least)).one(newest, site, request_id, least, end)
            if row is not None:
                return int(row[0])
        return None

    async def count_features(self, site: int) -> int:
        """Return how many feature vectors of the site are stored."""
        row = await self._stats.one("SELECT count(*) FROM feature_vector WHERE site = $1", site)
        assert row is not None, "an aggregate always has a row"
        return int(row[0])


# Each page scans the whole day, because events are ordered by site.
ROWS_PER_READ = 4_000
# What one thread decodes before other accounts have their turn.
ROWS_AT_ONCE = 500


class ScoreSamples:
    """Decisions that a candidate scored in shadow."""

    def __init__(self, stats: Database, segments: EventDays, words: KnownWords) -> None:
        self._stats = stats
        self._segments = segments
        self._words = words

    async def newest(
        self, kind: ModelKind, *, active_version: str, candidate_version: str, since_id: int, limit: int
    ) -> list[ScoreSample]:
        """Return the newest requests of all sites since an ID that these two versions scored."""
        pairs = await self._pairs(kind, active_version, candidate_version)
        return await self._newest(pairs, since_id, limit) if pairs else []

    async def recent(self, kind: ModelKind, candidate_version: str, *, since_id: int, limit: int) -> list[ScoreSample]:
        """Return the newest requests of all sites since an ID, with shadow scores of this version only."""
        return await self._newest(None, since_id, limit, shadow=(kind, candidate_version))

    async def _newest(
        self,
        pairs: list[int] | None,
        since_id: int,
        limit: int,
        shadow: tuple[ModelKind, str] | None = None,
    ) -> list[ScoreSample]:
        found: list[ScoreSample] = []
        for day in reversed(await self._segments.days()):
            if day < id_day(since_id) or len(found) >= limit:
                break
            least, end = day_bounds(day)
            bounds = range(max(least, since_id), end)
            make = partial(_sample, shadow=shadow)
            found += await self._of_day(day, pairs, bounds, limit - len(found), make=make)
        return found

    async def _pairs(self, kind: ModelKind, active_version: str, candidate_version: str) -> list[int]:
        """Return the dictionary entries by which events name these two versions."""
        rows = await self._stats.all("SELECT id, value FROM dictionary WHERE kind = $1", WordKind.MODEL_VERSIONS.value)
        wanted = (active_version, candidate_version)
        return [number for number, text in rows if _versions(text, kind) == wanted]

    async def _of_day(
        self, day: int, pairs: list[int] | None, ids: range, most: int, *, make: Callable[[Event], ScoreSample]
    ) -> list[ScoreSample]:
        session = self._segments.session(day)
        places = ", ".join(f"${number}" for number in range(4, len(pairs or ()) + 4))
        chosen = f"AND model_versions IN ({places})" if pairs else ""
        sql = f"""SELECT {", ".join(EVENT_COLUMNS)} FROM event
            WHERE id >= $1 AND id < $2 AND kind = 0 {chosen}
            ORDER BY id DESC LIMIT $3"""  # noqa: S608 - columns are constants, places are numbers of values
        found: list[ScoreSample] = []
        end = ids.stop
        while len(found) < most:
            asked = min(ROWS_PER_READ, most - len(found))
            rows: list[Row] = await session.all(sql, ids.start, end, asked, *(pairs or ()))
            for start in range(0, len(rows), ROWS_AT_ONCE):
                found += await read_events(rows[start : start + ROWS_AT_ONCE], self._words, make)
            if len(rows) < asked:
                break
            end = rows[-1][0]
        return found


def _versions(text: str, kind: ModelKind) -> tuple[str | None, str | None]:
    versions = json.loads(text)
    return versions["active"].get(kind), versions["shadow"].get(kind)


def _sample(event: Event, shadow: tuple[ModelKind, str] | None) -> ScoreSample:
    is_of_candidate = shadow is None or event.shadow_versions.get(shadow[0].value) == shadow[1]
    return ScoreSample(
        event.id,
        event.site,
        event.labels,
        dict(event.scores),
        dict(event.shadow_scores) if is_of_candidate else {},
        event.route,
        event.action,
        event.ruled,
        event.outcome if event.would is None else event.would,
    )


class ScoringStores(AuditStores, ConfigurationStores, Protocol):
    """The repositories that a unit of work on labels, capture or models uses."""

    models: ModelStore
    decision_labels: LabelStore
    captures: CaptureStore
    sites: SiteStore
