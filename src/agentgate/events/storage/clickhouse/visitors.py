"""A site's visitors in ClickHouse, most recently seen first."""

import json
from collections.abc import Sequence

from agentgate.events.queries.ports import VisitorScan, VisitorStore
from agentgate.events.queries.records import VisitorSummary
from agentgate.events.storage.clickhouse.newest_first import read_newest
from agentgate.events.storage.codes import signed
from agentgate.events.storage.dictionary import KnownWords
from agentgate.events.storage.queries.visitors import summary_of
from agentgate.events.storage.rollups import VISITOR_SUMS
from agentgate.lib.database import Row
from agentgate.lib.decision_ids import first_id
from agentgate.lib.time_ranges import TimeRange
from agentgate.storage.clickhouse.client import ClickhouseClient

# How many events are looked at first, from the newest on: mostly enough for a page.
WALK = 2_000

_NEWEST = """SELECT id, visitor FROM event WHERE site = $1 AND id >= $2 AND id < $3 AND isNotNull(visitor)
    ORDER BY site DESC, id DESC LIMIT $4"""
_AMONG = "SELECT DISTINCT visitor FROM event WHERE site = $1 AND id >= $2 AND id < $3 AND visitor IN $4"
# Visitors are ordered by their last event of the range.
_LAST = """SELECT max(id) AS last, visitor FROM event WHERE site = $1 AND id >= $2 AND id < $3 AND isNotNull(visitor)
    GROUP BY visitor HAVING last < $4 ORDER BY last DESC LIMIT $5"""
_SUMMARIES = f"""SELECT visitor, {VISITOR_SUMS}, groupUniqArray(action), groupUniqArray(agent) FROM event
    WHERE site = $1 AND id >= $2 AND id < $3 AND visitor IN $4 GROUP BY visitor"""  # noqa: S608


class ClickhouseVisitors(VisitorStore):
    """Visitors in ClickHouse."""

    def __init__(self, client: ClickhouseClient, words: KnownWords) -> None:
        self._client = client
        self._words = words

    async def list_visitors(self, site: int, span: TimeRange, *, before: int | None, limit: int) -> VisitorScan:
        # One more than asked for tells whether there is a next page.
        seen = await self._list_seen(site, span, before, limit + 1)
        shown = seen[:limit]
        items = await self._summaries(site, span, [visitor for _, visitor in shown])
        return VisitorScan(items, shown[-1][0] if len(seen) > limit else None)

    async def find_visitor(self, site: int, span: TimeRange, visitor: int) -> VisitorSummary | None:
        found = await self._summaries(site, span, [signed(visitor)])
        return found[0] if found else None

    async def _list_seen(self, site: int, span: TimeRange, before: int | None, wanted: int) -> list[Row]:
        """Return when visitors were last seen, and who, newest first, without those who come again after `before`."""
        least, end = first_id(span.from_ms), first_id(span.to_ms)
        stop = end if before is None else min(before, end)
        rows = await read_newest(self._client, _NEWEST, site, range(least, stop), WALK)
        last: dict[int, int] = {}
        for identifier, visitor in rows:
            last.setdefault(visitor, identifier)
        if last and stop < end:
            for (visitor,) in await self._client.all(_AMONG, site, stop, end, list(last)):
                del last[visitor]
        if len(last) >= wanted or len(rows) < WALK:
            return [(identifier, visitor) for visitor, identifier in last.items()][:wanted]
        return await self._client.all(_LAST, site, least, end, stop, wanted)

    async def _summaries(self, site: int, span: TimeRange, visitors: Sequence[int]) -> list[VisitorSummary]:
        if not visitors:
            return []
        rows = await self._client.all(_SUMMARIES, site, first_id(span.from_ms), first_id(span.to_ms), list(visitors))
        numbers = {row[0]: (json.loads(row[-2]), json.loads(row[-1])) for row in rows}
        texts = await self._words.texts({number for both in numbers.values() for names in both for number in names})

        def names(listed: list[int]) -> list[str]:
            return sorted({texts[number] for number in listed if number in texts})

        found = {
            visitor: summary_of(visitor, (first, last), sums, *map(names, numbers[visitor]))
            for visitor, first, last, *sums, _, _ in rows
        }
        return [found[visitor] for visitor in visitors if visitor in found]
