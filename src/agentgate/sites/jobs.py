"""The timed job of sites: warn of stored rules with unknown conditions, which match nothing."""

import asyncio
from collections.abc import Iterable
from functools import partial

import structlog

from agentgate.lib.clock import DAY_MS
from agentgate.lib.database import Row, Store
from agentgate.lib.tasks.job import Job
from agentgate.sites.repository import SiteStores, directory_site
from agentgate.sites.rules.lints import find_warnings
from agentgate.sites.rules.records import RuleLint
from agentgate.sites.rules.repositories import stored_rules

MOST_WARNINGS = 100
ROWS_AT_ONCE = 100


def site_jobs(store: Store[SiteStores]) -> tuple[Job, ...]:
    """Return the job. It runs when the service starts, and daily while such rules are stored. It deletes nothing."""
    return (Job(name="check-stored-rules", interval_ms=DAY_MS, work=partial(warn_of_rules, store), guarded=False),)


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
    return [
        (row[-1], lint)
        for row in rows
        if (rule_set := stored_rules(row).rule_set) is not None
        for _, lint in find_warnings(rule_set)
    ]
