"""How a batch of events becomes rows: in steps, by shapes, with what earlier batches are remembered for."""

import asyncio
import gc
import json
import random
import time
from collections.abc import AsyncIterator, Coroutine, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from agentgate.events.records import SHAPE, Event, Pattern, Repeated
from agentgate.events.storage.encoding import EVENT_COLUMNS, WIDE_COLUMNS, EncodedEvents, EventEncoder
from agentgate.events.storage.shapes import MOST_REMEMBERED, Remembered, StoredPattern
from agentgate.lib.clock import HOUR_MS
from agentgate.lib.database import Row
from agentgate.lib.enums import ChallengeStage, DecisionKind
from tests.support.events import NOON_MS, EventPlace, embedded_events, many_events, new_event

pytestmark = pytest.mark.anyio

# 4 ms on a quick core, twice as much where others share it. The batch as a whole takes a hundred and more.
LONGEST_TURN_S = 0.02


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[EventPlace]:
    async with embedded_events(tmp_path / "data") as place:
        yield place


@pytest.fixture
def statements() -> Iterator[list[str]]:
    """Every statement that SQLite runs, on connections that are opened from now on."""
    found: list[str] = []

    def trace(_cursor: object, text: str, _values: object) -> bool:
        found.append(text)
        return True

    def watch(connection: apsw.Connection) -> None:
        connection.exec_trace = trace

    apsw.connection_hooks.append(watch)
    yield found
    apsw.connection_hooks.remove(watch)


async def learn(place: EventPlace, events: list[Event]) -> None:
    encoder = EventEncoder(place.words)
    encoder.encode(events)
    await place.words.add(encoder.missing)


def content(encoded: EncodedEvents) -> tuple[list[Row], ...]:
    """Return everything that is written of a batch."""
    return encoded.wide(), encoded.hours, encoded.objects()


def test_the_same_columns_are_written_and_read() -> None:
    assert sorted(WIDE_COLUMNS) == sorted(EVENT_COLUMNS)


def test_whatever_differs_from_visitor_to_visitor_is_not_a_part_of_a_shape() -> None:
    assert Event.__struct_fields__[: SHAPE.start] == ("id", "visitor", "duration_us")
    assert {"scores", "request_id", "trace_id", "solve_ms", "features"} <= set(Event.__struct_fields__[SHAPE.stop :])


@pytest.mark.parametrize("known", [True, False], ids=["words known", "words new"])
async def test_repeated_events_become_the_rows_of_whole_ones(place: EventPlace, *, known: bool) -> None:
    patterns = [Pattern(event) for event in many_events(30)]
    chance = random.Random(8)
    # The events span the end of an hour, and include separate events.
    events: list[Event | Repeated] = [
        Repeated(event.id, chance.choice((None, 0, 2**64 - 1)), number, chance.choice(patterns))
        if chance.random() < 0.8
        else event
        for number, event in enumerate(many_events(600, seed=2, span_ms=3 * HOUR_MS))
    ]
    whole = [event.whole() if isinstance(event, Repeated) else event for event in events]
    assert {event.site for event in events} == {event.site for event in whole}
    if known:
        await learn(place, whole)

    encoder, of_whole = EventEncoder(place.words), EventEncoder(place.words)
    assert content(encoder.encode(events)) == content(of_whole.encode(whole))
    assert encoder.missing == of_whole.missing
    assert bool(encoder.missing) is not known


async def test_what_is_remembered_changes_nothing_of_the_rows(place: EventPlace) -> None:
    events = many_events(600)
    await learn(place, events)
    remembered = Remembered()
    for _ in range(2):
        known = EventEncoder(place.words, remembered).encode(events)
        assert content(known) == content(EventEncoder(place.words).encode(events))


async def test_words_without_a_number_are_not_remembered_as_other(place: EventPlace) -> None:
    remembered, events = Remembered(), [new_event(number) for number in range(3)]
    first = EventEncoder(place.words, remembered)
    first.encode(events)
    await place.words.add(first.missing)

    encoder = EventEncoder(place.words, remembered)
    row = dict(zip(WIDE_COLUMNS, encoder.encode(events).wide()[0], strict=True))

    assert not encoder.missing
    assert all((row["route"], row["action"], row["method"]))
    assert 0 not in json.loads(row["labels"])


async def test_a_pattern_is_encoded_once_until_what_is_remembered_is_discarded(place: EventPlace) -> None:
    remembered, pattern = Remembered(), Pattern(new_event(0))

    def stored() -> StoredPattern:
        encoder = EventEncoder(place.words, remembered)
        return encoder.encode([Repeated(new_event(1).id, 7, 5, pattern)]).events[0][4]

    assert stored() is not stored(), "its words have no numbers yet"
    await learn(place, [pattern.event])
    first = stored()
    assert stored() is first
    remembered.shapes.update({(number,): first.shape for number in range(MOST_REMEMBERED)})

    assert stored() is not first
    assert stored() in remembered.patterns.values()


async def test_only_a_limited_number_of_patterns_are_remembered(place: EventPlace) -> None:
    events = [new_event(number, status=number) for number in range(MOST_REMEMBERED + 1)]
    await learn(place, events)
    remembered = Remembered()

    EventEncoder(place.words, remembered).encode(events)
    assert len(remembered.patterns) == len(remembered.shapes) == MOST_REMEMBERED + 1
    EventEncoder(place.words, remembered).encode(events[:5])

    assert len(remembered.patterns) == len(remembered.shapes) == 5


async def test_events_that_go_back_and_forth_over_a_full_hour_are_counted_in_their_own(place: EventPlace) -> None:
    events = [new_event(number, time_ms=NOON_MS - number % 2, duration_us=10) for number in range(10)]
    await learn(place, events)

    encoded = EventEncoder(place.words).encode(events)

    noon = NOON_MS // HOUR_MS
    hours = [(site, hour, counts[0], counts[11], counts[13]) for site, hour, *counts in encoded.hours]
    assert hours == [(1, noon - 1, 5, 50, NOON_MS - 1), (1, noon, 5, 50, NOON_MS)]


async def test_a_challenge_is_not_a_request_and_has_no_duration(place: EventPlace) -> None:
    challenge = {"kind": DecisionKind.CHALLENGE, "stage": ChallengeStage.PASSED, "error": True}
    events = [new_event(0, duration_us=7), new_event(1, duration_us=90, **challenge)]
    await learn(place, events)

    [(_, _, *counts)] = EventEncoder(place.words).encode(events).hours

    assert (counts[0], counts[9], counts[11], counts[12]) == (1, 1, 7, 0)


async def test_the_event_loop_continues_while_a_large_batch_is_encoded(place: EventPlace) -> None:
    events = many_events(3 * 4_000, span_ms=HOUR_MS)
    await learn(place, events)
    longest = []
    # The best of three: the CPU time that other programs on the host take counts as time of this thread.
    for start in range(0, len(events), 4_000):
        turns = await turns_while(place.events.write(events[start : start + 4_000]))
        assert len(turns) > 20
        longest.append(max(turns))

    assert min(longest) < LONGEST_TURN_S


async def turns_while(work: Coroutine[Any, Any, None]) -> list[float]:
    """Return the CPU time of each event-loop iteration while something is done."""
    # Exclude garbage collections.
    gc.disable()
    try:
        task = asyncio.create_task(work)
        turns: list[float] = []
        while not task.done():
            began_s = time.thread_time()
            await asyncio.sleep(0)
            turns.append(time.thread_time() - began_s)
        await task
    finally:
        gc.enable()
    return turns


async def test_a_thousand_events_are_written_in_a_hundred_statements(statements: list[str], place: EventPlace) -> None:
    # With each of them the writer lets go of the interpreter, and has to get it back from a busy event loop.
    await place.events.write([new_event(0)])
    statements.clear()

    await place.events.write([new_event(number) for number in range(1, 1_001)])

    inserted = [text for text in statements if text.startswith("INSERT INTO event_row ")]
    assert 16 <= len(inserted) <= len(statements) <= 100
