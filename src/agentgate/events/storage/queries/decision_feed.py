"""A site's decisions in SQL, oldest first from a given ID on, for webhooks."""

from agentgate.events.queries.ports import SiteNumber
from agentgate.events.queries.records import Decision
from agentgate.events.storage.days.days import EventDays, day_bounds
from agentgate.events.storage.dictionary import KnownWords
from agentgate.events.storage.encoding import EVENT_COLUMNS
from agentgate.events.storage.events import read_events
from agentgate.events.storage.queries.decisions import decision_of
from agentgate.lib.database import Row

_NEXT = f"""SELECT {", ".join(EVENT_COLUMNS)} FROM event
    WHERE site = $1 AND id >= $2 AND id < $3 ORDER BY id LIMIT $4"""  # noqa: S608


class DecisionFeed:
    """Decisions in the order of their IDs."""

    def __init__(self, segments: EventDays, words: KnownWords) -> None:
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
        return await read_events(rows, self._words, lambda event: decision_of(site.id, event, None))
