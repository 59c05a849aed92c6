"""Signatures of agents that were accepted once, in SQL."""

from collections.abc import Callable

from agentgate.lib.database import Database, NewRows
from agentgate.storage.repositories.first_rows import FirstRows

_ROWS = NewRows("agent_replay", key=("replay_key",), types=(("replay_key", "bytea"), ("kept_until_ms", "bigint")))


class ReplayStore:
    """Signatures that were accepted once and must not be accepted again."""

    def __init__(self, database: Database, lost_ms: Callable[[], int] = lambda: 0) -> None:
        self._database = database
        self._lost_ms = lost_ms
        self._rows = FirstRows(database, _ROWS)

    @property
    def lost_ms(self) -> int:
        """When signatures that had been remembered were lost, such as by restoring a backup; 0 where none were."""
        return self._lost_ms()

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
