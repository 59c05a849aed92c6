"""How PostgreSQL keeps what is counted by value and finds labels: packed, put together, and brought over."""

from collections import Counter
from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any

import pytest

from agentgate.events.decision_ids import first_id, id_time_ms, write_id
from agentgate.events.queries.ports import DecisionFilters, SiteNumber
from agentgate.events.records import Dimension, Event
from agentgate.events.storage.dictionary import WordKind
from agentgate.events.storage.events import MERGE_AFTER
from agentgate.events.storage.queries import decisions as traffic_decisions
from agentgate.events.storage.queries import filters
from agentgate.events.storage.queries.days import DayPart, TrafficDays
from agentgate.events.storage.queries.decisions import WINDOW_ROWS, SqlDecisions, day_windows
from agentgate.events.time_ranges import TimeRange
from agentgate.lib.clock import DAY_MS, HOUR_MS, FixedClock
from agentgate.server.stores.open import CONFIG
from agentgate.server.stores.unit_of_work import SqlStore
from agentgate.storage.migrate import apply
from tests.support.events import DAY, NOON_MS, EventPlace, many_events, new_event, postgres_events

pytestmark = pytest.mark.anyio

SITE = SiteNumber("st_1", 1)
WHOLE_DAY = TimeRange(DAY * DAY_MS, (DAY + 1) * DAY_MS)
DIMENSION_HOUR_COLUMNS = ("site", "hour", "dimension", "value", "events")
CLOSED_MS = (DAY + 1) * DAY_MS + HOUR_MS


@pytest.fixture
async def place(migrated_url: str) -> AsyncIterator[EventPlace]:
    async with postgres_events(migrated_url) as place:
        yield place


async def labels_by_hour(place: EventPlace) -> Counter[tuple[int, int, int]]:
    rows = await place.stats.all(
        "SELECT site, hour, value, events FROM dimension_part WHERE dimension = $1", Dimension.LABEL.value
    )
    found: Counter[tuple[int, int, int]] = Counter()
    for site, hour, value, events in rows:
        found[site, hour, value] += events
    return found


async def counted(place: EventPlace, made: list[Event]) -> Counter[tuple[int, int, int]]:
    found: Counter[tuple[int, int, int]] = Counter()
    for event in made:
        for label in event.labels:
            number = await place.words.find(WordKind.LABEL, label)
            assert number is not None
            found[event.site, id_time_ms(event.id) // HOUR_MS, number] += 1
    return found


async def count_packs(place: EventPlace) -> list[Any]:
    return await place.stats.all("SELECT site, hour, count(*) FROM dimension_pack GROUP BY site, hour")


async def test_counts_stay_what_they_are_when_they_are_put_together(place: EventPlace) -> None:
    made = many_events(600, span_ms=2 * HOUR_MS)
    for start in range(0, 600, 60):
        await place.events.write(made[start : start + 60])
    expected = await counted(place, made)
    assert max(count for _, _, count in await count_packs(place)) > 1
    assert await labels_by_hour(place) == expected

    await place.segments.merge_counts()

    assert {count for _, _, count in await count_packs(place)} == {1}
    assert await labels_by_hour(place) == expected


async def test_many_batches_are_put_together_by_who_writes_them(place: EventPlace) -> None:
    for number in range(MERGE_AFTER):
        await place.events.write([new_event(number)])

    assert [count for _, _, count in await count_packs(place)] == [1]
    assert sum((await labels_by_hour(place)).values()) == 2 * MERGE_AFTER


async def test_a_discarded_site_has_no_counts_left(place: EventPlace) -> None:
    made = many_events(300)
    for start in range(0, 300, 100):
        await place.events.write(made[start : start + 100])

    await place.events.forget_site(1)
    await place.segments.merge_counts()

    assert {site for site, _, _ in await count_packs(place)} == {event.site for event in made} - {1}


@pytest.mark.parametrize(("is_closed", "most_in_index"), [(False, 10_000), (True, 10_000), (True, 0)])
async def test_a_label_is_found_with_and_without_its_index(
    place: EventPlace, monkeypatch: pytest.MonkeyPatch, is_closed: bool, most_in_index: int
) -> None:
    monkeypatch.setattr(filters, "MOST_IN_INDEX", most_in_index)
    made = many_events(400)
    await place.events.write(made)
    if is_closed:
        await place.events.close_days(now_ms=CLOSED_MS)
    await apply(place.stats, CONFIG, clock=FixedClock(NOON_MS))
    labels = SqlStore(place.stats).read.decision_labels
    decisions = SqlDecisions(place.stats, TrafficDays(place.stats, place.segments), place.words, labels)
    of_site = [event for event in made if event.site == 1]
    # With this many numbers, the digits of some begin or end the digits of others.
    for label in sorted({label for event in of_site for label in event.labels})[:80]:
        found = await decisions.list_decisions(SITE, WHOLE_DAY, DecisionFilters(label=label), before=None, limit=400)
        expected = [write_id(event.id) for event in reversed(of_site) if label in event.labels]
        assert [decision.id for decision in found.items] == expected


def test_windows_cover_the_hours_of_a_part_once() -> None:
    least, end = first_id(DAY * DAY_MS + 7), first_id((DAY + 1) * DAY_MS - 9)
    part = DayPart(DAY, least, end, rolled_up=False, indexed=False)
    # An hour without events may be in a window.
    hours = [(DAY * 24 + hour, WINDOW_ROWS // 3, True) for hour in reversed(range(24)) if hour != 5]

    windows = day_windows(hours, part)

    assert (windows[0][1], windows[-1][0]) == (end, least)
    assert all(newer[0] >= older[1] for newer, older in pairwise(windows))
    moments = [first_id(hour * HOUR_MS + HOUR_MS // 2) for hour, _, _ in hours]
    assert all(sum(least <= moment < end for least, end in windows) == 1 for moment in moments)
    assert len(windows) == 8
    assert day_windows([], part) == []


def test_a_busy_hour_is_looked_through_in_pieces() -> None:
    least, end = first_id(DAY * DAY_MS), first_id((DAY + 1) * DAY_MS)
    part = DayPart(DAY, least, end, rolled_up=False, indexed=False)

    windows = day_windows([(DAY * 24 + 23, 10 * WINDOW_ROWS, True), (DAY * 24 + 22, WINDOW_ROWS, True)], part)

    assert len(windows) == 11
    assert all(newer[0] == older[1] for newer, older in pairwise(windows))
    assert windows[9][0] == first_id((DAY * 24 + 23) * HOUR_MS)


def test_hours_without_a_match_are_not_looked_through() -> None:
    part = DayPart(DAY, first_id(DAY * DAY_MS), first_id((DAY + 1) * DAY_MS), rolled_up=False, indexed=False)
    hours = [(DAY * 24 + hour, WINDOW_ROWS // 3, hour in {20, 19, 3}) for hour in reversed(range(24))]

    windows = [
        (id_time_ms(least) // HOUR_MS - DAY * 24, id_time_ms(end) // HOUR_MS - DAY * 24)
        for least, end in day_windows(hours, part)
    ]

    assert windows == [(19, 21), (3, 4)]


async def test_a_rare_value_is_looked_for_in_its_hours_only(place: EventPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    rare = [new_event(number, time_ms=NOON_MS - number * 3 * HOUR_MS, action="rare") for number in range(3)]
    await place.events.write(sorted([*many_events(300), *rare], key=lambda event: event.id))
    await apply(place.stats, CONFIG, clock=FixedClock(NOON_MS))
    labels = SqlStore(place.stats).read.decision_labels
    decisions = SqlDecisions(place.stats, TrafficDays(place.stats, place.segments), place.words, labels)
    windows: list[tuple[int, int]] = []

    def noted(*given: Any) -> list[tuple[int, int]]:
        windows.extend(day_windows(*given))
        return windows

    monkeypatch.setattr(traffic_decisions, "day_windows", noted)
    monkeypatch.setattr(traffic_decisions, "WINDOW_ROWS", 1)
    monkeypatch.setattr(traffic_decisions, "SCANNED_S", 60)

    found = await decisions.list_decisions(SITE, WHOLE_DAY, DecisionFilters(action="rare"), before=None, limit=10)

    assert [decision.id for decision in found.items] == [write_id(event.id) for event in rare]
    hours = {id_time_ms(moment) // HOUR_MS for least, end in windows for moment in (least, end - 1)}
    assert hours == {id_time_ms(event.id) // HOUR_MS for event in rare}
