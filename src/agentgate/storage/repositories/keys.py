"""The service's keys in SQL."""

from agentgate.lib.database import LockingRepository
from agentgate.lib.keyring import StoredKey
from agentgate.storage.record_rows import RecordRows

_KEY = RecordRows(StoredKey)


class SqlKeys(LockingRepository):
    """Implements KeyStore."""

    async def list_keys(self) -> list[StoredKey]:
        """Return every key that was ever made and not swept, newest first."""
        rows = await self._session.all(f"SELECT {_KEY.columns} FROM service_key ORDER BY created_ms DESC, id")  # noqa: S608
        return [_KEY.read(row) for row in rows]

    async def add_key(self, key: StoredKey) -> None:
        """Keep a new key."""
        await self._session.run(
            f"INSERT INTO service_key ({_KEY.columns}) VALUES ({_KEY.places()})",  # noqa: S608
            *_KEY.values(key),
        )

    async def retire_keys(self, purpose: str, retired_ms: int) -> None:
        """Give every key of the purpose that has no end yet this one."""
        await self._session.run(
            "UPDATE service_key SET retired_ms = $2 WHERE purpose = $1 AND retired_ms IS NULL", purpose, retired_ms
        )

    async def lock_keys(self) -> None:
        """Keep other workers from making keys until this unit of work is done."""
        await self._session.lock("keys")
