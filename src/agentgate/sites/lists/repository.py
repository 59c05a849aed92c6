"""Lists in SQL, and stored decisions as backtests of an entry read them."""

from collections.abc import Sequence
from typing import Protocol

from agentgate.lib.database import LockingRepository, RecordTable, Row, places
from agentgate.people.audit.repository import AuditStores
from agentgate.people.installation.configuration_version import ConfigurationStores
from agentgate.sites.lists.records import StoredEntry

ENTRIES = RecordTable("site_list_entry", StoredEntry)


class ListStore(LockingRepository):
    async def lock_lists(self, site_id: str) -> None:
        """Keep other units of work from changing the site's lists until this one is done."""
        await self._session.lock("lists", site_id)

    async def list_entries(self, site_id: str) -> list[StoredEntry]:
        """Return a site's entries, newest first, expired ones included."""
        return await ENTRIES.find_all(self._session, "site_id = $1 ORDER BY created_ms DESC, id", site_id)

    async def list_rows(self, site_ids: Sequence[str]) -> list[Row]:
        """Return the rows of some sites' entries, for `ENTRIES`."""
        condition = f"site_id IN ({places(site_ids)}) ORDER BY site_id, id"
        return await self._session.all(f"{ENTRIES.select} WHERE {condition}", *site_ids)

    async def find_entry(self, site_id: str, entry_id: str) -> StoredEntry | None:
        """Return a site's entry; None when the site has none of this ID, even if another site has."""
        return await ENTRIES.find(self._session, "site_id = $1 AND id = $2", site_id, entry_id)

    async def add_entry(self, entry: StoredEntry) -> None:
        await ENTRIES.add(self._session, entry)

    async def change_entry(self, entry: StoredEntry) -> None:
        """Save the effect, note and expiry of an entry."""
        await ENTRIES.change(
            self._session,
            "site_id = $1 AND id = $2",
            entry.site_id,
            entry.id,
            outcome=entry.outcome.value,
            note=entry.note,
            expires_ms=entry.expires_ms,
        )

    async def delete_entry(self, site_id: str, entry_id: str) -> None:
        await self._session.run("DELETE FROM site_list_entry WHERE site_id = $1 AND id = $2", site_id, entry_id)


class ListStores(AuditStores, ConfigurationStores, Protocol):
    """The repositories that a unit of work on lists uses."""

    lists: ListStore
