"""Appeals in SQL."""

from typing import Protocol

from agentgate.decision.scoring.repository import ScoringStores
from agentgate.gateway.appeals.records import AppealCounts, StoredAppeal
from agentgate.lib.database import LockingRepository, RecordTable
from agentgate.lib.enums import AppealState
from agentgate.sites.lists.repository import ListStores

_APPEALS = RecordTable("appeal", StoredAppeal)


class AppealStore(LockingRepository):
    async def lock_appeals(self, site_id: str) -> None:
        """Keep other units of work from changing the site's appeals until this one is done."""
        await self._session.lock("appeals", site_id)

    async def add_appeal(self, appeal: StoredAppeal) -> None:
        await _APPEALS.add(self._session, appeal)

    async def save_answer(self, appeal: StoredAppeal) -> None:
        """Save the owners' resolution: state, user, reply, list entry, label."""
        changed = ("state", "answered_ms", "answered_by", "reply", "entry_id", "label")
        await _APPEALS.update(self._session, appeal, *changed, key=("site_id", "id"))

    async def find_appeal(self, site_id: str, appeal_id: str) -> StoredAppeal | None:
        """Return a site's appeal; None if the site has none of this ID, even if another site has."""
        return await _APPEALS.find(self._session, "site_id = $1 AND id = $2", site_id, appeal_id)

    async def find_by_link(self, site_id: str, link_digest: str) -> StoredAppeal | None:
        return await _APPEALS.find(self._session, "site_id = $1 AND link_digest = $2", site_id, link_digest)

    async def has_appeal(self, site_id: str, decision: int) -> bool:
        """Return whether there is an appeal against a decision already."""
        row = await self._session.one("SELECT 1 FROM appeal WHERE site_id = $1 AND decision = $2", site_id, decision)
        return row is not None

    async def list_appeals(
        self, site_id: str, state: AppealState, *, before: tuple[int, str] | None, limit: int
    ) -> list[StoredAppeal]:
        """Return a site's appeals in a state before a position (creation in ms, ID), newest first."""
        created_ms, appeal_id = before or (2**62, "")
        return await _APPEALS.find_all(
            self._session,
            "site_id = $1 AND state = $2 AND (created_ms, id) < ($3, $4) ORDER BY created_ms DESC, id DESC LIMIT $5",
            site_id,
            state.value,
            created_ms,
            appeal_id,
            limit,
        )

    async def count_appeals(self, site_id: str) -> AppealCounts:
        """Return how many appeals of a site are in each state."""
        rows = await self._session.all("SELECT state, COUNT(*) FROM appeal WHERE site_id = $1 GROUP BY state", site_id)
        return AppealCounts(**{state: int(count) for state, count in rows})

    async def count_like(self, appeal: StoredAppeal, *, since_ms: int) -> tuple[int, int]:
        """Return how many other appeals there are against the same rule, and by the same visitor."""
        like = "site_id = $1 AND id <> $2 AND created_ms >= $3 AND state <> 'spam' AND"
        others = (appeal.site_id, appeal.id, since_ms)
        return (
            await _APPEALS.count(self._session, f"{like} rule = $4", *others, appeal.rule or ""),
            await _APPEALS.count(self._session, f"{like} visitor = $4", *others, appeal.visitor),
        )

    async def has_same_message(self, site_id: str, message: str, *, since_ms: int, least: int) -> bool:
        """Return whether so many appeals have the same text."""
        same = "SELECT 1 FROM appeal WHERE site_id = $1 AND message = $2 AND created_ms >= $3 LIMIT $4"
        return len(await self._session.all(same, site_id, message, since_ms, least)) == least

    async def count_open(self, site_id: str, *, most: int) -> int:
        """Return the number of unresolved appeals of a site, counted up to `most`."""
        rows = await self._session.all(
            "SELECT 1 FROM appeal WHERE site_id = $1 AND state IN ('waiting', 'suspect') LIMIT $2", site_id, most
        )
        return len(rows)

    async def delete_appeals(self, before_ms: int, *, most: int) -> int:
        """Delete some older appeals; return how many."""
        return await _APPEALS.delete_some(self._session, "created_ms < $1", before_ms, most=most)


class AppealStores(ListStores, ScoringStores, Protocol):
    """The repositories that a unit of work on appeals uses."""

    appeals: AppealStore
