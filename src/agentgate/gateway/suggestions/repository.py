"""Suggestions in SQL."""

from collections.abc import Sequence
from typing import Protocol

from msgspec.structs import replace

from agentgate.gateway.suggestions.records import MOST_NETWORKS, MOST_STORED, SeenGroup, StoredSuggestion
from agentgate.lib.database import LockingRepository, RecordTable
from agentgate.lib.ids import new_suggestion_id
from agentgate.sites.repository import SiteStores

_SUGGESTIONS = RecordTable("suggestion", StoredSuggestion, json=("networks", "opened"))


class SuggestionStore(LockingRepository):
    async def lock_suggestions(self, site_id: str) -> None:
        """Keep other units of work from changing the site's suggestions until this one is done."""
        await self._session.lock("suggestions", site_id)

    async def list_suggestions(self, site_id: str) -> list[StoredSuggestion]:
        """Return a site's suggestions, the most credible first."""
        found = await _SUGGESTIONS.find_all(self._session, "site_id = $1", site_id)
        return sorted(found, key=lambda each: each.rank, reverse=True)

    async def find_suggestion(self, site_id: str, suggestion_id: str) -> StoredSuggestion | None:
        """Return a site's suggestion; None if the site has none of this ID, even if another site has."""
        return await _SUGGESTIONS.find(self._session, "site_id = $1 AND id = $2", site_id, suggestion_id)

    async def save_answer(self, suggestion: StoredSuggestion) -> None:
        """Save whether it is accepted, by whom, and what was opened."""
        changed = ("accepted_ms", "accepted_by", "opened")
        await _SUGGESTIONS.update(self._session, suggestion, *changed, key=("site_id", "id"))

    async def add_seen(self, seen: Sequence[SeenGroup]) -> None:
        """Add requests to suggestions, and make those that are missing; a full site keeps the most credible."""
        for site_id in sorted({each.site_id for each in seen}):
            await self.lock_suggestions(site_id)
            if await self._session.one("SELECT 1 FROM site WHERE id = $1 AND suggestions = 1", site_id) is None:
                # The site was purged, or its suggestions were turned off.
                continue
            known = {_key(each): each for each in await self.list_suggestions(site_id)}
            for each in seen:
                if each.site_id == site_id:
                    await self._add(known, each)
            await self._shrink(list(known.values()))

    async def _add(self, known: dict[tuple[object, ...], StoredSuggestion], seen: SeenGroup) -> None:
        before = known.get(tuple(seen.group))
        if before is None:
            method, path, program, sender, owner, is_proven = seen.group
            made = StoredSuggestion(
                id=new_suggestion_id(),
                site_id=seen.site_id,
                method=method,
                path=path,
                program=program,
                sender=sender,
                owner=owner,
                proven=is_proven,
                requests=seen.requests,
                networks=seen.networks,
                first_ms=seen.first_ms,
                last_ms=seen.last_ms,
            )
            await _SUGGESTIONS.add(self._session, made)
        else:
            made = replace(
                before,
                requests=before.requests + seen.requests,
                networks=sorted({*before.networks, *seen.networks})[:MOST_NETWORKS],
                last_ms=max(before.last_ms, seen.last_ms),
            )
            await _SUGGESTIONS.update(self._session, made, "requests", "networks", "last_ms")
        known[tuple(seen.group)] = made

    async def _shrink(self, found: list[StoredSuggestion]) -> None:
        """Delete the least credible suggestions of a site that has too many."""
        found.sort(key=lambda each: each.rank, reverse=True)
        waiting = [each for each in found if each.accepted_ms is None]
        for each in waiting[MOST_STORED:]:
            await _SUGGESTIONS.delete(self._session, "id = $1", each.id)

    async def delete_suggestions(self, before_ms: int) -> None:
        """Delete suggestions without requests since then, and all of sites that collect none. Keep accepted ones."""
        await _SUGGESTIONS.delete(
            self._session,
            """accepted_ms IS NULL AND (last_ms < $1
                OR site_id IN (SELECT id FROM site WHERE suggestions = 0))""",
            before_ms,
        )


def _key(found: StoredSuggestion) -> tuple[object, ...]:
    return (found.method, found.path, found.program, found.sender, found.owner, found.proven)


class SuggestionStores(SiteStores, Protocol):
    """The repositories that a unit of work on suggestions uses."""

    suggestions: SuggestionStore
