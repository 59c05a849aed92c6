"""Labels of decisions in SQL."""

from collections.abc import Sequence
from typing import Protocol

from agentgate.events.labels.records import StoredLabel
from agentgate.events.records import Event
from agentgate.lib.database import LockingRepository, RecordTable
from agentgate.lib.enums import DecisionLabelValue
from agentgate.people.audit.repository import AuditStores

_LABELS = RecordTable("decision_label", StoredLabel, json=("evidence",))


class LabelStore(LockingRepository):
    async def lock_label(self, site_id: str, decision: int) -> None:
        """Keep other units of work from labeling the same decision until this one is done."""
        await self._session.lock("decision-label", site_id, str(decision))

    async def find_label(self, site_id: str, decision: int) -> StoredLabel | None:
        found = await self.find_labels(site_id, [decision])
        return found[0] if found else None

    async def find_labels(self, site_id: str, decisions: Sequence[int]) -> list[StoredLabel]:
        """Return the labels of those decisions that have one, for a page that shows decisions."""
        if not decisions:
            return []
        places = ", ".join(f"${number}" for number in range(2, len(decisions) + 2))
        return await _LABELS.find_all(self._session, f"site_id = $1 AND decision IN ({places})", site_id, *decisions)

    async def save_label(self, label: StoredLabel) -> None:
        """Save a label. It replaces the decision's earlier label."""
        replaced = ", ".join(f"{each} = excluded.{each}" for each in ("label", "source", "note", "actor", "updated_ms"))
        await _LABELS.add(self._session, label, f"ON CONFLICT (site_id, decision) DO UPDATE SET {replaced}")

    async def delete_label(self, site_id: str, decision: int) -> bool:
        """Delete a decision's label; return whether it had one."""
        row = await self._session.one(
            "DELETE FROM decision_label WHERE site_id = $1 AND decision = $2 RETURNING decision", site_id, decision
        )
        return row is not None

    async def list_labels(self, site_id: str, *, after: tuple[int, int] | None, limit: int) -> list[StoredLabel]:
        """Return labels of a site behind a position (update in ms, decision), oldest update first."""
        updated_ms, decision = after or (-1, -1)
        behind = "site_id = $1 AND (updated_ms, decision) > ($2, $3) ORDER BY updated_ms, decision LIMIT $4"
        return await _LABELS.find_all(self._session, behind, site_id, updated_ms, decision, limit)

    async def list_newest_labels(self, limit: int) -> list[StoredLabel]:
        """Return the labels of all sites that can be trained on, newest update first: never `unsure`."""
        newest = "label <> $1 ORDER BY updated_ms DESC, decision DESC LIMIT $2"
        return await _LABELS.find_all(self._session, newest, DecisionLabelValue.UNSURE.value, limit)


class KeptEvents(Protocol):
    """Stored single events."""

    async def find_event(self, site: int, decision: int) -> Event | None:
        """Return a decision of the site with its features, or None."""

    async def find_by_request(self, site: int, request_id: str) -> int | None:
        """Return the newest decision about a request of the site, or None."""

    async def count_features(self, site: int) -> int:
        """Return how many feature vectors of the site are stored."""


class SiteNumbers(Protocol):
    """Sites, as far as labels need them."""

    async def find_number(self, site_id: str) -> int:
        """Return the number under which events know an existing site."""


class LabelStores(AuditStores, Protocol):
    """The repositories that a unit of work on labels uses."""

    decision_labels: LabelStore

    @property
    def sites(self) -> SiteNumbers: ...
