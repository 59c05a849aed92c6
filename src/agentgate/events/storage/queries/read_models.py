"""The read models of events over one set of stores, and what all sites did today."""

from agentgate.events.labels.repository import LabelStore
from agentgate.events.storage.days.days import EventDays, SegmentDays
from agentgate.events.storage.dictionary import KnownWords
from agentgate.events.storage.queries.counts import SqlCounts
from agentgate.events.storage.queries.days import TrafficDays
from agentgate.events.storage.queries.decisions import SqlDecisions
from agentgate.events.storage.queries.values import SqlValues
from agentgate.events.storage.queries.visitors import SqlVisitors
from agentgate.lib.clock import DAY_MS, HOUR_MS
from agentgate.lib.database import Reader, Row

_ACTIVITY = """SELECT site, max(last_event_ms),
        sum(CASE WHEN hour >= $1 THEN allowed ELSE 0 END),
        sum(CASE WHEN hour >= $1 THEN challenged ELSE 0 END),
        sum(CASE WHEN hour >= $1 THEN blocked ELSE 0 END),
        sum(CASE WHEN hour >= $1 THEN dropped ELSE 0 END),
        sum(CASE WHEN hour >= $1 THEN would_challenge + would_block + would_drop ELSE 0 END)
    FROM site_hour WHERE site >= $2 AND site <= $3 GROUP BY site"""
# Daily counts are stored longer than hourly ones.
_WITH_LAST_DAY = f"""{_ACTIVITY} UNION ALL SELECT site, max(last_event_ms), 0, 0, 0, 0, 0
    FROM site_day WHERE site >= $2 AND site <= $3 GROUP BY site"""  # noqa: S608 - a constant


class SqlTraffic:
    """Implements TrafficStore. Reads of `stats` take milliseconds, so that session should read on threads."""

    def __init__(self, stats: Reader, segments: SegmentDays, words: KnownWords, labels: LabelStore) -> None:
        days = TrafficDays(stats, segments)
        self.counts = SqlCounts(stats, days)
        self.values = SqlValues(stats, days, words)
        self.visitors = SqlVisitors(stats, days, words)
        self.decisions = SqlDecisions(stats, days, words, labels)


class SqlSiteSums:
    """Implements SiteSums. `counted` has `site_hour` and `site_day`; `days` has the hours of open days, if apart."""

    def __init__(self, counted: Reader, days: EventDays | None = None) -> None:
        self._counted = counted
        self._days = days

    async def list_sums(self, today: int, first: int, last: int) -> list[list[Row]]:
        """Return rows of site, time of the last event and today's counts, of some sites, from all databases."""
        bounds = (today * DAY_MS // HOUR_MS, first, last)
        found = [await self._counted.all(_WITH_LAST_DAY, *bounds)]
        if self._days is not None:
            # Yesterday may not be closed yet; it counts for the last event only.
            found += [await self._days.session(day).all(_ACTIVITY, *bounds) for day in (today - 1, today)]
        return found
