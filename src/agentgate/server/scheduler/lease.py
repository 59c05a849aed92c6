"""Leases: of several processes one does the timed work, and another takes over when that one is gone.

A lease is a row with an owner and an end. Whoever holds it renews it in time; whoever does not watches the end.
"""

import secrets
from typing import Protocol

from msgspec import Struct

from agentgate.lib.clock import HOUR_MS, SECOND_MS, Clock
from agentgate.lib.database import Store

LEASE_MS = 30 * SECOND_MS
# Renewed as soon as less than this is left, which leaves many attempts while the store is slow.
RENEW_MS = 20 * SECOND_MS
# An end further away than this was written by a clock that was wrong, and would keep everybody out until then.
BELIEVABLE_MS = HOUR_MS


class Lease(Struct, frozen=True):
    """Who holds a lease, and until when."""

    owner: str
    expires_ms: int


class JobRun(Struct, frozen=True, kw_only=True):
    """When a job was last run, and until when it waits after a jump of the clock."""

    name: str
    last_ms: int
    held_until_ms: int = 0


class JobResult(Struct, frozen=True, kw_only=True):
    """How the last run of a job ended; `failure` names the kind of failure and is empty after a success."""

    name: str
    started_ms: int
    took_ms: int
    failure: str = ""


class JobStore(Protocol):
    """Leases, and the times of jobs."""

    async def find_lease(self, name: str) -> Lease | None:
        """Return a lease, whether it has ended or not; None when nobody ever held it."""
        ...

    async def take_lease(self, name: str, lease: Lease, *, now_ms: int, believable_ms: int) -> bool:
        """Take or renew a lease; False when somebody else holds it until a moment that can be believed."""
        ...

    async def release_lease(self, name: str, owner: str) -> None:
        """End a lease, if this owner holds it."""
        ...

    async def list_runs(self) -> list[JobRun]:
        """Return what is known of each job's runs."""
        ...

    async def save_run(self, run: JobRun) -> None:
        """Note a run, over an earlier one of the same name."""
        ...

    async def list_results(self) -> list[JobResult]:
        """Return how the last run of each job ended."""
        ...

    async def save_result(self, result: JobResult) -> None:
        """Note how a run ended, over an earlier one of the same name."""
        ...


class JobStores(Protocol):
    """The port that timed work needs."""

    @property
    def jobs(self) -> JobStore: ...


class Leadership:
    """One process's claim to a lease."""

    def __init__(self, name: str, *, store: Store[JobStores], clock: Clock) -> None:
        self._name = name
        self._store = store
        self._clock = clock
        self._owner = secrets.token_hex(8)
        self._expires_ms = 0

    async def hold(self) -> bool:
        """Take the lease if it is free, renew it if it is ours; say whether it is ours now."""
        now_ms = self._clock.now_ms()
        if RENEW_MS < self._expires_ms - now_ms <= LEASE_MS:
            return True
        # Looking first: most processes are not the leader, and a look costs no write.
        found = await self._store.read.jobs.find_lease(self._name)
        if found and found.owner != self._owner and now_ms < found.expires_ms <= now_ms + BELIEVABLE_MS:
            self._expires_ms = 0
            return False
        mine = Lease(self._owner, now_ms + LEASE_MS)
        taken = await self._store.change(
            lambda stores: stores.jobs.take_lease(self._name, mine, now_ms=now_ms, believable_ms=now_ms + BELIEVABLE_MS)
        )
        self._expires_ms = mine.expires_ms if taken else 0
        return taken

    async def release(self) -> None:
        """Let the next one have the lease at once."""
        if self._expires_ms:
            self._expires_ms = 0
            await self._store.change(lambda stores: stores.jobs.release_lease(self._name, self._owner))
