"""When a credential was last used: stored at most once a minute, after the response, so that it delays none."""

from typing import Protocol

from agentgate.lib.clock import MINUTE_MS
from agentgate.lib.database import Store
from agentgate.lib.tasks.background import BackgroundTasks
from agentgate.sites.credentials.repository import CredentialStores, FleetStores

FLEET_PREFIX = "flt_"


class NotedStores(CredentialStores, FleetStores, Protocol):
    """The repositories of credentials of both kinds."""


class CredentialUses:
    """Remembers what this worker noted, so that a busy credential costs one small write a minute."""

    def __init__(self, store: Store[NotedStores], background: BackgroundTasks) -> None:
        self._store = store
        self._background = background
        # One entry for each credential that was ever used here; there are a few for each site.
        self._noted_ms: dict[str, int] = {}

    def note(self, credential_id: str, now_ms: int) -> None:
        """Note a use, unless one was noted within the last minute."""
        noted_ms = self._noted_ms.get(credential_id)
        if noted_ms is not None and 0 <= now_ms - noted_ms < MINUTE_MS:
            return
        self._noted_ms[credential_id] = now_ms
        self._background.start("note-credential-use", lambda: self._write(credential_id, now_ms))

    async def _write(self, credential_id: str, now_ms: int) -> None:
        async def note(stores: NotedStores) -> None:
            uses = stores.fleets if credential_id.startswith(FLEET_PREFIX) else stores.credentials
            await uses.note_use(credential_id, now_ms)

        await self._store.change(note)
