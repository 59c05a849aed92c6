"""The timed jobs of sites: warn of unknown conditions in rules, delete what is older than its retention, and purge
deleted accounts."""

import asyncio
import contextlib
from collections.abc import Iterable
from functools import partial

import structlog

from agentgate.lib.clock import DAY_MS, HOUR_MS, MINUTE_MS, Clock
from agentgate.lib.database import Conflict, Row, Store
from agentgate.lib.settings.schema import Settings
from agentgate.lib.tasks.job import ROWS_PER_UNIT, Job, delete_in_units
from agentgate.people.accounts.lifecycle import PURGE_MS
from agentgate.people.accounts.repository import AccountStores
from agentgate.sites.repository import ActivityStore, SiteStores, directory_site
from agentgate.sites.rules.lints import find_warnings
from agentgate.sites.rules.records import RuleLint
from agentgate.sites.rules.repository import stored_rules
from agentgate.sites.token_issuers.directories import IssuerDirectories

MOST_WARNINGS = 100
# The newest revisions of a site remain, however old they are: History restores them.
REVISIONS_KEPT = 50
ROWS_AT_ONCE = 100


def site_jobs(store: Store[SiteStores], settings: Settings, clock: Clock) -> tuple[Job, ...]:
    """Return the jobs. The first runs when the service starts, and daily while such rules are stored."""
    return (
        Job(name="check-stored-rules", interval_ms=DAY_MS, work=partial(warn_of_rules, store), guarded=False),
        Job(name="forget-revisions", interval_ms=HOUR_MS, work=lambda: delete_old(store, settings, clock)),
    )


def issuer_job(directories: IssuerDirectories) -> Job:
    """Return the job that reads the keys of private token issuers."""
    return Job(name="read-token-issuers", interval_ms=MINUTE_MS, work=directories.refresh, guarded=False)


async def delete_old(store: Store[SiteStores], settings: Settings, clock: Clock) -> None:
    """Delete ended credentials and old rule revisions after their retention, some rows in each transaction."""
    ended_ms = clock.now_ms() - settings.ended_days * DAY_MS
    await delete_in_units(
        lambda: store.change(lambda stores: stores.credentials.delete_ended(ended_ms, most=ROWS_PER_UNIT))
    )
    await delete_in_units(lambda: store.change(lambda stores: stores.fleets.delete_ended(ended_ms, most=ROWS_PER_UNIT)))
    # A revision explains the decisions that were made under it.
    replaced_ms = clock.now_ms() - max(settings.rule_days, settings.event_days) * DAY_MS
    # Read outside the transaction, because the query also scans revisions that remain.
    while found := await store.read.rules.list_old(replaced_ms, newest=REVISIONS_KEPT, most=ROWS_PER_UNIT):
        await store.change(lambda stores, found=found: stores.rules.delete_revisions(found))  # type: ignore[misc]


async def warn_of_rules(store: Store[SiteStores]) -> None:
    """Log each stored rule that has an unknown condition, with its site."""
    found: list[tuple[str, RuleLint]] = []
    after_id = ""
    while rows := await store.read.rules.list_own(after_id, ROWS_AT_ONCE):
        # Decoding, and names for misspelled conditions, take too long for the event loop.
        found += await asyncio.to_thread(_find_all, rows)
        after_id = rows[-1][-1]
    if not found:
        return
    shown = [site_id for site_id, _ in found[:MOST_WARNINGS]]
    rows = await store.read.directory.list_sites(sorted(set(shown)))
    site_keys = {each.site.id: each.site.site_key for each in map(directory_site, rows)}
    log = structlog.get_logger()
    for site_id, lint in found[:MOST_WARNINGS]:
        log.warning("a stored rule matches nothing", site=site_keys.get(site_id), why=lint.message)
    if len(found) > MOST_WARNINGS:
        log.warning("more stored rules match nothing", count=len(found) - MOST_WARNINGS)


def _find_all(rows: Iterable[Row]) -> list[tuple[str, RuleLint]]:
    found: list[tuple[str, RuleLint]] = []
    for row in rows:
        # The directory logs a set that cannot be read.
        with contextlib.suppress(Exception):
            rule_set = stored_rules(row).rule_set
            found += [(row[-1], lint) for _, lint in find_warnings(rule_set)] if rule_set is not None else []
    return found


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
