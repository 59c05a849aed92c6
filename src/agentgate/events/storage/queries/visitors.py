"""A site's visitors in SQL, most recently seen first: closed days from their roll-ups, others from the events.

Visitors are ordered by their last event in the range. So a day lists only visitors without events on a later one, and
consecutive pages show each visitor once.
"""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from agentgate.events.decision_ids import id_time_ms
from agentgate.events.queries.ports import VisitorScan, VisitorStore
from agentgate.events.queries.records import VisitorSummary
from agentgate.events.storage.codes import signed, unsigned
from agentgate.events.storage.dictionary import KnownWords
from agentgate.events.storage.queries.days import (
    OF_CLOSED_DAY,
    VISITOR,
    DayPart,
    TrafficDays,
    counted_parts,
    rolled_up_days,
)
from agentgate.events.storage.queries.joined import joined, joined_rows, rows_of
from agentgate.events.storage.rollups import VISITOR_SUMS
from agentgate.events.time_ranges import TimeRange
from agentgate.lib.database import Reader, Row
from agentgate.lib.enums import Outcome
from agentgate.lib.ids import write_visitor
from agentgate.lib.moment import Moment

# How many visitors are read at once.
BATCH = 256
# How many events are walked through in one go, from the newest on.
WALK = 1_000
# When nearly all visitors come again later, the others are rare: after this time a page may be short.
SEARCHED_S = 0.015

# Events and their visitors, as one list.
_NEWEST = f"""SELECT {joined_rows(("id", "visitor"))} FROM (
    SELECT id, visitor FROM {{}} WHERE site = $1 AND id >= $2 AND id < $3 AND visitor IS NOT NULL
    ORDER BY id DESC LIMIT $4) AS newest"""  # noqa: S608

# The columns of VISITOR_SUMS, and the names that are shown.
_ADDED_UP = "id, visitor, kind, outcome, would, stage, action, agent"

# Some visitors of a closed day, when each was last seen, and the last closed day on which it comes, as one list. Not
# with EXISTS: PostgreSQL would read whole days for a page of fifty.
_CLOSED_DAY = f"""SELECT {joined_rows(("last_id", "visitor", "last_day"))} FROM (
    SELECT seen.last_id, seen.visitor, (
        SELECT max(later.day) FROM visitor_day AS later
        WHERE later.site = $1 AND later.visitor = seen.visitor AND later.day >= $2 AND later.day <= $4
            AND later.{OF_CLOSED_DAY}) AS last_day
    FROM (
        SELECT last_id, visitor FROM visitor_day
        WHERE site = $1 AND day = $2 AND last_id < $3 ORDER BY last_id DESC LIMIT $5) AS seen) AS found"""  # noqa: S608

_arrays = msgspec.json.Decoder(list[list[int]]).decode

# ID of the last event, and the visitor.
_Seen = tuple[int, int]


@dataclass
class VisitorTotals:
    first: int
    last: int
    sums: list[int]
    actions: set[int] = field(default_factory=set)
    agents: set[int] = field(default_factory=set)

    def add(self, first: int, last: int, sums: Iterable[int]) -> None:
        self.first, self.last = min(self.first, first), max(self.last, last)
        for place, more in enumerate(sums):
            self.sums[place] += int(more)


class SqlVisitors(VisitorStore):
    def __init__(self, stats: Reader, days: TrafficDays, words: KnownWords) -> None:
        self._stats = stats
        self._days = days
        self._words = words

    async def list_visitors(self, site: int, span: TimeRange, *, before: int | None, limit: int) -> VisitorScan:
        parts = await self._days.parts(span)
        # Fetch one extra visitor to detect a next page.
        seen, stopped = await self._list_seen(site, parts, before, limit + 1)
        shown = seen[:limit]
        items = await self._summaries(site, parts, [visitor for _, visitor in shown])
        return VisitorScan(items, shown[-1][0] if len(seen) > limit else stopped)

    async def find_visitor(self, site: int, span: TimeRange, visitor: int) -> VisitorSummary | None:
        found = await self._summaries(site, await self._days.parts(span), [signed(visitor)])
        return found[0] if found else None

    async def _list_seen(
        self, site: int, parts: list[DayPart], before: int | None, wanted: int
    ) -> tuple[list[_Seen], int | None]:
        """Return visitors, newest first, and the ID at which the search was cut, if it took too long."""
        found: list[_Seen] = []
        until_s = time.monotonic() + SEARCHED_S
        for place, part in enumerate(parts):
            if before is not None and part.least >= before:
                continue
            end = part.end if before is None else min(part.end, before)
            look = self._rolled_up if part.rolled_up else self._counted
            while len(found) < wanted:
                more, end = await look(site, parts[: place + 1], end)
                found += more
                if end <= part.least:
                    break
                if time.monotonic() >= until_s:
                    return found, end
            if len(found) >= wanted:
                break
            if time.monotonic() >= until_s and place + 1 < len(parts):
                return found, part.least
        return found, None

    async def _rolled_up(self, site: int, parts: list[DayPart], end: int) -> tuple[list[_Seen], int]:
        """Return visitors of the last part, a closed day, without events in newer parts, and the ID it got to."""
        *newer, part = parts
        days = rolled_up_days(parts) or (part.day, part.day)
        row = await self._stats.one(_CLOSED_DAY, site, part.day, end, days[1], 2 * BATCH)
        rows = _newest_first(row, 3)
        seen = [(last, visitor) for last, visitor, last_day in rows if last_day == part.day]
        again = await self._seen_in(site, counted_parts(newer), [visitor for _, visitor in seen])
        found = [each for each in seen if each[1] not in again]
        return found, rows[-1][0] if len(rows) == 2 * BATCH else part.least

    async def _counted(self, site: int, parts: list[DayPart], end: int) -> tuple[list[_Seen], int]:
        """Return visitors of the last part, an open day, without later events, and the ID it got to."""
        *newer, part = parts
        newest = _NEWEST.format(self._days.stored.rows)
        row = await self._days.session(part.day).one(newest, site, part.least, end, WALK)
        rows = _newest_first(row, 2)
        # Newest first, the first event of a visitor is its last one before the end.
        seen = _first_of_each(rows)
        later = [part._replace(least=end, end=part.end), *counted_parts(newer)]
        again = await self._seen_in(site, later, [visitor for _, visitor in seen])
        days = rolled_up_days(newer)
        if days is not None:
            again |= await self._among(site, days, [visitor for _, visitor in seen if visitor not in again])
        found = [each for each in seen if each[1] not in again]
        return found, rows[-1][0] if len(rows) == WALK else part.least

    async def _seen_in(self, site: int, parts: list[DayPart], visitors: Sequence[int]) -> set[int]:
        found: set[int] = set()
        for part in parts:
            left = [visitor for visitor in visitors if visitor not in found]
            if part.least >= part.end:
                continue
            for start in range(0, len(left), BATCH):
                of_some, values = self._days.stored.of_visitors(left[start : start + BATCH])
                rows = await self._days.session(part.day).all(
                    f"SELECT DISTINCT visitor FROM {self._days.stored.met(VISITOR, of_some, 'GROUP BY visitor')}",  # noqa: S608
                    site,
                    part.least,
                    part.end,
                    *values,
                )
                found.update(visitor for (visitor,) in rows)
        return found

    async def _among(self, site: int, days: tuple[int, int], visitors: Sequence[int]) -> set[int]:
        """Return which of the visitors were seen on closed days."""
        found: set[int] = set()
        for start in range(0, len(visitors), BATCH):
            of_some, values = self._days.stored.of_visitors(visitors[start : start + BATCH])
            rows = await self._stats.all(
                f"""SELECT DISTINCT visitor FROM visitor_day
                    WHERE site = $1 AND day >= $2 AND day <= $3 AND {OF_CLOSED_DAY} AND {of_some}""",  # noqa: S608
                site,
                *days,
                *values,
            )
            found.update(visitor for (visitor,) in rows)
        return found

    async def _summaries(self, site: int, parts: list[DayPart], visitors: Sequence[int]) -> list[VisitorSummary]:
        """Return the summaries of visitors over all parts, in the given order."""
        if not visitors:
            return []
        totals: dict[int, VisitorTotals] = {}
        days = rolled_up_days(parts)
        together = self._days.stored.visitors_together
        await asyncio.gather(
            *(self._add_days(totals, site, each, visitors) for each in ([days] if days is not None else ())),
            *(
                self._add_part(totals, site, part, visitors[start : start + together])
                for part in counted_parts(parts)
                for start in range(0, len(visitors), together)
            ),
        )
        return await name_totals(totals, visitors, self._words)

    async def _add_days(
        self, totals: dict[int, VisitorTotals], site: int, days: tuple[int, int], visitors: Sequence[int]
    ) -> None:
        of_visitors, values = self._days.stored.of_visitors(visitors)
        # Each text is an array, and so is what they become. Finding the different ones here is quicker than there.
        rows = await self._stats.all(
            f"""SELECT visitor, min(first_id), max(last_id), sum(requests), sum(allowed), sum(challenged),
                    sum(blocked), sum(dropped), sum(monitored), sum(challenges), sum(challenges_passed),
                    {joined("actions")}, {joined("agents")}
                FROM visitor_day WHERE site = $1 AND day >= $2 AND day <= $3 AND {OF_CLOSED_DAY} AND {of_visitors}
                GROUP BY visitor""",  # noqa: S608
            site,
            *days,
            *values,
        )
        for visitor, first, last, *sums, actions, agents in rows:
            each = totals_of(totals, visitor, first, last, sums)
            each.actions.update(*_arrays(f"[{actions}]"))
            each.agents.update(*_arrays(f"[{agents}]"))

    async def _add_part(
        self, totals: dict[int, VisitorTotals], site: int, part: DayPart, visitors: Sequence[int]
    ) -> None:
        of_visitors, values = self._days.stored.of_visitors(visitors)
        rows: list[Row] = await self._days.session(part.day).all(
            f"""SELECT visitor, {VISITOR_SUMS}, action, agent FROM {self._days.stored.met(_ADDED_UP, of_visitors)}
                GROUP BY visitor, action, agent""",  # noqa: S608
            site,
            part.least,
            part.end,
            *values,
        )
        for visitor, first, last, *sums, action, agent in rows:
            each = totals_of(totals, visitor, first, last, sums)
            each.actions.update(() if action is None else (action,))
            each.agents.update(() if agent is None else (agent,))


def totals_of(
    totals: dict[int, VisitorTotals], visitor: int, first: int, last: int, sums: Sequence[int]
) -> VisitorTotals:
    """Add a visitor's first and last ID and the values of VISITOR_SUMS to its totals; return the totals."""
    each = totals.get(visitor)
    if each is None:
        each = totals[visitor] = VisitorTotals(first, last, [0] * len(sums))
    each.add(first, last, sums)
    return each


async def name_totals(
    totals: Mapping[int, VisitorTotals], visitors: Sequence[int], words: KnownWords
) -> list[VisitorSummary]:
    """Return the visitors that have totals, in the given order."""
    texts = await words.texts({number for each in totals.values() for number in each.actions | each.agents})

    def names(listed: set[int]) -> list[str]:
        return sorted({texts[number] for number in listed if number in texts})

    return [
        _summary_of(visitor, (found.first, found.last), found.sums, names(found.actions), names(found.agents))
        for visitor in visitors
        if (found := totals.get(visitor)) is not None
    ]


def _summary_of(
    visitor: int, seen: tuple[int, int], sums: Sequence[int], actions: list[str], agents: list[str]
) -> VisitorSummary:
    """Return a visitor, given its first and last ID and the values of VISITOR_SUMS."""
    requests, *outcomes, monitored, challenges, challenges_passed = sums
    return VisitorSummary(
        id=write_visitor(unsigned(visitor)),
        first_seen=Moment(id_time_ms(seen[0])),
        last_seen=Moment(id_time_ms(seen[1])),
        requests=requests,
        outcomes=dict(zip(Outcome, outcomes, strict=True)),
        monitored=monitored,
        challenges=challenges,
        challenges_passed=challenges_passed,
        actions=actions,
        agents=agents,
    )


def _newest_first(row: Row | None, columns: int) -> list[tuple[int, ...]]:
    """Return the rows of a list, greatest ID first. No database promises the order of an aggregate."""
    return sorted(rows_of(row[0] if row else None, columns), reverse=True)


def _first_of_each(rows: Iterable[tuple[int, ...]]) -> list[_Seen]:
    first: dict[int, int] = {}
    for last, visitor in rows:
        first.setdefault(visitor, last)
    return [(last, visitor) for visitor, last in first.items()]
