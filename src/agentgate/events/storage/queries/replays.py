"""Stored decisions in SQL, newest first: for backtests of rules and lists, and for comparing models."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial
from typing import TypeVar

import msgspec

from agentgate.events.decision_ids import first_id, id_day
from agentgate.events.queries.replays import ClientEvent, ReplayedEvent, ScorePoint, ScoreSample
from agentgate.events.records import Event
from agentgate.events.storage.codes import KIND_CODES, OUTCOMES, unsigned
from agentgate.events.storage.days.days import EventDays, day_bounds, read_newest_rows
from agentgate.events.storage.dictionary import OTHER, OTHER_TEXT, KnownWords, WordKind
from agentgate.events.storage.encoding import EVENT_COLUMNS
from agentgate.events.storage.events import read_events
from agentgate.lib.database import Database, Row
from agentgate.lib.enums import DecisionKind, DecisionLabelValue, ModelKind

T = TypeVar("T")

# Lists of labels are few; an attacker's may be many, so the cache is bounded.
CACHED_LISTS = 50_000
_COUNT = "SELECT count(*) FROM event WHERE id >= $1 AND id < $2 AND kind = 0"
_SPREAD = f"""SELECT {", ".join(EVENT_COLUMNS)} FROM event
    WHERE id >= $1 AND id < $2 AND kind = 0 AND id % $3 = 0 ORDER BY id LIMIT $4"""  # noqa: S608 - columns are constants
# Each page scans the whole day, because events are ordered by site.
ROWS_PER_READ = 4_000
# Rows that one thread decodes before other accounts get their turn.
ROWS_AT_ONCE = 500
NO_SCORES: Mapping[str, float] = {}
# Marks label lists with words beyond the dictionary's limit; compared by identity.
UNKNOWN = ("other",)

_NEWEST = f"""FROM event
    WHERE site = $1 AND id >= $2 AND id < $3 AND kind = {KIND_CODES[DecisionKind.REQUEST]}{{}}
    ORDER BY id DESC LIMIT $4"""
_RULED = f"SELECT id, outcome, would, route, action, labels, scores, method {_NEWEST.format(' AND ruled = 1')}"
_CLIENTS = f"SELECT id, visitor, outcome, would, agent, rule, ruled, reasons, labels {_NEWEST.format('')}"
_HUMAN = {DecisionLabelValue.HUMAN: True, DecisionLabelValue.BOT: False, DecisionLabelValue.AGENT: False}

_numbers = msgspec.json.Decoder(tuple[int, ...])
_scores = msgspec.json.Decoder(dict[str, float])


class _SiteReplay:
    """Reads a site's decisions from the days of events, and its number from the configuration."""

    def __init__(self, config: Database, segments: EventDays, words: KnownWords) -> None:
        self._config = config
        self._segments = segments
        self._words = words

    async def _batches(
        self, site_id: str, sql: str, ids: range, limit: int, decode: Callable[[list[Row]], Awaitable[list[T]]]
    ) -> AsyncIterator[list[T]]:
        row = await self._config.one("SELECT number FROM site WHERE id = $1", site_id)
        if row is None:
            return
        left = limit
        async for rows in read_newest_rows(self._segments, sql, row[0], ids):
            batch = await decode(rows[:left])
            left -= len(batch)
            yield batch
            if left <= 0:
                return


class SqlDecisionReplay(_SiteReplay):
    """Implements DecisionReplay."""

    async def replay(self, site_id: str, *, from_ms: int, to_ms: int, limit: int) -> AsyncIterator[list[ReplayedEvent]]:
        """Return the newest decisions of a site that rules made, in batches, newest first, at most `limit`."""
        ids = range(first_id(from_ms), first_id(to_ms))
        decode = partial(self._decoded, decoder=_Decoder(await self._humans(site_id, ids)))
        async for batch in self._batches(site_id, _RULED, ids, limit, decode):
            yield batch

    async def _humans(self, site_id: str, ids: range) -> dict[int, bool]:
        rows = await self._config.all(
            "SELECT decision, label FROM decision_label WHERE site_id = $1 AND decision >= $2 AND decision < $3",
            site_id,
            ids.start,
            ids.stop,
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


class SqlClientReplay(_SiteReplay):
    """Implements ClientReplay."""

    async def replay(self, site_id: str, *, from_ms: int, to_ms: int, limit: int) -> AsyncIterator[list[ClientEvent]]:
        """Return the newest decisions of a site, in batches, newest first, at most `limit`."""
        ids = range(first_id(from_ms), first_id(to_ms))
        async for batch in self._batches(site_id, _CLIENTS, ids, limit, self._decoded):
            yield batch

    async def _decoded(self, rows: list[Row]) -> list[ClientEvent]:
        lists = await asyncio.to_thread(_decode_lists, rows)
        numbers = {number for row in rows for number in row[4:6] if number is not None}
        numbers.update(number for listed in lists.values() for number in listed)
        return await asyncio.to_thread(_client_events, rows, lists, await self._words.texts(numbers))


def _decode_lists(rows: list[Row]) -> dict[str, tuple[int, ...]]:
    return {text: _numbers.decode(text) for text in {text for row in rows for text in row[7:9]}}


def _client_events(
    rows: list[Row], lists: Mapping[str, tuple[int, ...]], texts: Mapping[int, str]
) -> list[ClientEvent]:
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


class SqlScoreSamples:
    """Implements ScoreSamples."""

    def __init__(self, stats: Database, segments: EventDays, words: KnownWords) -> None:
        self._stats = stats
        self._segments = segments
        self._words = words

    async def newest(
        self, kind: ModelKind, *, active_version: str, candidate_version: str, since_id: int, limit: int
    ) -> list[ScoreSample]:
        """Return the newest requests of all sites since an ID that these two versions scored."""
        pairs = await self._pairs(kind, active_version, candidate_version)
        return await self._newest(pairs, since_id, limit) if pairs else []

    async def recent(self, kind: ModelKind, candidate_version: str, *, since_id: int, limit: int) -> list[ScoreSample]:
        """Return the newest requests of all sites since an ID, with shadow scores of this version only."""
        return await self._newest(None, since_id, limit, shadow=(kind, candidate_version))

    async def spread(self, ids: range, limit: int) -> list[ScorePoint]:
        """Return up to `limit` requests of one day with an ID in a range, spread over the range."""
        session = self._segments.session(id_day(ids.start))
        counted = await session.one(_COUNT, ids.start, ids.stop)
        assert counted is not None, "an aggregate always has a row"
        # Odd, because the low bits of an ID count from 0 within each millisecond.
        step = -(-int(counted[0]) // limit) | 1
        found: list[ScorePoint] = []
        least = ids.start
        while True:
            rows: list[Row] = await session.all(_SPREAD, least, ids.stop, step, ROWS_PER_READ)
            for start in range(0, len(rows), ROWS_AT_ONCE):
                found += await read_events(rows[start : start + ROWS_AT_ONCE], self._words, _point)
            if len(rows) < ROWS_PER_READ:
                return found
            least = rows[-1][0] + 1

    async def days(self) -> list[int]:
        """Return the days that have single events, the oldest first."""
        return await self._segments.days()

    async def _newest(
        self, pairs: list[int] | None, since_id: int, limit: int, shadow: tuple[ModelKind, str] | None = None
    ) -> list[ScoreSample]:
        found: list[ScoreSample] = []
        for day in reversed(await self._segments.days()):
            if day < id_day(since_id) or len(found) >= limit:
                break
            least, end = day_bounds(day)
            bounds = range(max(least, since_id), end)
            make = partial(_sample, shadow=shadow)
            found += await self._of_day(day, pairs, bounds, limit - len(found), make=make)
        return found

    async def _pairs(self, kind: ModelKind, active_version: str, candidate_version: str) -> list[int]:
        """Return the dictionary entries by which events name these two versions."""
        rows = await self._stats.all("SELECT id, value FROM dictionary WHERE kind = $1", WordKind.MODEL_VERSIONS.value)
        wanted = (active_version, candidate_version)
        return [number for number, text in rows if _versions(text, kind) == wanted]

    async def _of_day(
        self, day: int, pairs: list[int] | None, ids: range, most: int, *, make: Callable[[Event], ScoreSample]
    ) -> list[ScoreSample]:
        session = self._segments.session(day)
        places = ", ".join(f"${number}" for number in range(4, len(pairs or ()) + 4))
        chosen = f"AND model_versions IN ({places})" if pairs else ""
        sql = f"""SELECT {", ".join(EVENT_COLUMNS)} FROM event
            WHERE id >= $1 AND id < $2 AND kind = 0 {chosen}
            ORDER BY id DESC LIMIT $3"""  # noqa: S608 - columns are constants, places are numbers of values
        found: list[ScoreSample] = []
        end = ids.stop
        while len(found) < most:
            asked = min(ROWS_PER_READ, most - len(found))
            rows: list[Row] = await session.all(sql, ids.start, end, asked, *(pairs or ()))
            for start in range(0, len(rows), ROWS_AT_ONCE):
                found += await read_events(rows[start : start + ROWS_AT_ONCE], self._words, make)
            if len(rows) < asked:
                break
            end = rows[-1][0]
        return found


def _versions(text: str, kind: ModelKind) -> tuple[str | None, str | None]:
    versions = json.loads(text)
    return versions["active"].get(kind), versions["shadow"].get(kind)


def _point(event: Event) -> ScorePoint:
    return ScorePoint(event.site, dict(event.scores), dict(event.model_versions))


def _sample(event: Event, shadow: tuple[ModelKind, str] | None) -> ScoreSample:
    is_of_candidate = shadow is None or event.shadow_versions.get(shadow[0].value) == shadow[1]
    return ScoreSample(
        event.id,
        event.site,
        event.labels,
        dict(event.scores),
        dict(event.shadow_scores) if is_of_candidate else {},
        event.route,
        event.action,
        event.ruled,
        event.outcome if event.would is None else event.would,
    )
