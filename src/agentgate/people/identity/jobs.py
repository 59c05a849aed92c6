"""The timed job of identity: delete sessions and links that ended long ago."""

from agentgate.lib.clock import DAY_MS, Clock
from agentgate.lib.database import Store
from agentgate.lib.tasks.job import Job
from agentgate.people.identity.repository import IdentityStores

# Ended sessions are kept a while, so that their cookie answers `session_expired` and not `unauthorized`.
SESSION_KEPT_MS = 8 * DAY_MS
LINK_KEPT_MS = 30 * DAY_MS


def identity_jobs(store: Store[IdentityStores], clock: Clock) -> tuple[Job, ...]:
    return (Job(name="sweep", interval_ms=DAY_MS, work=lambda: sweep(store, clock)),)


async def sweep(store: Store[IdentityStores], clock: Clock) -> None:
    now_ms = clock.now_ms()

    async def forget(stores: IdentityStores) -> None:
        await stores.operator_sessions.sweep_sessions(now_ms - SESSION_KEPT_MS)
        await stores.user_sessions.sweep_sessions(now_ms - SESSION_KEPT_MS)
        await stores.links.sweep_links(now_ms - LINK_KEPT_MS)

    await store.change(forget)
