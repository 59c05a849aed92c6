"""SiteInputs: everything that a site's view is made of, and how it is read from the store."""

from collections.abc import Sequence

from msgspec import Struct

from agentgate.lib.database import Store
from agentgate.sites.lists.records import StoredEntry
from agentgate.sites.lists.repository import ENTRIES
from agentgate.sites.lists.site_lists import in_force
from agentgate.sites.repository import (
    DirectoryRows,
    DirectorySecret,
    DirectorySite,
    SiteStores,
    directory_secret,
    directory_site,
)
from agentgate.sites.rules.records import StoredRules
from agentgate.sites.rules.repositories import stored_rules


class SiteInputs(Struct, frozen=True):
    """Inputs of a site's view, the site, its rules and its unexpired list entries; and its secrets."""

    found: DirectorySite
    stored: StoredRules | None = None
    entries: tuple[StoredEntry, ...] = ()
    secrets: tuple[DirectorySecret, ...] = ()

    def gives_same_view(self, other: "SiteInputs") -> bool:
        return self.found == other.found and self.gives_same_rules(other)

    def gives_same_rules(self, other: "SiteInputs") -> bool:
        return (self.stored, self.entries) == (other.stored, other.entries)


async def fetch_sites(store: Store[SiteStores], site_ids: Sequence[str], version: int) -> DirectoryRows:
    """Return the rows of some sites as of one moment: again if one of the sites has changed since."""
    read = store.read
    while True:
        rows = DirectoryRows(
            await read.directory.list_sites(site_ids),
            await read.directory.list_secrets(site_ids),
            await read.rules.list_rows(site_ids),
            await read.lists.list_rows(site_ids),
        )
        now = await read.configuration.version()
        if now == version:
            return rows
        # An account's status is in the row of the site, so it needs no second look.
        named = await read.configuration.changes(version, now)
        if named is not None and named.sites.isdisjoint(site_ids):
            return rows
        version = now


def read_rows(rows: DirectoryRows, now_ms: int) -> dict[str, SiteInputs]:
    """Return the inputs of these sites, by their IDs."""
    entries: dict[str, list[StoredEntry]] = {}
    for entry in map(ENTRIES.read, rows.entries):
        entries.setdefault(entry.site_id, []).append(entry)
    secrets: dict[str, list[DirectorySecret]] = {}
    for secret in map(directory_secret, rows.secrets):
        secrets.setdefault(secret.site_id, []).append(secret)
    rules = {row[-1]: stored_rules(row) for row in rows.rules}
    found = map(directory_site, rows.sites)
    return {
        each.site.id: SiteInputs(
            each,
            rules.get(each.site.id),
            in_force(entries.get(each.site.id, ()), now_ms),
            tuple(secrets.get(each.site.id, ())),
        )
        for each in found
    }
