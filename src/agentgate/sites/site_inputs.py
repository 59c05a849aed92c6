"""SiteInputs: everything that a site's view is made of, and how it is read from the store."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import structlog
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from agentgate.lib.database import Row, Store
from agentgate.lib.enums import LoadState, WholeSiteWhen
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
from agentgate.sites.rules.repository import stored_rules
from agentgate.sites.rules.schedule import last_boundary_ms, next_boundary_ms


class AccountState:
    """What all views of an account share, so that all its sites close at once."""

    __slots__ = ("is_deleted", "sites")

    def __init__(self, *, is_deleted: bool = False) -> None:
        self.is_deleted = is_deleted
        # The IDs of its sites in memory.
        self.sites: set[str] = set()


LOAD_LABELS: Mapping[LoadState, tuple[str, ...]] = {
    LoadState.NORMAL: (),
    LoadState.BUSY: ("site.busy",),
    LoadState.FLOOD: ("site.busy", "site.flood"),
}


class SiteInputs(Struct, frozen=True):
    """Inputs of a site's view, the site, its rules and its unexpired list entries; and its secrets."""

    found: DirectorySite
    stored: StoredRules | None = None
    entries: tuple[StoredEntry, ...] = ()
    # Names and packed networks of its network lists.
    networks: tuple[tuple[str, bytes], ...] = ()
    secrets: tuple[DirectorySecret, ...] = ()
    # When a scheduled rule last began or ended.
    scheduled_ms: int = 0
    # Whether the owner declared an attack that has not ended.
    under_attack: bool = False
    # When the first list entry or the declared attack ends, or a scheduled rule begins or ends; None for never.
    next_ms: int | None = None
    # Why the stored rules or list entries cannot be read.
    damage: str = ""

    @property
    def load_labels(self) -> tuple[str, ...]:
        """`site.*` of all requests at present."""
        load = self.found.site.load
        state = LoadState.NORMAL if isinstance(load, UnsetType) else load.state
        return LOAD_LABELS[LoadState.FLOOD if self.under_attack else state]

    @property
    def whole_site(self) -> bool:
        """Whether whole-site protection applies at present."""
        site = self.found.site
        is_on = site.whole_site_when is WholeSiteWhen.ALWAYS or bool(self.load_labels)
        return self.under_attack or (site.whole_site and is_on)

    def gives_same_view(self, other: "SiteInputs") -> bool:
        same_site = self.found == other.found and self.under_attack == other.under_attack
        return same_site and self.gives_same_rules(other)

    def gives_same_rules(self, other: "SiteInputs") -> bool:
        mine = (self.stored, self.entries, self.networks, self.scheduled_ms, self.damage)
        return mine == (other.stored, other.entries, other.networks, other.scheduled_ms, other.damage)


def inputs_at(read: SiteInputs, now_ms: int) -> SiteInputs:
    """Return the inputs of a site without what has ended, and with the rules that are active now."""
    items, attack_ms = scheduled_items(read.stored), read.found.site.under_attack_until
    if not items and not read.entries and attack_ms is UNSET:
        return read
    under_attack = isinstance(attack_ms, int) and now_ms < attack_ms
    entries, scheduled_ms = in_force(read.entries, now_ms), last_boundary_ms(items, now_ms)
    moments = (next_end_ms(entries), next_boundary_ms(items, scheduled_ms), attack_ms if under_attack else None)
    next_ms = min((each for each in moments if isinstance(each, int)), default=None)
    return replace(read, entries=entries, scheduled_ms=scheduled_ms, under_attack=under_attack, next_ms=next_ms)


async def fetch_sites(store: Store[SiteStores], site_ids: Sequence[str], version: int) -> DirectoryRows:
    """Return the rows of some sites as of one moment: again if one of the sites has changed since."""
    read = store.read
    while True:
        rows = DirectoryRows(
            await read.directory.list_sites(site_ids),
            await read.directory.list_secrets(site_ids),
            await read.rules.list_rows(site_ids),
            await read.lists.list_rows(site_ids),
            await read.network_lists.list_rows(site_ids),
        )
        now = await read.configuration.version()
        if now == version:
            return rows
        # An account's status is in the row of the site, so it needs no second look.
        named = await read.configuration.changes(version, now)
        if named is not None and named.sites.isdisjoint(site_ids):
            return rows
        version = now


def read_rows(rows: DirectoryRows, now_ms: int) -> dict[str, SiteInputs | None]:
    """Return the inputs of these sites, by their IDs; None for a site whose own row cannot be read.

    Stored rows were validated, so a damaged one was changed outside the service. It affects no other site.
    """
    secrets, rules = _by_site(rows.secrets, 2), _by_site(rows.rules, -1)
    entries = _by_site(rows.entries, ENTRIES.names.index("site_id"))
    networks = _by_site(rows.networks, 0)
    read: dict[str, SiteInputs | None] = {}
    for row in rows.sites:
        site_id = row[0]
        found = None
        try:
            found = SiteInputs(directory_site(row), secrets=tuple(map(directory_secret, secrets[site_id])))
            stored = stored_rules(rules[site_id][0]) if rules[site_id] else None
            whole = replace(
                found,
                stored=stored,
                entries=tuple(map(ENTRIES.read, entries[site_id])),
                networks=tuple((row[1], bytes(row[2])) for row in networks[site_id]),
            )
            read[site_id] = inputs_at(whole, now_ms)
        except Exception as damage:  # noqa: BLE001 - whatever a damaged value raises
            structlog.get_logger().error("stored rows cannot be read", site=site_id, reason=repr(damage))
            read[site_id] = found and replace(found, damage=repr(damage))
    return read


def _by_site(rows: Iterable[Row], column: int) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row[column]].append(row)
    return found
