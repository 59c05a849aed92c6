"""Labels of decisions in SQL."""

from collections.abc import Sequence

from agentgate.events.label_records import StoredLabel
from agentgate.lib.database import LockingRepository
from agentgate.lib.enums import DecisionLabelValue
from agentgate.storage.record_rows import RecordRows

_LABEL = RecordRows(StoredLabel)


class LabelStore(LockingRepository):
    """Labels of decisions."""

    async def lock_label(self, site_id: str, decision: int) -> None:
        """Keep other units of work from labelling the same decision until this one is done."""
        await self._session.lock("decision-label", site_id, str(decision))

    async def find_label(self, site_id: str, decision: int) -> StoredLabel | None:
        """Return a decision's label, or None."""
        found = await self.find_labels(site_id, [decision])
        return found[0] if found else None

    async def find_labels(self, site_id: str, decisions: Sequence[int]) -> list[StoredLabel]:
        """Return the labels of those decisions that have one, for a page that shows decisions."""
        if not decisions:
            return []
        places = ", ".join(f"${number}" for number in range(2, len(decisions) + 2))
        rows = await self._session.all(
            f"SELECT {_LABEL.columns} FROM decision_label WHERE site_id = $1 AND decision IN ({places})",  # noqa: S608
            site_id,
            *decisions,
        )
        return [_LABEL.read(row) for row in rows]

    async def save_label(self, label: StoredLabel) -> None:
        """Keep a label, in place of the decision's earlier one."""
        await self._session.run(
            f"""INSERT INTO decision_label ({_LABEL.columns}) VALUES ({_LABEL.places()})
                ON CONFLICT (site_id, decision) DO UPDATE SET label = excluded.label, source = excluded.source,
                    note = excluded.note, actor = excluded.actor, updated_ms = excluded.updated_ms""",  # noqa: S608
            *_LABEL.values(label),
        )

    async def list_labels(self, site_id: str, *, after: tuple[int, int] | None, limit: int) -> list[StoredLabel]:
        """Return labels of a site behind a position (update in ms, decision), oldest update first."""
        updated_ms, decision = after or (-1, -1)
        rows = await self._session.all(
            f"""SELECT {_LABEL.columns} FROM decision_label
                WHERE site_id = $1 AND (updated_ms, decision) > ($2, $3)
                ORDER BY updated_ms, decision LIMIT $4""",  # noqa: S608
            site_id,
            updated_ms,
            decision,
            limit,
        )
        return [_LABEL.read(row) for row in rows]

    async def list_newest_labels(self, limit: int) -> list[StoredLabel]:
        """Return the labels of all sites that can be trained on, newest update first: never `unsure`."""
        rows = await self._session.all(
            f"""SELECT {_LABEL.columns} FROM decision_label WHERE label <> $1
                ORDER BY updated_ms DESC, decision DESC LIMIT $2""",  # noqa: S608
            DecisionLabelValue.UNSURE.value,
            limit,
        )
        return [_LABEL.read(row) for row in rows]
