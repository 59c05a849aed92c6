"""The timed job of sites: warn of stored rules with unknown conditions, which match nothing."""

import asyncio
from collections.abc import Mapping
from functools import partial

import structlog

from agentgate.lib.clock import DAY_MS
from agentgate.lib.database import Store
from agentgate.lib.tasks.job import Job
from agentgate.protection.rules.lints import find_warnings
from agentgate.protection.rules.records import RuleLint, StoredRules
from agentgate.protection.sites.repository import SiteStores

MOST_WARNINGS = 100


def site_jobs(store: Store[SiteStores]) -> tuple[Job, ...]:
    """Return the job. It runs when the service starts, and daily while such rules are stored. It deletes nothing."""
    return (Job(name="check-stored-rules", interval_ms=DAY_MS, work=partial(warn_of_rules, store), guarded=False),)


async def warn_of_rules(store: Store[SiteStores]) -> None:
    """Log each stored rule that has an unknown condition, with its site."""
    stored = await store.read.rules.list_rules()
    # Names for misspelled conditions take too long for the event loop.
    found = await asyncio.to_thread(_find_all, stored)
    if not found:
        return
    site_keys = {each.site.id: each.site.site_key for each in await store.read.directory.list_directory()}
    log = structlog.get_logger()
    for site_id, lint in found[:MOST_WARNINGS]:
        log.warning("a stored rule matches nothing", site=site_keys.get(site_id), why=lint.message)
    if len(found) > MOST_WARNINGS:
        log.warning("more stored rules match nothing", count=len(found) - MOST_WARNINGS)


def _find_all(stored: Mapping[str, StoredRules]) -> list[tuple[str, RuleLint]]:
    return [
        (site_id, lint)
        for site_id, rules in stored.items()
        if rules.rule_set is not None
        for _, lint in find_warnings(rules.rule_set)
    ]
