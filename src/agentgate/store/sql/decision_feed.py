"""A site's decisions in SQL, oldest first from a given one on: for those who are told of every decision."""

from agentgate.core.database import Row
from agentgate.store.segments.segments import Segments, day_bounds
from agentgate.store.sql.event_encoding import EVENT_COLUMNS
from agentgate.store.sql.event_words import Words
from agentgate.store.sql.events import read_events
from agentgate.store.sql.traffic_decisions import decision_of
from agentgate.traffic.ports import SiteNumber
from agentgate.traffic.records import Decision

_NEXT = f"""SELECT {", ".join(EVENT_COLUMNS)} FROM event
    WHERE site = $1 AND id >= $2 AND id < $3 ORDER BY id LIMIT $4"""  # noqa: S608


class SqlDecisionFeed:
    """Implements DecisionFeed over the days of events."""

    def __init__(self, segments: Segments, words: Words) -> None:
        self._segments = segments
        self._words = words

    async def list_after(self, site: SiteNumber, *, after: int, until: int, limit: int) -> list[Decision]:
        """Return a site's first kept decisions with after < ID <= until, oldest first."""
        rows: list[Row] = []
        for day in await self._segments.days():
            least, end = day_bounds(day)
            least, end = max(least, after + 1), min(end, until + 1)
            if least < end and len(rows) < limit:
                rows += await self._segments.session(day).all(_NEXT, site.number, least, end, limit - len(rows))
        return [decision_of(site.id, event, None) for event in await read_events(rows, self._words)]
