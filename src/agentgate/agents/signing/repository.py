"""Signatures of agents that were accepted once, in SQL."""

from collections.abc import Callable

from agentgate.agents.identity import Identity
from agentgate.agents.signing.nonce_board import NonceBoard, memory_board
from agentgate.lib.clock import MINUTE_MS, SECOND_MS
from agentgate.lib.database import Database, NewRows
from agentgate.lib.enums import AgentVerdict
from agentgate.lib.limits import SIGNATURE_SKEW_S
from agentgate.storage.first_rows import FirstRows

_ROWS = NewRows("agent_replay", key=("replay_key",), types=(("replay_key", "bytea"), ("kept_until_ms", "bigint")))


class ReplayStore:
    """Signatures that were accepted once and must not be accepted again."""

    def __init__(self, database: Database, lost_ms: Callable[[], int] = lambda: 0) -> None:
        self._database = database
        self._lost_ms = lost_ms
        self._rows = FirstRows(database, _ROWS)

    @property
    def lost_ms(self) -> int:
        """When stored signatures were lost, such as by restoring a backup; 0 if none were."""
        return self._lost_ms()

    async def remember(self, replay_key: bytes, *, kept_until_ms: int) -> bool:
        """Store a signature; False if it is stored already. Of concurrent calls, one wins."""
        return await self._rows.put((replay_key, kept_until_ms))

    async def delete_replays(self, before_ms: int, *, most: int) -> int:
        """Delete some rows that have expired; return how many."""
        return await self._database.run(
            """DELETE FROM agent_replay WHERE replay_key IN
                (SELECT replay_key FROM agent_replay WHERE kept_until_ms < $1 ORDER BY kept_until_ms LIMIT $2)""",
            before_ms,
            most,
        )


# Machines' clocks differ: one must not delete a signature that another would still accept.
SKEW_MS = MINUTE_MS


class Replays:
    """Detects signatures that were accepted before, and stores new ones."""

    def __init__(self, store: ReplayStore, nonces: NonceBoard | None = None) -> None:
        self._store = store
        # Of reads; other signatures are stored as well.
        self._nonces = nonces or memory_board()

    def must_remember(self, identity: Identity, *, unsafe: bool) -> bool:
        """Return whether a signature must be remembered.

        One without a nonce only where repeating does harm (`unsafe`: submissions, and methods other than GET and HEAD):
        two honest requests of the same second have the same signature then.
        """
        return identity.verdict is AgentVerdict.VERIFIED and (identity.has_nonce or unsafe)

    def is_new_here(self, identity: Identity, *, now_ms: int) -> bool | None:
        """Return whether a nonce is new to this machine, and remember it; None if only the store knows."""
        if self._is_lost(identity):
            return False
        until_ms = identity.expires_ms + SKEW_MS
        return self._nonces.add(identity.replay_key, kept_until_ms=until_ms, now_ms=now_ms)

    def _is_lost(self, identity: Identity) -> bool:
        """Return whether it may have been accepted before rows were lost; the agent's clock may have been ahead."""
        lost_ms = self._store.lost_ms
        return lost_ms > 0 and identity.created_ms <= lost_ms + SIGNATURE_SKEW_S * SECOND_MS

    async def is_new(self, identity: Identity, *, unsafe: bool) -> bool:
        """Return False for a signature that was accepted before. Also True if it need not be stored."""
        if not self.must_remember(identity, unsafe=unsafe):
            return True
        if not identity.unique:
            raise ValueError("a verified identity needs a replay key; all of them would be taken for one signature")
        if self._is_lost(identity):
            return False
        return await self._store.remember(identity.replay_key, kept_until_ms=identity.expires_ms + SKEW_MS)
