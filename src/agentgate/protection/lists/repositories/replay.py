"""Stored decisions in SQL as lists read them: client, outcome, and the rule or reason."""

import asyncio
from collections.abc import AsyncIterator, Mapping

import msgspec

from agentgate.events.storage.codes import KIND_CODES, OUTCOMES, unsigned
from agentgate.events.storage.days.days import EventDays, day_bounds
from agentgate.events.storage.dictionary import OTHER_TEXT, KnownWords
from agentgate.lib.database import Database, Row
from agentgate.lib.decision_ids import first_id
from agentgate.lib.enums import DecisionKind
from agentgate.protection.lists.replay_records import ClientEvent

ROWS_PER_READ = 10_000
_EVENTS = f"""SELECT id, visitor, outcome, would, agent, rule, ruled, reasons, labels FROM event
    WHERE site = $1 AND id >= $2 AND id < $3 AND kind = {KIND_CODES[DecisionKind.REQUEST]}
    ORDER BY id DESC LIMIT $4"""  # noqa: S608 - the code of a kind is a number of ours

_numbers = msgspec.json.Decoder(tuple[int, ...])


class ClientReplay:
    """Stored decisions, with the clients that they were about."""

    def __init__(self, config: Database, segments: EventDays, words: KnownWords) -> None:
        self._config = config
        self._segments = segments
        self._words = words

    async def replay(self, site_id: str, *, from_ms: int, to_ms: int, limit: int) -> AsyncIterator[list[ClientEvent]]:
        """Return the newest decisions of a site, in batches, newest first, at most `limit`."""
        row = await self._config.one("SELECT number FROM site WHERE id = $1", site_id)
        if row is None:
            return
        start, end = first_id(from_ms), first_id(to_ms)
        left = limit
        for day in reversed(await self._segments.days()):
            least, most = day_bounds(day)
            async for rows in self._rows(day, row[0], max(least, start), min(most, end)):
                batch = await self._decoded(rows[:left])
                left -= len(batch)
                yield batch
                if left <= 0:
                    return

    async def _rows(self, day: int, site: int, start: int, end: int) -> AsyncIterator[list[Row]]:
        session = self._segments.session(day)
        while start < end:
            rows = await session.all(_EVENTS, site, start, end, ROWS_PER_READ)
            if rows:
                yield rows
            if len(rows) < ROWS_PER_READ:
                return
            end = rows[-1][0]

    async def _decoded(self, rows: list[Row]) -> list[ClientEvent]:
        lists = await asyncio.to_thread(_decode_lists, rows)
        numbers = {number for row in rows for number in row[4:6] if number is not None}
        numbers.update(number for listed in lists.values() for number in listed)
        return await asyncio.to_thread(_events, rows, lists, await self._words.texts(numbers))


def _decode_lists(rows: list[Row]) -> dict[str, tuple[int, ...]]:
    return {text: _numbers.decode(text) for text in {text for row in rows for text in row[7:9]}}


def _events(rows: list[Row], lists: Mapping[str, tuple[int, ...]], texts: Mapping[int, str]) -> list[ClientEvent]:
    named = {text: frozenset(texts.get(number, OTHER_TEXT) for number in listed) for text, listed in lists.items()}
    return [
        ClientEvent(
            decision,
            None if visitor is None else unsigned(visitor),
            OUTCOMES[outcome if would is None else would],
            None if agent is None else texts.get(agent, OTHER_TEXT),
            "agent.verified" in named[labels],
            None if rule is None else texts.get(rule, OTHER_TEXT),
            bool(ruled),
            named[reasons],
        )
        for decision, visitor, outcome, would, agent, rule, ruled, reasons, labels in rows
    ]
