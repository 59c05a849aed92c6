"""The timed jobs of people: delete audit entries, messages, API tokens, access requests, sessions and links after
their retention."""

from collections.abc import Awaitable, Callable
from functools import partial

from agentgate.lib.clock import DAY_MS, HOUR_MS, Clock
from agentgate.lib.database import Store
from agentgate.lib.settings.schema import Settings
from agentgate.lib.tasks.job import ROWS_PER_UNIT, Job, delete_in_units
from agentgate.people.accounts.repository import AccountStores
from agentgate.people.identity.repository import IdentityStores


def record_jobs(store: Store[AccountStores], settings: Settings, clock: Clock) -> tuple[Job, ...]:
    return (Job(name="forget-records", interval_ms=HOUR_MS, work=lambda: delete_records(store, settings, clock)),)


async def delete_records(store: Store[AccountStores], settings: Settings, clock: Clock) -> None:
    """Delete what is older than its retention, some rows in each transaction."""
    now_ms, most = clock.now_ms(), ROWS_PER_UNIT
    audited_ms, sent_ms, ended_ms = (
        now_ms - days * DAY_MS for days in (settings.audit_days, settings.message_days, settings.ended_days)
    )
    deletions: tuple[Callable[[AccountStores], Awaitable[int]], ...] = (
        lambda stores: stores.audit.delete_entries(audited_ms, most=most),
        lambda stores: stores.outbox.delete_messages(sent_ms, most=most),
        lambda stores: stores.api_tokens.delete_ended(ended_ms, most=most),
        lambda stores: stores.access_requests.delete_decided(ended_ms, most=most),
    )
    for delete in deletions:
        await delete_in_units(partial(store.change, delete))


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
