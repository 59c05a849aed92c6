"""The version of the configuration: a number that grows with every change of sites, rules or models.

Workers keep sites, rules and models in memory and compare this number to learn that theirs are old. Each version names
what it changed, and a worker reads only that. A change calls one of the `bump` methods in the same unit of work.
"""

from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from agentgate.lib.database import Repository, SqlSession

# A worker that is further behind reads everything. It has looked for changes twice a second until then.
KEPT_CHANGES = 4_000
# Older ones are deleted together.
DELETED_TOGETHER = 100


class _Kind(StrEnum):
    SITE = "site"
    ACCOUNT = "account"
    MODELS = "models"


class Changes(Struct, frozen=True):
    """What some versions changed: the IDs of sites and of accounts, and whether models."""

    sites: frozenset[str]
    accounts: frozenset[str]
    models: bool


class ConfigurationStore(Repository):
    """The number and the changes in SQL."""

    def __init__(self, session: SqlSession) -> None:
        super().__init__(session)
        # Whether this unit of work has changed something. Read by SqlStore after the commit, so that this worker need
        # not wait until it looks for itself.
        self.is_bumped = False

    async def bump_site(self, site_id: str) -> None:
        """Say that a site has changed: it, its rules, lists, credentials or capture."""
        await self._bump(_Kind.SITE, site_id)

    async def bump_account(self, account_id: str) -> None:
        """Say that an account's status or the set of its sites has changed."""
        await self._bump(_Kind.ACCOUNT, account_id)

    async def bump_models(self) -> None:
        await self._bump(_Kind.MODELS, "")

    async def _bump(self, kind: _Kind, target: str) -> None:
        # Locks the row until the commit: versions become visible in their order.
        row = await self._session.one(
            "UPDATE configuration_version SET version = version + 1 WHERE id = 1 RETURNING version"
        )
        assert row is not None, "the migration puts the only row there"
        version = int(row[0])
        await self._session.run(
            "INSERT INTO configuration_change (version, kind, target) VALUES ($1, $2, $3)", version, kind.value, target
        )
        if version % DELETED_TOGETHER == 0:
            await self._session.run("DELETE FROM configuration_change WHERE version <= $1", version - KEPT_CHANGES)
        self.is_bumped = True

    async def version(self) -> int:
        row = await self._session.one("SELECT version FROM configuration_version WHERE id = 1")
        assert row is not None, "the migration puts the only row there"
        return int(row[0])

    async def changes(self, after: int, to: int) -> Changes | None:
        """Return what the versions after one, up to another, changed; None when they do not all say it.

        That is so for a worker that starts or is far behind, and after a restore.
        """
        if not 0 <= to - after <= KEPT_CHANGES:
            return None
        rows = await self._session.all(
            "SELECT kind, target FROM configuration_change WHERE version > $1 AND version <= $2", after, to
        )
        if len(rows) != to - after:
            return None
        return Changes(
            frozenset(target for kind, target in rows if kind == _Kind.SITE),
            frozenset(target for kind, target in rows if kind == _Kind.ACCOUNT),
            any(kind == _Kind.MODELS for kind, _ in rows),
        )


class ConfigurationStores(Protocol):
    """The repository that every unit of work on the configuration uses."""

    configuration: ConfigurationStore
