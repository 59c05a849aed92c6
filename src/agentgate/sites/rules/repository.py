"""Rules and their earlier revisions in SQL."""

import json
from collections.abc import Sequence
from typing import Protocol

from agentgate.events.queries.ports import TrafficStores
from agentgate.lib.database import Repository, Row, Value, places
from agentgate.lib.enums import Preset
from agentgate.people.audit.repository import AuditStores
from agentgate.people.installation.configuration_version import ConfigurationStores
from agentgate.sites.rules.records import StoredRules

_COLUMNS = "rule_set, overrides, effective_version, revision, updated_ms, updated_by, preset"


class RuleStore(Repository):
    async def find_rules(self, site_id: str) -> StoredRules | None:
        """Return a site's stored rules; None if it never had any."""
        row = await self._session.one(
            f"SELECT {_COLUMNS} FROM site_rules WHERE site_id = $1",  # noqa: S608 - our own column names
            site_id,
        )
        return None if row is None else stored_rules(row)

    async def find_revision(self, site_id: str, effective_version: str) -> StoredRules | None:
        """Return the newest revision that was active under a version, or None."""
        row = await self._session.one(
            f"""SELECT {_COLUMNS} FROM rule_revision
                WHERE site_id = $1 AND effective_version = $2 ORDER BY revision DESC LIMIT 1""",  # noqa: S608 - likewise
            site_id,
            effective_version,
        )
        return None if row is None else stored_rules(row)

    async def list_rows(self, site_ids: Sequence[str]) -> list[Row]:
        """Return the rows of some sites, for `stored_rules`, and the site's ID at the end of each."""
        return await self._session.all(
            f"SELECT {_COLUMNS}, site_id FROM site_rules WHERE site_id IN ({places(site_ids)})",  # noqa: S608 - likewise
            *site_ids,
        )

    async def list_own(self, after_id: str, most: int) -> list[Row]:
        """Likewise return the rows of the sites after an ID, in the order of IDs."""
        return await self._session.all(
            f"SELECT {_COLUMNS}, site_id FROM site_rules WHERE site_id > $1 ORDER BY site_id LIMIT $2",  # noqa: S608 - likewise
            after_id,
            most,
        )

    async def list_network_lists(self, site_id: str) -> frozenset[str]:
        """Return the names of the network lists that a site's rules may name."""
        rows = await self._session.all("SELECT name FROM network_list WHERE site_id = $1", site_id)
        return frozenset(name for (name,) in rows)

    async def list_old(self, before_ms: int, *, newest: int, most: int) -> list[tuple[str, int]]:
        """Return site and number of some revisions that had so many successors before a moment."""
        rows = await self._session.all(
            """SELECT old.site_id, old.revision FROM rule_revision AS later
                JOIN rule_revision AS old ON old.site_id = later.site_id AND old.revision = later.revision - $2
                WHERE later.updated_ms < $1 ORDER BY later.updated_ms LIMIT $3""",
            before_ms,
            newest,
            most,
        )
        return [(site_id, revision) for site_id, revision in rows]

    async def delete_revisions(self, revisions: Sequence[tuple[str, int]]) -> None:
        await self._session.run_many("DELETE FROM rule_revision WHERE site_id = $1 AND revision = $2", revisions)

    async def save_rules(self, site_id: str, rules: StoredRules) -> bool:
        """Insert a revision; False, and no change, unless it follows the present one."""
        values: tuple[Value, ...] = (
            site_id,
            None if rules.rule_set is None else json.dumps(rules.rule_set, ensure_ascii=False),
            json.dumps(rules.overrides, ensure_ascii=False),
            rules.effective_version,
            rules.revision,
            rules.updated_ms,
            rules.updated_by,
            rules.preset,
        )
        insert = f"(site_id, {_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
        # The revision in the condition excludes concurrent writers; the read before does not.
        changed = await self._session.run(
            f"INSERT INTO site_rules {insert} ON CONFLICT (site_id) DO NOTHING"
            if rules.revision == 1
            else """UPDATE site_rules SET rule_set = $2, overrides = $3, effective_version = $4, revision = $5,
                updated_ms = $6, updated_by = $7, preset = $8 WHERE site_id = $1 AND revision = $5 - 1""",
            *values,
        )
        if changed == 0:
            return False
        await self._session.run(f"INSERT INTO rule_revision {insert}", *values)
        return True


def stored_rules(row: Row) -> StoredRules:
    rule_set, overrides, effective_version, revision, updated_ms, updated_by, preset = row[:7]
    return StoredRules(
        overrides=json.loads(overrides),
        effective_version=effective_version,
        revision=revision,
        rule_set=None if rule_set is None else json.loads(rule_set),
        updated_ms=updated_ms,
        updated_by=updated_by,
        preset=Preset(preset),
    )


class RuleStores(TrafficStores, AuditStores, ConfigurationStores, Protocol):
    """The repositories that a unit of work on rules uses."""

    rules: RuleStore
