"""Lists in SQL."""

from agentgate.lib.database import Row, Transaction
from agentgate.lib.enums import ListKind, ListOutcome
from agentgate.protection.lists.records import StoredEntry

_COLUMNS = "id, site_id, kind, value, outcome, note, created_ms, created_by, expires_ms"


class ListStore:
    """The lists of sites."""

    def __init__(self, session: Transaction) -> None:
        self._session = session

    async def lock_lists(self, site_id: str) -> None:
        """Keep other units of work from changing the site's lists until this one is done."""
        await self._session.lock("lists", site_id)

    async def list_entries(self, site_id: str) -> list[StoredEntry]:
        """Return a site's entries, newest first, those whose term is over included."""
        rows = await self._session.all(
            f"SELECT {_COLUMNS} FROM site_list_entry WHERE site_id = $1 ORDER BY created_ms DESC, id",  # noqa: S608
            site_id,
        )
        return [_entry(row) for row in rows]

    async def list_all_entries(self) -> dict[str, tuple[StoredEntry, ...]]:
        """Return the entries of all sites, by site ID; sites without any are absent."""
        rows = await self._session.all(f"SELECT {_COLUMNS} FROM site_list_entry ORDER BY site_id, id")  # noqa: S608
        found: dict[str, list[StoredEntry]] = {}
        for row in rows:
            found.setdefault(row[1], []).append(_entry(row))
        return {site_id: tuple(entries) for site_id, entries in found.items()}

    async def find_entry(self, site_id: str, entry_id: str) -> StoredEntry | None:
        """Return a site's entry; None when the site has none of this ID, even if another site has."""
        row = await self._session.one(
            f"SELECT {_COLUMNS} FROM site_list_entry WHERE site_id = $1 AND id = $2",  # noqa: S608
            site_id,
            entry_id,
        )
        return None if row is None else _entry(row)

    async def add_entry(self, entry: StoredEntry) -> None:
        """Keep a new entry."""
        await self._session.run(
            f"INSERT INTO site_list_entry ({_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",  # noqa: S608
            entry.id,
            entry.site_id,
            entry.kind.value,
            entry.value,
            entry.outcome.value,
            entry.note,
            entry.created_ms,
            entry.created_by,
            entry.expires_ms,
        )

    async def delete_entry(self, site_id: str, entry_id: str) -> None:
        """Forget an entry."""
        await self._session.run("DELETE FROM site_list_entry WHERE site_id = $1 AND id = $2", site_id, entry_id)


def _entry(row: Row) -> StoredEntry:
    entry_id, site_id, kind, value, outcome, note, created_ms, created_by, expires_ms = row
    return StoredEntry(
        id=entry_id,
        site_id=site_id,
        kind=ListKind(kind),
        value=value,
        outcome=ListOutcome(outcome),
        note=note,
        created_ms=created_ms,
        created_by=created_by,
        expires_ms=expires_ms,
    )
