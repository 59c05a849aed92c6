"""Single events in SQL, by ID and by request, and the newest ones for webhooks."""

import json

from msgspec.structs import replace

from agentgate.events.decision_ids import id_day
from agentgate.events.queries.ports import SiteNumber
from agentgate.events.queries.records import Decision
from agentgate.events.records import Event
from agentgate.events.storage.days.days import EventDays, day_bounds
from agentgate.events.storage.dictionary import KnownWords
from agentgate.events.storage.encoding import EVENT_COLUMNS
from agentgate.events.storage.events import read_events
from agentgate.events.storage.queries.decisions import decision_of
from agentgate.lib.database import Database, Row

_EVENT = f"SELECT {', '.join(EVENT_COLUMNS)} FROM event WHERE id = $1 AND site = $2 AND id >= $3 AND id < $4"  # noqa: S608
_BY_REQUEST = """SELECT id FROM {} WHERE site = $1 AND request_id = $2 AND id >= $3 AND id < $4
    ORDER BY id DESC LIMIT 1"""


class SqlKeptEvents:
    """Implements KeptEvents."""

    def __init__(self, stats: Database, segments: EventDays, words: KnownWords) -> None:
        self._stats = stats
        self._segments = segments
        self._words = words

    async def find_event(self, site: int, decision: int) -> Event | None:
        """Return a decision of the site with its features, or None."""
        day = id_day(decision)
        row = await self._segments.session(day).one(_EVENT, decision, site, *day_bounds(day))
        if row is None:
            return None
        event: Event
        [event] = await read_events([row], self._words, lambda event: event)
        kept = await self._stats.one("SELECT features FROM feature_vector WHERE site = $1 AND id = $2", site, decision)
        return event if kept is None else replace(event, features=json.loads(kept[0]))

    async def find_by_request(self, site: int, request_id: str) -> int | None:
        """Return the newest decision about a request of the site, or None."""
        newest = _BY_REQUEST.format(self._segments.details)
        for least, end in await self._segments.newest_bounds():
            row = await self._segments.session(id_day(least)).one(newest, site, request_id, least, end)
            if row is not None:
                return int(row[0])
        return None

    async def count_features(self, site: int) -> int:
        """Return how many feature vectors of the site are stored."""
        row = await self._stats.one("SELECT count(*) FROM feature_vector WHERE site = $1", site)
        assert row is not None, "an aggregate always has a row"
        return int(row[0])


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
