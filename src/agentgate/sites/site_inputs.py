"""SiteInputs: everything that a site's view is made of, and how it is read from the store."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from agentgate.lib.database import Store
from agentgate.sites.lists.records import StoredEntry
from agentgate.sites.lists.repository import ENTRIES
from agentgate.sites.lists.site_lists import in_force, next_end_ms
from agentgate.sites.repository import (
    DirectoryRows,
    DirectorySecret,
    DirectorySite,
    SiteStores,
    directory_secret,
    directory_site,
)
from agentgate.sites.rules.effective import scheduled_items
from agentgate.sites.rules.records import StoredRules
from agentgate.sites.rules.repositories import stored_rules
from agentgate.sites.rules.schedule import last_boundary_ms, next_boundary_ms


class SiteInputs(Struct, frozen=True):
    """Inputs of a site's view, the site, its rules and its unexpired list entries; and its secrets."""

    found: DirectorySite
    stored: StoredRules | None = None
    entries: tuple[StoredEntry, ...] = ()
    secrets: tuple[DirectorySecret, ...] = ()
    # When a scheduled rule last began or ended.
    scheduled_ms: int = 0

    def gives_same_view(self, other: "SiteInputs") -> bool:
        return self.found == other.found and self.gives_same_rules(other)

    def gives_same_rules(self, other: "SiteInputs") -> bool:
        return (self.stored, self.entries, self.scheduled_ms) == (other.stored, other.entries, other.scheduled_ms)


def inputs_at(read: SiteInputs, now_ms: int) -> SiteInputs:
    """Return the inputs of a site without expired list entries, and with the rules that are active now."""
    return replace(
        read,
        entries=in_force(read.entries, now_ms),
        scheduled_ms=last_boundary_ms(scheduled_items(read.stored), now_ms),
    )


def next_change_ms(read: SiteInputs) -> int | None:
    """Return when the first list entry expires, or a scheduled rule begins or ends; None for never."""
    moments = (next_end_ms(read.entries), next_boundary_ms(scheduled_items(read.stored), read.scheduled_ms))
    return min((each for each in moments if each is not None), default=None)


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
            last_boundary_ms(scheduled_items(rules.get(each.site.id)), now_ms),
        )
        for each in found
    }
