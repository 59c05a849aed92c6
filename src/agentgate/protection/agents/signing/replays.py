"""Replay: a signed request is accepted once. Whoever copies one from a log or a proxy gets nowhere with it."""

from agentgate.lib.clock import MINUTE_MS, SECOND_MS
from agentgate.lib.enums import AgentVerdict
from agentgate.lib.limits import SIGNATURE_SKEW_S
from agentgate.protection.agents.identity import Identity
from agentgate.protection.agents.signing.repository import ReplayStore

# Two machines' clocks may differ, and one of them must not forget what the other would still accept.
SKEW_MS = MINUTE_MS


class Replays:
    """Says whether a signature was seen before, and remembers it."""

    def __init__(self, store: ReplayStore) -> None:
        self._store = store

    def must_remember(self, identity: Identity, *, unsafe: bool) -> bool:
        """Say whether a signature must be remembered.

        One without a nonce only where repeating does harm (`unsafe`: submissions, and methods other than GET and HEAD):
        two honest requests of the same second have the same signature then.
        """
        return identity.verdict is AgentVerdict.VERIFIED and (identity.has_nonce or unsafe)

    async def is_new(self, identity: Identity, *, unsafe: bool) -> bool:
        """Return False for a signature that was accepted before. Also True where nothing must be remembered."""
        if not self.must_remember(identity, unsafe=unsafe):
            return True
        if not identity.unique:
            raise ValueError("a verified identity needs a replay key; all of them would be taken for one signature")
        # It may have been accepted before the store forgot it; the agent's clock may have been ahead.
        lost_ms = self._store.lost_ms
        if lost_ms > 0 and identity.created_ms <= lost_ms + SIGNATURE_SKEW_S * SECOND_MS:
            return False
        return await self._store.remember(identity.replay_key, kept_until_ms=identity.expires_ms + SKEW_MS)
