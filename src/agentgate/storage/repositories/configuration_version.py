"""The configuration's version in SQL."""

from agentgate.lib.database import SqlSession


class SqlConfiguration:
    """Implements ConfigurationStore."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session
        # Read by SqlStore after the commit, so that this worker need not wait until it looks for itself.
        self.bumped = False

    async def bump(self) -> None:
        """Say that the configuration has changed."""
        await self._session.run("UPDATE configuration_version SET version = version + 1 WHERE id = 1")
        self.bumped = True

    async def version(self) -> int:
        """Return the number as it is now."""
        row = await self._session.one("SELECT version FROM configuration_version WHERE id = 1")
        assert row is not None, "the migration puts the only row there"
        return int(row[0])
