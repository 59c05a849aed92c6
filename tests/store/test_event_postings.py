"""How SQLite finds labels and actions of a day: walked through, posted later, posted at once, and brought over."""

import random
import shutil
from collections import Counter
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agentgate.core.clock import DAY_MS, HOUR_MS, FixedClock
from agentgate.core.database import Transaction
from agentgate.core.decision_ids import write_id
from agentgate.core.ranges import TimeRange
from agentgate.events.records import Event
from agentgate.store.databases.sqlite import SqliteDatabase
from agentgate.store.migrate import FOLDER, apply
from agentgate.store.open import CONFIG
from agentgate.store.segments import packs, postings
from agentgate.store.segments.sqlite import EVENTS, SqliteSegments
from agentgate.store.sql.event_encoding import SITE_HOUR, WRITTEN_COLUMNS, EventEncoder, unpacked_key
from agentgate.store.sql.events import PACK_AFTER
from agentgate.store.sql.traffic_days import TrafficDays
from agentgate.store.sql.traffic_decisions import SqlDecisions
from agentgate.store.stores import SqlStore
from agentgate.traffic.ports import DecisionFilters, SiteNumber
from tests.made_events import DAY, NOON_MS, EventPlace, embedded_events, many_events, new_event

pytestmark = pytest.mark.anyio

WHOLE_DAY = TimeRange(DAY * DAY_MS, (DAY + 1) * DAY_MS)
CLOSED_MS = (DAY + 1) * DAY_MS + HOUR_MS
TOGETHER = 40


@pytest.fixture
async def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[EventPlace]:
    monkeypatch.setattr(postings, "POSTED_TOGETHER", TOGETHER)
    async with embedded_events(tmp_path) as place:
        await apply(place.stats, CONFIG, clock=FixedClock(NOON_MS))
        yield place


async def write(place: EventPlace, events: list[Event], batch: int = 25) -> None:
    for start in range(0, len(events), batch):
        await place.events.write(sorted(events[start : start + batch], key=lambda event: event.id))


async def posted(place: EventPlace) -> list[tuple[int, int, int]]:
    return await place.segments.session(DAY).all("SELECT site, word, id FROM event_word ORDER BY site, word, id")


async def words_of(place: EventPlace, events: list[Event]) -> list[tuple[int, int, int]]:
    """Return the postings that events should have."""
    rows = EventEncoder(place.words).encode(events).events
    named = [dict(zip(WRITTEN_COLUMNS, row, strict=True)) for row in rows]
    return sorted(
        (row["site"], word, row["id"])
        for row in named
        for word in [*map(int, filter(None, row["labels"][1:-1].split(","))), row["action"]]
        if word is not None
    )


async def assert_found(place: EventPlace, events: list[Event]) -> None:
    """Look for every label and action of two sites, over pages, alone and together."""
    labels = SqlStore(place.stats).read.decision_labels
    decisions = SqlDecisions(place.stats, TrafficDays(place.stats, place.segments), place.words, labels)
    ordered = sorted(events, key=lambda event: event.id, reverse=True)
    for number in (1, 2):
        of_site = [event for event in ordered if event.site == number]
        labelled = Counter(label for event in of_site for label in event.labels)
        asked = [(label, None) for label in sorted(labelled)[:25]]
        asked += [(None, action) for action in ("login", "checkout", "search")]
        asked += [(labelled.most_common(1)[0][0], "login")]
        for label, action in asked:
            found: list[str] = []
            before: int | None = None
            while True:
                page = await decisions.list_decisions(
                    SiteNumber(f"st_{number}", number),
                    WHOLE_DAY,
                    DecisionFilters(label=label, action=action),
                    before=before,
                    limit=30,
                )
                found += [decision.id for decision in page.items]
                before = page.more_before
                if before is None:
                    break
            expected = [
                write_id(event.id)
                for event in of_site
                if (label is None or label in event.labels) and action in {None, event.action}
            ]
            assert found == expected


async def test_an_open_day_is_posted_in_part_and_walked_through_for_the_rest(place: EventPlace) -> None:
    made = many_events(400)
    await write(place, made)

    mark = await place.segments.indexed_before(DAY, 1)
    assert made[0].id < mark < made[-1].id
    of_site = [event for event in made if event.site == 1 and event.id < mark]
    assert [row for row in await posted(place) if row[0] == 1] == await words_of(place, of_site)
    await assert_found(place, made)


async def test_events_out_of_order_are_found_before_and_after_the_day_is_closed(place: EventPlace) -> None:
    made = many_events(300)
    random.Random(3).shuffle(made)
    await write(place, made[:250])
    await assert_found(place, made[:250])
    await place.events.close_days(now_ms=CLOSED_MS)

    await write(place, made[250:])

    assert await posted(place) == await words_of(place, made)
    assert await place.events.close_days(now_ms=CLOSED_MS) == [DAY]
    await assert_found(place, made)


async def test_a_site_that_comes_after_the_day_was_closed_is_posted_at_once(place: EventPlace) -> None:
    await write(place, [new_event(number) for number in range(3)])
    await place.events.close_days(now_ms=CLOSED_MS)

    late = new_event(9, site=7, time_ms=NOON_MS + HOUR_MS)
    await write(place, [late])

    assert [row for row in await posted(place) if row[0] == 7] == await words_of(place, [late])


async def test_a_forgotten_site_has_no_postings_and_no_mark(place: EventPlace) -> None:
    made = many_events(300)
    await write(place, made)

    await place.events.forget_site(1)
    await write(place, [new_event(number, time_ms=NOON_MS) for number in range(3)])

    assert {row[0] for row in await posted(place)} <= {event.site for event in made} - {1}
    assert await place.segments.indexed_before(DAY, 1) == 0
    assert await place.segments.session(DAY).all("SELECT count(*) FROM dimension_pack WHERE site = 1") == [(1,)]


async def test_indexing_what_is_indexed_or_gone_changes_nothing(place: EventPlace) -> None:
    made = many_events(100)
    await write(place, made)
    for _ in range(2):
        await place.segments.index(DAY)
        assert await posted(place) == await words_of(place, made)

    await place.segments.drop(DAY)
    await place.segments.index(DAY)

    assert await place.segments.days() == []


def test_no_batch_waits_for_many_sites_at_once() -> None:
    unposted, every_site = postings.Unposted(), dict.fromkeys(range(1, 21), postings.POSTED_TOGETHER // 20)
    taken: Counter[int] = Counter()
    for _ in range(60):
        sites = unposted.take(DAY, every_site)
        assert len(sites) <= 2
        taken.update(sites)

    assert set(taken) == set(every_site)


async def test_counts_of_many_batches_are_put_together(place: EventPlace) -> None:
    made = many_events(PACK_AFTER * 4, span_ms=HOUR_MS)
    expected: Counter[tuple[int, ...]] = Counter()
    await write(place, made, 4)
    for site, _, counts in EventEncoder(place.words).encode(made).dimensions:
        expected.update({(site, *unpacked_key(key)): events for key, events in counts.items()})

    session = place.segments.session(DAY)
    assert await session.one("SELECT max(n) FROM (SELECT count(*) AS n FROM dimension_pack GROUP BY site, hour)") == (
        1,
    )
    rows = await session.all("SELECT site, dimension, value, events FROM dimension_hour")
    assert {tuple(row[:3]): row[3] for row in rows} == dict(expected)
    assert len(rows) > packs.PACKED_TOGETHER


async def test_a_day_of_the_release_before_is_brought_over_and_goes_on(place: EventPlace, tmp_path: Path) -> None:
    made = many_events(300)
    await fill_older(place, tmp_path, made[:200])
    segments = SqliteSegments(tmp_path / EVENTS, FixedClock(NOON_MS), ThreadPoolExecutor(1))
    await segments.migrate(FixedClock(NOON_MS))
    await segments.close()

    assert await posted(place) == await words_of(place, made[:200])
    await write(place, made[200:])

    assert await posted(place) == await words_of(place, made)
    await assert_found(place, made)
    await place.events.close_days(now_ms=CLOSED_MS)
    await assert_found(place, made)
    rows = await place.segments.session(DAY).all("SELECT dimension, sum(events) FROM dimension_hour GROUP BY dimension")
    expected: Counter[int] = Counter()
    for _, _, counts in EventEncoder(place.words).encode(made).dimensions:
        for key, events in counts.items():
            expected[unpacked_key(key)[0]] += events
    assert dict(rows) == dict(expected)


async def fill_older(place: EventPlace, folder: Path, made: list[Event]) -> None:
    """Write a day as the release before did."""
    older = folder / "migrations"
    (older / EVENTS).mkdir(parents=True)
    shutil.copy(FOLDER / EVENTS / "0001_events.sqlite.sql", older / EVENTS)
    encoder = EventEncoder(place.words)
    encoder.encode(made)
    await place.words.add(encoder.missing)
    encoded = EventEncoder(place.words).encode(made)
    values = [
        (site, hour, *unpacked_key(key), events)
        for site, hour, counts in encoded.dimensions
        for key, events in counts.items()
    ]
    labels, site = WRITTEN_COLUMNS.index("labels"), WRITTEN_COLUMNS.index("site")
    of_labels = [
        (row[site], int(label), row[0]) for row in encoded.events for label in row[labels][1:-1].split(",") if label
    ]

    async def write(transaction: Transaction) -> None:
        await transaction.load("event", WRITTEN_COLUMNS, encoded.events)
        await transaction.load("event_label", ("site", "label", "id"), of_labels)
        await transaction.add_up(SITE_HOUR, encoded.hours)
        await transaction.load("dimension_hour", ("site", "hour", "dimension", "value", "events"), values)

    (folder / EVENTS).mkdir()
    database = SqliteDatabase(folder / EVENTS / "2026-11-15.db", synchronous="NORMAL")
    try:
        await apply(database, EVENTS, clock=FixedClock(NOON_MS), folder=older)
        await database.transaction(write)
    finally:
        await database.close()
