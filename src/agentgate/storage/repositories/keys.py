"""The service's keys in SQL."""

from agentgate.lib.database import LockingRepository, RecordTable
from agentgate.lib.keyring import StoredKey

_KEYS = RecordTable("service_key", StoredKey)


class SqlKeys(LockingRepository):
    """Implements KeyStore."""

    async def list_keys(self) -> list[StoredKey]:
        """Return every key that was ever made and not swept, newest first."""
        return [_KEYS.read(row) for row in await self._session.all(f"{_KEYS.select} ORDER BY created_ms DESC, id")]

    async def add_key(self, key: StoredKey) -> None:
        """Keep a new key."""
        await _KEYS.add(self._session, key)

    async def retire_keys(self, purpose: str, retired_ms: int) -> None:
        """Give every key of the purpose that has no end yet this one."""
        await self._session.run(
            "UPDATE service_key SET retired_ms = $2 WHERE purpose = $1 AND retired_ms IS NULL", purpose, retired_ms
        )

    async def lock_keys(self) -> None:
        """Keep other workers from making keys until this unit of work is done."""
        await self._session.lock("keys")
