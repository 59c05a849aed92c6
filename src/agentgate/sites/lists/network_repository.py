"""Network lists in SQL."""

from collections.abc import Sequence
from typing import Protocol

from agentgate.lib.database import LockingRepository, RecordTable, Row, places
from agentgate.people.audit.repository import AuditStores
from agentgate.people.installation.configuration_version import ConfigurationStores
from agentgate.sites.lists.network_records import StoredNetworkList
from agentgate.sites.rules.repository import RuleStore

_LISTS = RecordTable("network_list", StoredNetworkList)
_FIELDS = tuple(name for name in StoredNetworkList.__struct_fields__ if name not in ("site_id", "name"))


class NetworkListStore(LockingRepository):
    async def lock_networks(self, site_id: str) -> None:
        """Keep other units of work from changing the site's network lists until this one is done."""
        await self._session.lock("network_lists", site_id)

    async def find_all(self, site_id: str) -> list[StoredNetworkList]:
        """Return a site's lists by name."""
        return await _LISTS.find_all(self._session, "site_id = $1 ORDER BY name", site_id)

    async def list_rows(self, site_ids: Sequence[str]) -> list[Row]:
        """Return site, name and packed networks of some sites' lists."""
        condition = f"site_id IN ({places(site_ids)}) ORDER BY site_id, name"
        return await self._session.all(
            f"SELECT site_id, name, networks FROM network_list WHERE {condition}",  # noqa: S608 - our own names
            *site_ids,
        )

    async def find(self, site_id: str, name: str) -> StoredNetworkList | None:
        return await _LISTS.find(self._session, "site_id = $1 AND name = $2", site_id, name)

    async def list_due(self, now_ms: int, *, most: int) -> list[StoredNetworkList]:
        """Return of each account the list whose source is due for longest; none of deleted accounts."""
        return await _LISTS.find_all(
            self._session,
            """(site_id, name) IN (SELECT site_id, name FROM
                (SELECT due.site_id, due.name, ROW_NUMBER() OVER
                    (PARTITION BY account.id ORDER BY due.due_ms, due.site_id, due.name) AS place
                    FROM network_list AS due JOIN site ON site.id = due.site_id
                    JOIN account ON account.id = site.account_id
                    WHERE due.due_ms <= $1 AND account.status <> 'deleted') AS ranked WHERE place = 1)
                ORDER BY due_ms LIMIT $2""",
            now_ms,
            most,
        )

    async def save(self, found: StoredNetworkList) -> None:
        """Save a list, over an earlier one of the same name."""
        await _LISTS.save(self._session, found, "site_id", "name")

    async def save_if(self, found: StoredNetworkList, revision: int) -> bool:
        """Save an existing list unless its revision is another than the given one; return whether it was."""
        values = {name: getattr(found, name) for name in _FIELDS} | {"source": found.source.value}
        changed = await _LISTS.change(
            self._session, "site_id = $1 AND name = $2 AND revision = $3", found.site_id, found.name, revision, **values
        )
        return changed == 1

    async def delete(self, site_id: str, name: str) -> None:
        await _LISTS.delete(self._session, "site_id = $1 AND name = $2", site_id, name)


class NetworkListStores(AuditStores, ConfigurationStores, Protocol):
    """The repositories that a unit of work on network lists uses."""

    network_lists: NetworkListStore
    rules: RuleStore
