"""Signatures of agents that were accepted once, in SQL."""

from agentgate.lib.database import Database, NewRows
from agentgate.storage.repositories.first_rows import FirstRows

_ROWS = NewRows("agent_replay", key=("replay_key",), types=(("replay_key", "bytea"), ("kept_until_ms", "bigint")))


class SqlReplays:
    """Implements ReplayStore."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._rows = FirstRows(database, _ROWS)

    async def remember(self, replay_key: bytes, *, kept_until_ms: int) -> bool:
        """Remember a signature, durably; False when it is remembered already. Of many at once, one wins."""
        return await self._rows.put((replay_key, kept_until_ms))

    async def forget_replays(self, before_ms: int, *, most: int) -> int:
        """Remove some of those that have expired; return how many went."""
        return await self._database.run(
            """DELETE FROM agent_replay WHERE replay_key IN
                (SELECT replay_key FROM agent_replay WHERE kept_until_ms < $1 ORDER BY kept_until_ms LIMIT $2)""",
            before_ms,
            most,
        )
