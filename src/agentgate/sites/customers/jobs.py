"""The timed job of customers: remove accounts for good that were deleted long enough ago."""

import structlog

from agentgate.lib.clock import HOUR_MS, Clock
from agentgate.lib.database import Conflict, Store
from agentgate.lib.tasks.job import ROWS_PER_UNIT, Job, delete_in_units
from agentgate.people.accounts.lifecycle import PURGE_MS
from agentgate.people.accounts.repository import AccountStores
from agentgate.sites.repository import ActivityStore

# One run deletes at most this many accounts, so that a mistake can be noticed in time.
ACCOUNTS_PER_RUN = 50


def customer_jobs(store: Store[AccountStores], activity: ActivityStore, clock: Clock) -> tuple[Job, ...]:
    return (Job(name="purge-accounts", interval_ms=HOUR_MS, work=lambda: purge_accounts(store, activity, clock)),)


async def purge_accounts(store: Store[AccountStores], activity: ActivityStore, clock: Clock) -> None:
    """Remove accounts for good that were deleted long enough ago."""
    before_ms = clock.now_ms() - PURGE_MS
    for account_id in (await store.read.accounts.list_purgeable(before_ms))[:ACCOUNTS_PER_RUN]:
        try:
            # First the rows in other databases, while the account still names its sites. The account can no longer be
            # restored, so this is never too early.
            await activity.forget_sites(account_id)
            await _purge_account(store, account_id, before_ms)
        except Conflict:
            # Another row still references the account. The other accounts are purged anyway.
            structlog.get_logger().exception("account not purged", account_id=account_id)


async def _purge_account(store: Store[AccountStores], account_id: str, before_ms: int) -> None:
    async def purge_some(stores: AccountStores) -> int:
        return await stores.accounts.purge_some(account_id, before_ms, most=ROWS_PER_UNIT)

    async def purge(stores: AccountStores) -> bool:
        is_purged = await stores.accounts.purge_account(account_id, before_ms)
        if is_purged:
            # After it, because a purge removes the account from what earlier versions name.
            await stores.configuration.bump_account(account_id)
        return is_purged

    await delete_in_units(lambda: store.change(purge_some))
    if await store.change(purge):
        structlog.get_logger().info("account purged", account_id=account_id)
