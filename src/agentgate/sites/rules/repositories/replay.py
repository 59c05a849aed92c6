"""Stored decisions in SQL, newest first, for backtests."""

import asyncio
from collections.abc import AsyncIterator, Mapping

import msgspec

from agentgate.events.decision_ids import first_id
from agentgate.events.storage.codes import KIND_CODES, OUTCOMES
from agentgate.events.storage.days.days import EventDays, read_newest_rows
from agentgate.events.storage.dictionary import OTHER, OTHER_TEXT, KnownWords
from agentgate.lib.database import Database, Row
from agentgate.lib.enums import DecisionKind, DecisionLabelValue
from agentgate.sites.rules.replay_records import ReplayedEvent

# Lists of labels are few; an attacker's may be many, so the cache is bounded.
CACHED_LISTS = 50_000
NO_SCORES: Mapping[str, float] = {}
# Marks label lists with words beyond the dictionary's limit; compared by identity.
UNKNOWN = ("other",)

_EVENTS = f"""SELECT id, outcome, would, route, action, labels, scores, method FROM event
    WHERE site = $1 AND id >= $2 AND id < $3 AND kind = {KIND_CODES[DecisionKind.REQUEST]} AND ruled = 1
    ORDER BY id DESC LIMIT $4"""  # noqa: S608 - the code of a kind is a number of ours
_HUMAN = {DecisionLabelValue.HUMAN: True, DecisionLabelValue.BOT: False, DecisionLabelValue.AGENT: False}

_numbers = msgspec.json.Decoder(tuple[int, ...])
_scores = msgspec.json.Decoder(dict[str, float])


class SqlReplay:
    """Reads stored decisions from the days of events, and their labels from the configuration."""

    def __init__(self, config: Database, segments: EventDays, words: KnownWords) -> None:
        self._config = config
        self._segments = segments
        self._words = words

    async def replay(self, site_id: str, *, from_ms: int, to_ms: int, limit: int) -> AsyncIterator[list[ReplayedEvent]]:
        """Return the newest decisions of a site that rules made, in batches, newest first, at most `limit`."""
        row = await self._config.one("SELECT number FROM site WHERE id = $1", site_id)
        if row is None:
            return
        start, end = first_id(from_ms), first_id(to_ms)
        decoder = _Decoder(await self._humans(site_id, start, end))
        left = limit
        async for rows in read_newest_rows(self._segments, _EVENTS, row[0], range(start, end)):
            batch = await self._decoded(rows[:left], decoder)
            left -= len(batch)
            yield batch
            if left <= 0:
                return

    async def _humans(self, site_id: str, start: int, end: int) -> dict[int, bool]:
        rows = await self._config.all(
            "SELECT decision, label FROM decision_label WHERE site_id = $1 AND decision >= $2 AND decision < $3",
            site_id,
            start,
            end,
        )
        return await asyncio.to_thread(_humans_of, rows)

    async def _decoded(self, rows: list[Row], decoder: "_Decoder") -> list[ReplayedEvent]:
        numbers = await asyncio.to_thread(decoder.learn, rows)
        return await asyncio.to_thread(decoder.events, rows, await self._words.texts(numbers))


def _humans_of(rows: list[Row]) -> dict[int, bool]:
    known = ((decision, _HUMAN.get(DecisionLabelValue(label))) for decision, label in rows)
    return {decision: human for decision, human in known if human is not None}


class _Decoder:
    """Turns rows into events; a list of labels is decoded once."""

    def __init__(self, humans: Mapping[int, bool]) -> None:
        self._humans = humans
        self._numbers: dict[str, tuple[int, ...]] = {}
        self._labels: dict[str, tuple[str, ...]] = {}

    def learn(self, rows: list[Row]) -> set[int]:
        """Decode the labels that are new in these rows; return the numbers of all their words."""
        if len(self._numbers) > CACHED_LISTS:
            self._numbers.clear()
            self._labels.clear()
        found = {row[3] for row in rows} | {row[4] for row in rows if row[4] is not None} | {row[7] for row in rows}
        for labels in {row[5] for row in rows}:
            if labels not in self._numbers:
                self._numbers[labels] = _numbers.decode(labels)
            found.update(self._numbers[labels])
        return found

    def events(self, rows: list[Row], texts: Mapping[int, str]) -> list[ReplayedEvent]:
        """Return the events of rows that `learn` has seen."""
        found: list[ReplayedEvent] = []
        known, humans, read_scores = self._labels, self._humans, _scores.decode
        for decision, outcome, would, route, action, labels, scores, method in rows:
            words = known.get(labels)
            if words is None:
                words = known[labels] = self._words(labels, texts)
            # Words beyond the dictionary's limit were not stored, so rules cannot be applied to this event.
            if route == OTHER or action == OTHER or words is UNKNOWN:  # noqa: PLR1714 - a million times
                continue
            found.append(
                ReplayedEvent(
                    decision,
                    words,
                    NO_SCORES if scores is None else read_scores(scores),
                    texts[route],
                    None if action is None else texts[action],
                    OUTCOMES[outcome if would is None else would],
                    humans.get(decision),
                    texts.get(method, OTHER_TEXT),
                )
            )
        return found

    def _words(self, labels: str, texts: Mapping[int, str]) -> tuple[str, ...]:
        numbers = self._numbers[labels]
        return UNKNOWN if OTHER in numbers else tuple(texts[number] for number in numbers)
