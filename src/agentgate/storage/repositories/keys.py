"""The service's keys in SQL."""

from agentgate.lib.database import LockingRepository
from agentgate.lib.keyring import StoredKey


class SqlKeys(LockingRepository):
    """Implements KeyStore."""

    async def list_keys(self) -> list[StoredKey]:
        """Return every key that was ever made and not swept, newest first."""
        rows = await self._session.all(
            """SELECT id, purpose, sealed, created_ms, active_ms, retired_ms FROM service_key
                ORDER BY created_ms DESC, id"""
        )
        return [
            StoredKey(
                id=key_id,
                purpose=purpose,
                sealed=sealed,
                created_ms=created_ms,
                active_ms=active_ms,
                retired_ms=retired_ms,
            )
            for key_id, purpose, sealed, created_ms, active_ms, retired_ms in rows
        ]

    async def add_key(self, key: StoredKey) -> None:
        """Keep a new key."""
        await self._session.run(
            """INSERT INTO service_key (id, purpose, sealed, created_ms, active_ms, retired_ms)
                VALUES ($1, $2, $3, $4, $5, $6)""",
            key.id,
            key.purpose,
            key.sealed,
            key.created_ms,
            key.active_ms,
            key.retired_ms,
        )

    async def retire_keys(self, purpose: str, retired_ms: int) -> None:
        """Give every key of the purpose that has no end yet this one."""
        await self._session.run(
            "UPDATE service_key SET retired_ms = $2 WHERE purpose = $1 AND retired_ms IS NULL", purpose, retired_ms
        )

    async def lock_keys(self) -> None:
        """Keep other workers from making keys until this unit of work is done."""
        await self._session.lock("keys")
