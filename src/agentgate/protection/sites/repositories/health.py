"""When a site was seen, and what the checks of its health count, in SQL."""

from collections import Counter
from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from agentgate.events.queries.ports import CountStore, SightingStore
from agentgate.events.records import CounterName
from agentgate.lib.clock import HOUR_MS
from agentgate.lib.database import Reader
from agentgate.lib.time_ranges import TimeRange


class Sighting(Struct, frozen=True):
    """When the first event of a site that is known arrived, and when the last one."""

    first_ms: int
    last_ms: int


class HealthCounts(Struct, frozen=True, kw_only=True):
    """What was counted of a site within a while."""

    # Browser tokens given out long enough ago to have been redeemed or to be void by now.
    tokens: int
    # Calls with one of the site's credentials, of whatever kind.
    server_checks: int
    siteverify_success: int
    # By code, and by page origin.
    siteverify_failures: Mapping[str, int]
    refused_origins: Mapping[str, int]


class SeenCounts(CountStore, SightingStore, Protocol):
    """Counts of a site's events, and when it was seen."""


class SiteHealthStore:
    """What the checks of a site's health count, and when the site was seen. Sites are asked for by number."""

    def __init__(self, stats: Reader, counts: SeenCounts) -> None:
        self._stats = stats
        self._counts = counts

    async def find_sighting(self, site: int) -> Sighting | None:
        """Return when a site was seen, or None when it never was."""
        seen = await self._counts.find_sighting(site)
        return None if seen is None else Sighting(*seen)

    async def count_health(self, site: int, *, from_ms: int, to_ms: int, tokens_to_ms: int) -> HealthCounts:
        """Return the counts of a range, tokens only of its part up to a moment."""
        rows = await self._stats.all(
            """SELECT name, value, sum(counted) FROM counter_hour
                WHERE site = $1 AND hour >= $2 AND hour <= $3 GROUP BY name, value""",
            site,
            from_ms // HOUR_MS,
            (to_ms - 1) // HOUR_MS,
        )
        counted: dict[str, Counter[str]] = {name.value: Counter() for name in CounterName}
        for name, value, count in rows:
            # A newer release may count what this one does not know.
            counted.setdefault(name, Counter())[value] = int(count)
        return HealthCounts(
            tokens=await self._count_passed(site, TimeRange(from_ms, tokens_to_ms)) if tokens_to_ms > from_ms else 0,
            server_checks=counted[CounterName.SERVER_CHECK].total(),
            siteverify_success=counted[CounterName.SITEVERIFY_SUCCESS].total(),
            siteverify_failures=counted[CounterName.SITEVERIFY_FAILURE],
            refused_origins=counted[CounterName.ORIGIN_REFUSED],
        )

    async def _count_passed(self, site: int, span: TimeRange) -> int:
        # Every challenge that is passed gives out a token.
        hours = await self._counts.list_hours(site, span)
        return sum(counts.challenges_passed for counts in hours.values())
