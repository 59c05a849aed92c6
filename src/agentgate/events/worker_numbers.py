"""Worker numbers: every running worker has one to itself, on whichever machine, so that IDs never meet.

A number is leased. Its worker renews it long before it ends; the number of a killed worker is free again after the
lease.
"""

import secrets
from typing import Protocol

from msgspec import Struct

from agentgate.events.decision_ids import WORKERS
from agentgate.lib.clock import MINUTE_MS, Clock
from agentgate.lib.database import LockingRepository, RecordTable, Store, StoreUnavailable

LEASE_MS = 10 * MINUTE_MS
RENEW_MS = MINUTE_MS


class NoWorkerNumber(Exception):  # noqa: N818 - says what happened
    """All numbers are taken."""


class NumberLease(Struct, frozen=True):
    """The owner of a number, and the end of the lease."""

    number: int
    owner: str
    expires_ms: int


_LEASES = RecordTable("worker_number", NumberLease)


class WorkerNumberStore(LockingRepository):
    """The leases in SQL."""

    async def lock_numbers(self) -> None:
        """Keep other workers from taking a number until this unit of work is done."""
        await self._session.lock("worker-number")

    async def list_taken(self, now_ms: int) -> set[int]:
        """Return the numbers whose lease has not ended."""
        return {lease.number for lease in await _LEASES.find_all(self._session, "expires_ms > $1", now_ms)}

    async def take_number(self, number: int, owner: str, expires_ms: int) -> None:
        """Assign a number to an owner, replacing any earlier owner."""
        await _LEASES.save(self._session, NumberLease(number, owner, expires_ms), "number")

    async def renew_number(self, number: int, owner: str, expires_ms: int) -> bool:
        """Extend a lease; return False if another owner holds the number."""
        is_ours = "number = $1 AND owner = $2"
        return await _LEASES.change(self._session, is_ours, number, owner, expires_ms=expires_ms) == 1

    async def release_number(self, number: int, owner: str) -> None:
        """Free a number, if this owner holds it."""
        await _LEASES.delete(self._session, "number = $1 AND owner = $2", number, owner)


class WorkerNumberStores(Protocol):
    """The repository that a worker's claim uses."""

    worker_numbers: WorkerNumberStore


class WorkerNumber:
    """One worker's claim."""

    def __init__(self, store: Store[WorkerNumberStores], clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._owner = secrets.token_hex(8)
        self._number: int | None = None

    async def claim(self) -> int:
        """Take a free number and return it."""
        now_ms = self._clock.now_ms()

        async def work(stores: WorkerNumberStores) -> int:
            await stores.worker_numbers.lock_numbers()
            taken = await stores.worker_numbers.list_taken(now_ms)
            free = next((number for number in range(WORKERS) if number not in taken), None)
            if free is None:
                raise NoWorkerNumber(f"{WORKERS} workers are already running, which is the maximum")
            await stores.worker_numbers.take_number(free, self._owner, now_ms + LEASE_MS)
            return free

        self._number = await self._store.change(work)
        return self._number

    async def renew(self) -> int:
        """Keep the number, or take another one if it has been reassigned; return the current number."""
        number = self._number
        if number is not None:
            expires_ms = self._clock.now_ms() + LEASE_MS
            kept = await self._store.change(
                lambda stores: stores.worker_numbers.renew_number(number, self._owner, expires_ms)
            )
            if kept:
                return number
        return await self.claim()

    async def release(self) -> None:
        """Free the number for other workers. If the store is unavailable, the lease expires later."""
        number, self._number = self._number, None
        if number is not None:
            try:
                await self._store.change(lambda stores: stores.worker_numbers.release_number(number, self._owner))
            except StoreUnavailable:
                return
