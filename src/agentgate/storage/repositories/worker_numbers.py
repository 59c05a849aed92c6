"""Worker numbers in SQL."""

from agentgate.lib.database import LockingRepository


class SqlWorkerNumbers(LockingRepository):
    """Implements WorkerNumberStore."""

    async def lock_numbers(self) -> None:
        """Keep other workers from taking a number until this unit of work is done."""
        await self._session.lock("worker-number")

    async def list_taken(self, now_ms: int) -> set[int]:
        """Return the numbers whose lease has not ended."""
        rows = await self._session.all("SELECT number FROM worker_number WHERE expires_ms > $1", now_ms)
        return {number for (number,) in rows}

    async def take_number(self, number: int, owner: str, expires_ms: int) -> None:
        """Give a number to an owner, whoever had it before."""
        await self._session.run(
            """INSERT INTO worker_number (number, owner, expires_ms) VALUES ($1, $2, $3)
                ON CONFLICT (number) DO UPDATE SET owner = excluded.owner, expires_ms = excluded.expires_ms""",
            number,
            owner,
            expires_ms,
        )

    async def renew_number(self, number: int, owner: str, expires_ms: int) -> bool:
        """Put the end of a lease off; False when somebody else holds the number."""
        return (
            await self._session.run(
                "UPDATE worker_number SET expires_ms = $3 WHERE number = $1 AND owner = $2", number, owner, expires_ms
            )
            == 1
        )

    async def release_number(self, number: int, owner: str) -> None:
        """Free a number, if this owner holds it."""
        await self._session.run("DELETE FROM worker_number WHERE number = $1 AND owner = $2", number, owner)
