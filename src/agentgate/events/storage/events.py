"""Events in SQL: writing a batch with all its counters in one transaction, and reading events back.

Daily roll-ups and the removal of old days are in `rollups`; the read models are in `queries`.
"""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import TypeVar

import msgspec
import structlog

from agentgate.events.decision_ids import id_day
from agentgate.events.ports import USUAL_BATCHING
from agentgate.events.records import Count, Event, Recorded
from agentgate.events.storage import rollups
from agentgate.events.storage.codes import KINDS, MODES, OUTCOMES, SOLVE_TYPES, STAGES, unsigned
from agentgate.events.storage.days.days import SegmentDays
from agentgate.events.storage.dictionary import OTHER_TEXT, KnownWords
from agentgate.events.storage.encoding import SITE_HOUR, EncodedEvents, EventEncoder
from agentgate.events.storage.shapes import Remembered
from agentgate.lib.clock import MINUTE_MS
from agentgate.lib.database import Database, Row, StoreUnavailable, Sums, Transaction
from agentgate.lib.tasks.job import ROWS_PER_UNIT
from agentgate.lib.tasks.off_loop import off_loop

T = TypeVar("T")

COUNTER_HOUR = Sums("counter_hour", ("site", "hour", "name", "value"), ("counted",))
# A day that has ended may still get events that were waiting.
CLOSE_AFTER_MS = 5 * MINUTE_MS
# Merge the counts of batches after this many batches, or this many events. Until then, readers add them up.
MERGE_AFTER = 64
MERGE_AFTER_EVENTS = 50_000
# How long to encode before yielding to the event loop. If the loop is overloaded and its iterations take long, encoding
# gets 20% of an iteration, so that the queue does not overflow.
SLICE_S, LONGEST_SLICE_S = 0.000_3, 0.01
SHARE_OF_TURN = 0.2

_SITE = itemgetter(0)
# The first feature vector after some that are to be removed.
_FEATURES_END = "SELECT id FROM feature_vector WHERE site = $1 AND id < $2 ORDER BY id LIMIT 1 OFFSET $3"
_FEATURES = "INSERT INTO feature_vector (site, id, features) VALUES ($1, $2, $3) ON CONFLICT (site, id) DO NOTHING"


class EventEncoding:
    """The part that all stores of events share: encoding, counters without events, and feature vectors.

    Counters and feature vectors are stored in the statistics, next to the dictionary.
    """

    def __init__(self, stats: Database, words: KnownWords) -> None:
        self._stats = stats
        self._words = words
        self._remembered = Remembered()
        # Feature vectors that could not be kept. They come after the events and are worth no second attempt.
        self.features_failed = 0

    async def add_counts(self, counts: Sequence[Count]) -> None:
        """Add to the hourly counters."""
        sums: dict[tuple[int, int, str, str], int] = {}
        for count in counts:
            key = (count.site, count.hour, count.name.value, count.value)
            sums[key] = sums.get(key, 0) + count.counted
        rows = [(*key, counted) for key, counted in sorted(sums.items())]
        await self._stats.transaction(lambda transaction: transaction.add_up(COUNTER_HOUR, rows))

    async def forget_features(self, site: int, *, before_id: int) -> None:
        """Remove the feature vectors of a site's decisions before an ID, some in each transaction."""
        end: int | None = 0
        while end is not None:
            found = await self._stats.one(_FEATURES_END, site, before_id, ROWS_PER_UNIT)
            end = found[0] if found else None
            await self._stats.run(
                "DELETE FROM feature_vector WHERE site = $1 AND id < $2", site, before_id if end is None else end
            )

    async def encode(self, events: Sequence[Recorded]) -> EncodedEvents:
        """Return the rows of events of one UTC day. Words that are new are in the dictionary afterwards."""
        if id_day(events[-1].id) != id_day(events[0].id):
            raise ValueError("a batch of events is of one UTC day")
        encoder = EventEncoder(self._words, self._remembered)
        encoded = await self._in_slices(encoder, events)
        if not encoder.missing:
            return encoded
        # Commit words before the events that use them. An event whose number has no word could no longer be decoded.
        await self._words.add(encoder.missing)
        return await self._in_slices(EventEncoder(self._words, self._remembered), events)

    async def _in_slices(self, encoder: EventEncoder, events: Sequence[Recorded]) -> EncodedEvents:
        """Encode in the event loop, a little at a time: a thread would have to fight a busy loop for the interpreter,
        and hold it up for longer whenever it wins.
        """
        steps = encoder.steps(events)
        slice_s = SLICE_S
        while True:
            until_s = time.perf_counter() + slice_s
            try:
                while time.perf_counter() < until_s:
                    next(steps)
            except StopIteration as finished:
                encoded: EncodedEvents = finished.value
                return encoded
            left_s = time.perf_counter()
            await asyncio.sleep(0)
            slice_s = min(max(SLICE_S, (time.perf_counter() - left_s) * SHARE_OF_TURN), LONGEST_SLICE_S)

    async def keep_features(self, events: Sequence[Recorded]) -> None:
        """Keep the feature vectors of events that are kept, as far as that goes."""
        rows = [
            (event.site, event.id, msgspec.json.encode(dict(event.features)).decode())
            for event in events
            if event.features is not None
        ]
        if not rows:
            return
        try:
            await self._stats.run_many(_FEATURES, rows)
        except StoreUnavailable:
            self.features_failed += len(rows)
            structlog.get_logger().warning("feature vectors not kept", count=len(rows))


class SqlEvents(EventEncoding):
    """Implements EventStore over the statistics and the days of events."""

    # Small batches, written often: a commit costs little.
    batching = USUAL_BATCHING

    def __init__(self, stats: Database, segments: SegmentDays, words: KnownWords) -> None:
        super().__init__(stats, words)
        self._segments = segments
        # Two concurrent runs would write the rows of a day twice.
        self._closing = asyncio.Lock()
        self._batches_apart = 0
        self._events_apart = 0

    async def write(self, events: Sequence[Recorded], *, again: bool = False) -> None:
        """Keep events of one UTC day with all their counters, in one commit: all of them or none."""
        encoded = await self.encode(events)
        day = id_day(events[0].id)

        async def write(transaction: Transaction) -> Callable[[], None] | None:
            first = events[0]
            known = "SELECT 1 FROM event WHERE id = $1 AND site = $2"
            if again and await transaction.one(known, first.id, first.site):
                return None
            remember = await self._segments.insert(transaction, encoded)
            await transaction.add_up(SITE_HOUR, encoded.hours)
            return remember

        remember = await self._segments.write(day, write)
        if remember is not None:
            remember()
        await self._index(day, Counter(map(_SITE, encoded.events)))
        await self._merge_counts(len(events))
        await self.keep_features(events)

    async def list_days(self) -> list[int]:
        """Return the UTC days (since 1970) that have events, oldest first."""
        return await self._segments.days()

    async def close_days(self, *, now_ms: int) -> list[int]:
        """Roll up every day that has ended and is not rolled up as it is now; return which. May be repeated."""
        async with self._closing:
            return await rollups.close_days(
                self._stats, self._segments, ended_before_ms=now_ms - CLOSE_AFTER_MS, now_ms=now_ms
            )

    async def forget(self, *, events_before_day: int, metrics_before_day: int) -> None:
        """Remove events before `events_before_day` and aggregates before `metrics_before_day`."""
        await rollups.forget(
            self._stats, self._segments, events_before_day=events_before_day, metrics_before_day=metrics_before_day
        )

    async def forget_site(self, site: int) -> None:
        """Remove everything that was recorded about a site."""
        await rollups.forget_site(self._stats, self._segments, site)

    async def _index(self, day: int, events_by_site: Mapping[int, int]) -> None:
        try:
            await self._segments.index_newest(day, events_by_site)
        except StoreUnavailable:
            # The events are stored, and readers scan those that have no postings.
            structlog.get_logger().warning("events not indexed yet")

    async def _merge_counts(self, written: int) -> None:
        self._batches_apart += 1
        self._events_apart += written
        if self._batches_apart < MERGE_AFTER and self._events_apart < MERGE_AFTER_EVENTS:
            return
        self._batches_apart = self._events_apart = 0
        try:
            await self._segments.merge_counts()
        except StoreUnavailable:
            # The events are stored, and readers add the counts up.
            structlog.get_logger().warning("counts of events not merged")


async def read_events(rows: Sequence[Row], words: KnownWords, make: Callable[[Event], T]) -> list[T]:
    """Return the result of `make` for each event, given rows in the order of EVENT_COLUMNS.

    These events have no features, which are stored elsewhere. A thread decodes large numbers of events.
    """
    lists, numbers = await off_loop(len(rows), lambda: _numbers_of(rows))
    texts = await words.texts(numbers)
    each = zip(rows, lists, strict=True)
    return await off_loop(
        len(rows), lambda: [make(_event(row, reasons, labels, texts)) for row, (reasons, labels) in each]
    )


def _numbers_of(rows: Sequence[Row]) -> tuple[list[tuple[list[int], list[int]]], set[int]]:
    """Return the reasons and labels of each row, and the numbers of all words."""
    lists = [(json.loads(row[21]), json.loads(row[22])) for row in rows]
    numbers = {number for row in rows for number in row[7:10] + row[13:17] if number is not None}
    numbers.update(number for pair in lists for numbers_of in pair for number in numbers_of)
    return lists, numbers


def _event(row: Row, reasons: list[int], labels: list[int], texts: Mapping[int, str]) -> Event:
    def text(number: int) -> str:
        return texts.get(number, OTHER_TEXT)

    def optional(number: int | None) -> str | None:
        return None if number is None else text(number)

    # Versions beyond the dictionary's limit are unknown.
    versions = json.loads(text(row[15])) if row[15] else {}
    return Event(
        id=row[0],
        site=row[1],
        visitor=None if row[2] is None else unsigned(row[2]),
        kind=KINDS[row[3]],
        mode=MODES[row[4]],
        outcome=OUTCOMES[row[5]],
        would=None if row[6] is None else OUTCOMES[row[6]],
        method=text(row[7]),
        route=text(row[8]),
        action=optional(row[9]),
        status=row[10],
        duration_us=row[11],
        ruled=bool(row[12]),
        rule=optional(row[13]),
        rule_set_version=optional(row[14]),
        model_versions=versions.get("active", {}),
        shadow_versions=versions.get("shadow", {}),
        agent=optional(row[16]),
        stage=None if row[17] is None else STAGES[row[17]],
        solve_type=None if row[18] is None else SOLVE_TYPES[row[18]],
        solve_ms=row[19],
        error=bool(row[20]),
        reasons=tuple(text(number) for number in reasons),
        labels=tuple(text(number) for number in labels),
        scores=json.loads(row[23]) if row[23] else {},
        shadow_scores=json.loads(row[24]) if row[24] else {},
        request_id=row[25],
        trace_id=row[26],
    )
