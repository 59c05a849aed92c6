"""The version of the configuration: a number that grows with every change of sites, rules or models.

Workers keep sites, rules and models in memory and compare this number to learn that theirs are old. A change
of one of these calls `bump` in the same unit of work.
"""

from typing import Protocol

from agentgate.lib.database import Repository


class ConfigurationStore(Repository):
    """The one number in SQL."""

    # Read by SqlStore after the commit, so that this worker need not wait until it looks for itself.
    bumped = False

    async def bump(self) -> None:
        """Say that the configuration has changed."""
        await self._session.run("UPDATE configuration_version SET version = version + 1 WHERE id = 1")
        self.bumped = True

    async def version(self) -> int:
        row = await self._session.one("SELECT version FROM configuration_version WHERE id = 1")
        assert row is not None, "the migration puts the only row there"
        return int(row[0])


class ConfigurationStores(Protocol):
    """The repository that every unit of work on the configuration uses."""

    configuration: ConfigurationStore
