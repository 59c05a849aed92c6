"""Patterns of an SQLite day: numbered once by each process, never by a number that means nothing any more."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentgate.events.decision_ids import first_id
from agentgate.events.records import Event, Pattern, Repeated
from agentgate.events.storage.dictionary import KnownWords
from agentgate.events.storage.events import SqlEvents
from agentgate.events.storage.shapes import MOST_REMEMBERED
from agentgate.lib.clock import HOUR_MS
from tests.support.events import DAY, NOON_MS, EventPlace, embedded_events, new_event

pytestmark = pytest.mark.anyio


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[EventPlace]:
    async with embedded_events(tmp_path / "data") as place:
        yield place


def again(pattern: Pattern, number: int) -> Repeated:
    return Repeated(first_id(NOON_MS) + number, number, 10, pattern)


def whole(events: list[Event | Repeated]) -> list[Event]:
    return [event.whole() if isinstance(event, Repeated) else event for event in events]


async def count_patterns(place: EventPlace) -> int:
    [(number,)] = await place.segments.session(DAY).all("SELECT count(*) FROM pattern")
    return int(number)


async def test_a_pattern_is_once_however_many_batches_have_it(place: EventPlace) -> None:
    pattern = Pattern(new_event(route="/a"))
    events: list[Event | Repeated] = [again(pattern, number) for number in range(60)]
    # Equal patterns, but not marked as repeated.
    events += [new_event(number, route="/a", time_ms=NOON_MS + HOUR_MS) for number in range(60)]

    for start in range(0, 120, 20):
        await place.events.write(events[start : start + 20])

    assert await place.read() == whole(events)
    assert await count_patterns(place) == 1


async def test_a_pattern_is_written_again_after_its_site_was_discarded_elsewhere(place: EventPlace) -> None:
    other = SqlEvents(place.stats, place.segments, KnownWords(place.stats))
    mine, others = Pattern(new_event(site=1)), Pattern(new_event(site=2))
    await place.events.write([again(mine, 1), again(others, 2)])

    await other.forget_site(1)
    # It gets the number of the deleted pattern.
    await other.write([again(Pattern(new_event(site=3, route="/other")), 3)])
    events: list[Event | Repeated] = [again(mine, 4), again(others, 5)]
    await place.events.write(events)

    assert [event for event in await place.read() if event.id > first_id(NOON_MS) + 3] == whole(events)
    assert await place.read(site=2) == whole([again(others, 2), again(others, 5)])


async def test_a_pattern_is_written_again_after_its_day_was_dropped(place: EventPlace) -> None:
    pattern = Pattern(new_event())
    await place.events.write([again(pattern, 1)])
    await place.segments.drop(DAY)

    await place.events.write([again(Pattern(new_event(route="/other")), 2)])
    await place.events.write([again(pattern, 3)])

    assert await place.read(site=1) == whole([again(Pattern(new_event(route="/other")), 2), again(pattern, 3)])


async def test_a_pattern_of_a_batch_that_failed_is_written_with_the_next(place: EventPlace) -> None:
    pattern, there = Pattern(new_event(route="/new")), new_event(1)
    await place.events.write([there])
    with pytest.raises(Exception, match=r"(?i)unique"):
        await place.events.write([there, again(pattern, 2)])

    await place.events.write([again(pattern, 2)])

    assert await place.read() == whole([there, again(pattern, 2)])


async def test_two_processes_number_their_patterns_apart(place: EventPlace) -> None:
    other = SqlEvents(place.stats, place.segments, KnownWords(place.stats))
    events = [new_event(number, route=f"/{number % 3}") for number in range(40)]
    for number, event in enumerate(events):
        await (other if number % 2 else place.events).write([event])

    assert await place.read() == events
    assert await count_patterns(place) == 6


async def test_more_patterns_than_are_remembered_are_all_kept(place: EventPlace) -> None:
    events = [new_event(number, scores={"bot": number / 10**6}) for number in range(MOST_REMEMBERED + 500)]
    for start in range(0, len(events), 1_000):
        await place.events.write(events[start : start + 1_000])
    await place.events.write([new_event(10**6, scores={"bot": 0.0})])

    assert await place.read() == [*events, new_event(10**6, scores={"bot": 0.0})]
    # The process has evicted the last event's pattern from its memory, so the table contains it twice.
    assert await count_patterns(place) == len(events) + 1


async def test_only_an_event_with_details_has_a_row_of_them(place: EventPlace) -> None:
    events = [new_event(1), new_event(2, request_id="r"), new_event(3, trace_id="t"), new_event(4, solve_ms=0)]
    await place.events.write(events)

    assert await place.read() == events
    assert await place.segments.session(DAY).all("SELECT id FROM event_detail ORDER BY id") == [
        (event.id,) for event in events[1:]
    ]
