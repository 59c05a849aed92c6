"""Leases: of several processes one does the timed work, and another takes over when that one is gone.

A lease is a row with an owner and an expiry time. The holder renews it in time; the others check whether it expired.
"""

import secrets

from agentgate.lib.clock import HOUR_MS, SECOND_MS, Clock
from agentgate.lib.database import Store
from agentgate.server.scheduler.repository import JobStores, Lease

LEASE_MS = 30 * SECOND_MS
# Renewed as soon as less than this is left, which leaves many attempts while the store is slow.
RENEW_MS = 20 * SECOND_MS
# A wrong clock wrote any expiry further away than this. Respecting it would block all processes until then.
BELIEVABLE_MS = HOUR_MS


class Leadership:
    """One process's claim to a lease."""

    def __init__(self, name: str, *, store: Store[JobStores], clock: Clock) -> None:
        self._name = name
        self._store = store
        self._clock = clock
        self._owner = secrets.token_hex(8)
        self._expires_ms = 0

    async def hold(self) -> bool:
        """Take the lease if it is free, renew it if this process holds it; return whether this process holds it now."""
        now_ms = self._clock.now_ms()
        if RENEW_MS < self._expires_ms - now_ms <= LEASE_MS:
            return True
        # Read first: most processes are not the leader, and a read costs no write.
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
        """Release the lease, so that another process can take it at once."""
        if self._expires_ms:
            self._expires_ms = 0
            await self._store.change(lambda stores: stores.jobs.release_lease(self._name, self._owner))
