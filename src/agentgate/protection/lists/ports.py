"""What lists ask of the durable store, and of the part above that knows visitors."""

from collections.abc import AsyncIterator
from typing import Protocol

from agentgate.lib.configuration_version import ConfigurationStores
from agentgate.people.audit.repository import AuditStores
from agentgate.protection.lists.records import StoredEntry
from agentgate.protection.lists.replay_records import ClientEvent


class ListStore(Protocol):
    """The lists of sites."""

    async def lock_lists(self, site_id: str) -> None:
        """Keep other units of work from changing the site's lists until this one is done."""
        ...

    async def list_entries(self, site_id: str) -> list[StoredEntry]:
        """Return a site's entries, newest first, those whose term is over included."""
        ...

    async def list_all_entries(self) -> dict[str, tuple[StoredEntry, ...]]:
        """Return the entries of all sites, by site ID; sites without any are absent."""
        ...

    async def find_entry(self, site_id: str, entry_id: str) -> StoredEntry | None:
        """Return a site's entry; None when the site has none of this ID, whoever else may."""
        ...

    async def add_entry(self, entry: StoredEntry) -> None:
        """Keep a new entry."""
        ...

    async def delete_entry(self, site_id: str, entry_id: str) -> None:
        """Forget an entry."""
        ...


class ClientReplay(Protocol):
    """Stored decisions, with whom they were about."""

    def replay(self, site_id: str, *, from_ms: int, to_ms: int, limit: int) -> AsyncIterator[list[ClientEvent]]:
        """Return the newest decisions of a site, in batches, newest first, at most `limit`."""
        ...


class ListStores(AuditStores, ConfigurationStores, Protocol):
    """The ports that a unit of work on lists uses."""

    @property
    def lists(self) -> ListStore: ...


class VisitorNames(Protocol):
    """Makes the visitor IDs under which decisions are stored."""

    def find(self, site_key: str, address: str) -> int:
        """Return the visitor's number of an address at a site."""
        ...

    def named_since_ms(self) -> int:
        """Return since when addresses have the names that they have now."""
        ...
