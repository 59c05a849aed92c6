"""The timed job of identity: delete sessions and links that ended long ago."""

from collections.abc import Awaitable, Callable
from functools import partial

from agentgate.lib.clock import DAY_MS, Clock
from agentgate.lib.database import Store
from agentgate.lib.tasks.job import ROWS_PER_UNIT, Job, delete_in_units
from agentgate.people.identity.repository import IdentityStores

# Keep ended sessions for a while, so that their cookie returns `session_expired` and not `unauthorized`.
SESSION_KEPT_MS = 8 * DAY_MS
LINK_KEPT_MS = 30 * DAY_MS


def identity_jobs(store: Store[IdentityStores], clock: Clock) -> tuple[Job, ...]:
    return (Job(name="sweep", interval_ms=DAY_MS, work=lambda: sweep(store, clock)),)


async def sweep(store: Store[IdentityStores], clock: Clock) -> None:
    sessions_before_ms, links_before_ms = clock.now_ms() - SESSION_KEPT_MS, clock.now_ms() - LINK_KEPT_MS
    deletions: tuple[Callable[[IdentityStores], Awaitable[int]], ...] = (
        lambda stores: stores.operator_sessions.sweep_sessions(sessions_before_ms, most=ROWS_PER_UNIT),
        lambda stores: stores.user_sessions.sweep_sessions(sessions_before_ms, most=ROWS_PER_UNIT),
        lambda stores: stores.links.sweep_links(links_before_ms, most=ROWS_PER_UNIT),
    )
    for delete in deletions:
        await delete_in_units(partial(store.change, delete))
