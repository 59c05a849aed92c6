"""When a site was seen, and what the checks of its health count, in SQL."""

from collections import Counter
from collections.abc import Mapping

from msgspec import Struct

from agentgate.events.records import CounterName
from agentgate.events.storage.days.days import Segments, day_bounds
from agentgate.events.storage.queries.counts import SqlCounts
from agentgate.events.storage.queries.days import TrafficDays
from agentgate.lib.clock import DAY_MS, HOUR_MS
from agentgate.lib.database import SqlSession
from agentgate.lib.decision_ids import id_time_ms
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


# Later than any day there will be.
_LAST_DAY = 1_000_000


class SiteHealthStore:
    """What the checks of a site's health count, and when the site was seen. Sites are asked for by number."""

    def __init__(self, stats: SqlSession, segments: Segments) -> None:
        self._stats = stats
        self._days = TrafficDays(stats, segments)
        self._counts = SqlCounts(stats, self._days)

    async def find_sighting(self, site: int) -> Sighting | None:
        """Return when a site was seen, or None when it never was."""
        # The days that are not rolled up first: one that is closed in between is then found twice, not never.
        seen = [await self._seen_on(site, day) for day in await self._days.open(0, _LAST_DAY)]
        row = await self._stats.one("SELECT min(day), max(last_event_ms) FROM site_day WHERE site = $1", site)
        if row is not None and row[0] is not None:
            seen.append((row[0], row[1]))
        found = [each for each in seen if each is not None]
        if not found:
            return None
        return Sighting(await self._first_of_day(site, min(day for day, _ in found)), max(last for _, last in found))

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

    async def _seen_on(self, site: int, day: int) -> tuple[int, int] | None:
        row = await self._days.session(day).one(
            "SELECT max(last_event_ms) FROM site_hour WHERE site = $1 AND hour >= $2 AND hour < $3",
            site,
            day * 24,
            day * 24 + 24,
        )
        return (day, row[0]) if row is not None and row[0] else None

    async def _first_of_day(self, site: int, day: int) -> int:
        row = await self._days.session(day).one(
            "SELECT id FROM event WHERE site = $1 AND id >= $2 AND id < $3 ORDER BY id LIMIT 1", site, *day_bounds(day)
        )
        # Of a day whose events are gone, only the day is known.
        return id_time_ms(row[0]) if row is not None and row[0] is not None else day * DAY_MS

    async def _count_passed(self, site: int, span: TimeRange) -> int:
        # Every challenge that is passed gives out a token.
        hours = await self._counts.list_hours(site, span)
        return sum(counts.challenges_passed for counts in hours.values())
