"""What becomes of days on both databases: roll-ups that equal a count over the events, and forgetting."""

import json
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agentgate.events.decision_ids import id_time_ms
from agentgate.events.records import Dimension, Event
from agentgate.events.storage import rollups
from agentgate.events.storage.codes import SOLVE_TYPES, signed
from agentgate.events.storage.queries import visitors
from agentgate.events.storage.queries.days import TrafficDays
from agentgate.events.storage.queries.visitors import SqlVisitors
from agentgate.events.storage.rollups import NAMES_KEPT, VALUES_KEPT
from agentgate.events.time_ranges import TimeRange
from agentgate.lib.clock import DAY_MS, HOUR_MS, MINUTE_MS
from agentgate.lib.database import StoreUnavailable
from agentgate.lib.enums import ChallengeStage, DecisionKind, Outcome
from tests.support.events import DAY, EventPlace, events_on, many_events, new_event, values_of

pytestmark = pytest.mark.anyio

NEXT_DAY_MS = (DAY + 1) * DAY_MS
CLOSED_MS = NEXT_DAY_MS + 6 * MINUTE_MS
ROLLED_UP = ("site_day", "dimension_day", "visitor_day", "source_sketch")


@pytest.fixture(params=["sqlite", "postgres"])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[EventPlace]:
    async with events_on(request.param, request, tmp_path / "events") as place:
        yield place


def by_site(made: list[Event]) -> dict[int, list[Event]]:
    found = defaultdict(list)
    for event in made:
        found[event.site].append(event)
    return found


async def count_rows(place: EventPlace, table: str) -> int:
    row = await place.stats.one(f"SELECT count(*) FROM {table}")
    assert row is not None
    return int(row[0])


async def test_a_closed_day_has_the_statistics_of_its_events(place: EventPlace) -> None:
    made = many_events(600)
    await place.events.write(made)

    assert await place.events.close_days(now_ms=CLOSED_MS) == [DAY]

    rows = await place.stats.all(
        """SELECT site, requests, allowed, challenged, blocked, dropped, would_challenge + would_block + would_drop,
            challenges_issued, challenges_passed, challenges_failed, duration_us, errors, last_event_ms, sources
            FROM site_day WHERE day = $1 ORDER BY site""",
        DAY,
    )
    expected = []
    for site, events in sorted(by_site(made).items()):
        requests = [event for event in events if event.kind is DecisionKind.REQUEST]
        outcomes = Counter(event.outcome for event in requests)
        stages = Counter(event.stage for event in events)
        expected.append(
            (
                site,
                len(requests),
                *(outcomes[outcome] for outcome in Outcome),
                sum(event.would is not None for event in requests),
                *(stages[stage] for stage in ChallengeStage),
                sum(event.duration_us for event in requests),
                0,
                max(id_time_ms(event.id) for event in events),
                len({event.visitor for event in events}),
            )
        )
    assert rows == expected


async def test_the_hours_of_a_closed_day_are_in_the_statistics(place: EventPlace) -> None:
    made = many_events(300)
    await place.events.write(made)
    await place.events.close_days(now_ms=CLOSED_MS)

    rows = await place.stats.all("SELECT site, hour, requests FROM site_hour")

    expected = Counter(
        (event.site, id_time_ms(event.id) // HOUR_MS) for event in made if event.kind is DecisionKind.REQUEST
    )
    assert {(site, hour): requests for site, hour, requests in rows if requests} == dict(expected)


async def test_the_visitors_of_a_closed_day_are_the_ones_of_its_events(place: EventPlace) -> None:
    made = many_events(600)
    await place.events.write(made)
    await place.events.close_days(now_ms=CLOSED_MS)

    rows = await place.stats.all(
        """SELECT site, visitor, first_id, last_id, requests, monitored, challenges, challenges_passed, actions
            FROM visitor_day WHERE day = $1""",
        DAY,
    )
    words = await place.words.texts(number for row in rows for number in json.loads(row[8]))
    stored = {row[:2]: (*row[2:8], [words[number] for number in json.loads(row[8])]) for row in rows}
    visits: dict[Any, list[Event]] = defaultdict(list)
    for event in made:
        visits[event.site, signed(event.visitor or 0)].append(event)
    assert stored == {
        key: (
            events[0].id,
            events[-1].id,
            sum(event.kind is DecisionKind.REQUEST for event in events),
            sum(event.kind is DecisionKind.REQUEST and event.would is not None for event in events),
            sum(event.stage is ChallengeStage.ISSUED for event in events),
            sum(event.stage is ChallengeStage.PASSED for event in events),
            list(dict.fromkeys(event.action for event in events if event.action)),
        )
        for key, events in visits.items()
    }


async def test_the_values_of_a_closed_day_are_the_ones_of_its_events(place: EventPlace) -> None:
    made = many_events(300)
    await place.events.write(made)
    await place.events.close_days(now_ms=CLOSED_MS)

    rows = await place.stats.all("SELECT site, dimension, value, events FROM dimension_day WHERE day = $1", DAY)

    words = await place.words.texts(row[2] for row in rows)
    stored = Counter(
        {
            (site, dimension, str(SOLVE_TYPES[value]) if dimension == Dimension.SOLVE_TYPE else words[value]): counted
            for site, dimension, value, counted in rows
        }
    )
    expected: Counter[Any] = Counter()
    for event in made:
        found = values_of(event)
        expected.update((event.site, dimension, str(value)) for dimension, value in found if value is not None)
    assert stored == expected


async def test_the_rarest_values_of_a_day_are_summed_up_as_other(place: EventPlace) -> None:
    labels = tuple(f"net.asn.{number}" for number in range(VALUES_KEPT + 50))
    await place.events.write([new_event(1, labels=labels), new_event(2, labels=labels[:10])])
    await place.events.close_days(now_ms=CLOSED_MS)

    rows = await place.stats.all(
        "SELECT value, events FROM dimension_day WHERE dimension = $1 ORDER BY value", int(Dimension.LABEL)
    )

    assert len(rows) == VALUES_KEPT + 1
    assert rows[0] == (0, 50)
    assert sum(events for _, events in rows) == VALUES_KEPT + 60


async def test_a_visitor_shows_the_first_few_actions_only(place: EventPlace) -> None:
    made = [new_event(number, visitor=5, action=f"action-{number}") for number in range(NAMES_KEPT + 5)]
    await place.events.write(made)
    await place.events.close_days(now_ms=CLOSED_MS)

    row = await place.stats.one("SELECT actions FROM visitor_day")

    assert row is not None
    numbers = json.loads(row[0])
    words = await place.words.texts(numbers)
    assert [words[number] for number in numbers] == [event.action for event in made[:NAMES_KEPT]]


async def test_a_day_is_closed_five_minutes_after_its_end_and_then_not_again(place: EventPlace) -> None:
    await place.events.write([new_event(1)])

    assert await place.events.close_days(now_ms=NEXT_DAY_MS + 4 * MINUTE_MS) == []
    assert await place.events.close_days(now_ms=NEXT_DAY_MS + 5 * MINUTE_MS) == [DAY]
    assert await place.events.close_days(now_ms=NEXT_DAY_MS + 15 * MINUTE_MS) == []


async def test_an_event_that_comes_late_closes_its_day_again(place: EventPlace) -> None:
    await place.events.write([new_event(1)])
    await place.events.close_days(now_ms=CLOSED_MS)
    await place.events.write([new_event(2), new_event(3, site=2)])

    assert await place.events.close_days(now_ms=CLOSED_MS) == [DAY]

    rows = await place.stats.all("SELECT site, requests, sources FROM site_day ORDER BY site")
    assert rows == [(1, 2, 2), (2, 1, 1)]
    assert await count_rows(place, "visitor_day") == 3


async def test_forgetting_events_leaves_their_aggregates(place: EventPlace) -> None:
    for day in (DAY - 2, DAY - 1, DAY):
        await place.events.write(many_events(20, day=day))
    await place.events.close_days(now_ms=CLOSED_MS)

    await place.events.forget(events_before_day=DAY, metrics_before_day=DAY - 1)

    assert await place.events.list_days() == [DAY]
    days = {table: await place.stats.all(f"SELECT DISTINCT day FROM {table} ORDER BY day") for table in ROLLED_UP}
    assert days == {
        "site_day": [(DAY - 1,), (DAY,)],
        "dimension_day": [(DAY - 1,), (DAY,)],
        "source_sketch": [(DAY - 1,), (DAY,)],
        # Leads to single visitors, so it goes with the events.
        "visitor_day": [(DAY,)],
    }
    assert await place.stats.all("SELECT DISTINCT hour / 24 FROM site_hour") == [(DAY,)]
    assert await place.stats.all("SELECT day FROM segment ORDER BY day") == [(DAY - 1,), (DAY,)]
    # A day that is closed and deleted is not closed again, and so not emptied.
    assert await place.events.close_days(now_ms=CLOSED_MS) == []


async def test_a_day_that_was_never_closed_is_closed_before_it_is_discarded(place: EventPlace) -> None:
    await place.events.write(many_events(50))

    await place.events.forget(events_before_day=DAY + 31, metrics_before_day=DAY)

    assert await place.events.list_days() == []
    assert sum(row[0] for row in await place.stats.all("SELECT requests FROM site_day")) == sum(
        event.kind is DecisionKind.REQUEST for event in many_events(50)
    )


async def test_forgetting_a_day_unlinks_its_file(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    async with events_on("sqlite", request, tmp_path / "events") as place:
        await place.events.write([new_event(1)])
        folder = tmp_path / "events" / "events"
        assert [path.name for path in folder.glob("*.db")] == ["2026-11-15.db"]

        await place.events.forget(events_before_day=DAY + 1, metrics_before_day=0)

        assert list(folder.iterdir()) == []


async def test_forgetting_a_site_leaves_nothing_of_it_and_all_of_the_others(place: EventPlace) -> None:
    made = [*many_events(100, day=DAY - 1), *many_events(100)]
    await place.events.write(made[:100])
    await place.events.write(made[100:])
    await place.events.write([new_event(9, features={"x": 1.0})])
    await place.events.close_days(now_ms=DAY * DAY_MS + 6 * MINUTE_MS)

    await place.events.forget_site(1)

    assert await place.read(site=1) == await place.read(DAY - 1, site=1) == []
    assert len(await place.read()) == sum(event.site != 1 for event in made[100:])
    for table in (*ROLLED_UP, "site_hour", "counter_hour", "feature_vector"):
        assert await place.stats.all(f"SELECT * FROM {table} WHERE site = 1") == []
        assert table in {"counter_hour", "feature_vector"} or await count_rows(place, table) > 0
    for table in ("site_hour", "dimension_hour", "event_label"):
        assert await place.segments.session(DAY).all(f"SELECT * FROM {table} WHERE site = 1") == []
    assert await place.events.close_days(now_ms=DAY * DAY_MS + 6 * MINUTE_MS) == []


async def test_a_site_without_visitors_has_an_empty_sketch(place: EventPlace) -> None:
    await place.events.write([new_event(1, visitor=None)])
    await place.events.close_days(now_ms=CLOSED_MS)

    assert await place.stats.all("SELECT smallest FROM source_sketch") == [(b"",)]


async def test_the_pages_of_a_day_are_put_together(place: EventPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Visitors come in the order of their unsigned numbers, so a sketch has the smallest."""
    for name, number in (("VISITORS_AT_ONCE", 3), ("SKETCH_SIZE", 5), ("ROWS_PER_LOAD", 2)):
        monkeypatch.setattr(rollups, name, number)
    seen = [0, 1, 2**63 - 1, 2**63, 2**64 - 1, *(number * 0x9E37_79B9_7F4A_7C15 % 2**64 for number in range(1, 20))]
    await place.events.write([new_event(number, visitor=visitor) for number, visitor in enumerate(seen)])

    await place.events.close_days(now_ms=CLOSED_MS)

    rows = await place.stats.all("SELECT visitor FROM visitor_day")
    assert sorted(visitor for (visitor,) in rows) == sorted(map(signed, seen))
    data = (await place.stats.all("SELECT smallest FROM source_sketch"))[0][0]
    numbers = [int.from_bytes(data[start : start + 8], "big") for start in range(0, len(data), 8)]
    assert numbers == sorted(seen)[:5]
    assert await place.stats.all("SELECT sources FROM site_day") == [(len(seen),)]


async def test_a_day_that_was_partly_closed_is_not_read_and_is_closed_again(
    place: EventPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, day in enumerate((DAY - 1, DAY, DAY + 1)):
        await place.events.write(many_events(200, seed=number, day=day))
    later_ms = CLOSED_MS + DAY_MS
    await place.events.close_days(now_ms=later_ms)
    kept = {table: await place.stats.all(f"SELECT * FROM {table} ORDER BY 1, 2, 3") for table in ROLLED_UP}
    await place.events.write([new_event(9)])
    monkeypatch.setattr(visitors, "SEARCHED_S", 60)
    close_site, left = rollups._close_site, [3]

    async def stop(*args: Any) -> None:
        left[0] -= 1
        if not left[0]:
            raise StoreUnavailable("stopped")
        await close_site(*args)

    monkeypatch.setattr(rollups, "_close_site", stop)
    with pytest.raises(StoreUnavailable):
        await place.events.close_days(now_ms=later_ms)

    # Readers count the events of the day between two closed ones.
    assert await place.stats.all("SELECT day FROM segment ORDER BY day") == [(DAY - 1,), (DAY + 1,)]
    days = TrafficDays(place.stats, place.segments)
    page = SqlVisitors(place.stats, days, place.words)
    span = TimeRange((DAY - 1) * DAY_MS, (DAY + 2) * DAY_MS)
    partly = await page.list_visitors(1, span, before=None, limit=500)
    monkeypatch.setattr(rollups, "_close_site", close_site)
    assert await place.events.close_days(now_ms=later_ms) == [DAY]
    assert partly == await page.list_visitors(1, span, before=None, limit=500)
    for table, rows in kept.items():
        after = await place.stats.all(f"SELECT * FROM {table} ORDER BY 1, 2, 3")
        assert {row for row in rows if DAY not in row[:3]} == {row for row in after if DAY not in row[:3]}
