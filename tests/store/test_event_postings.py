"""How SQLite finds the events of a visitor: walked through, posted later, at once, and brought over."""

import random
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agentgate.events.decision_ids import write_id
from agentgate.events.queries.ports import DecisionFilters, SiteNumber
from agentgate.events.records import Event
from agentgate.events.storage.codes import signed
from agentgate.events.storage.days import postings
from agentgate.events.storage.days.sqlite import MERGED_TOGETHER
from agentgate.events.storage.encoding import EventEncoder, split_key
from agentgate.events.storage.events import MERGE_AFTER
from agentgate.events.storage.queries.counts import SqlCounts
from agentgate.events.storage.queries.days import TrafficDays
from agentgate.events.storage.queries.decisions import SqlDecisions
from agentgate.events.storage.queries.visitors import SqlVisitors
from agentgate.events.time_ranges import TimeRange
from agentgate.lib.clock import DAY_MS, HOUR_MS, FixedClock
from agentgate.lib.database import Row
from agentgate.lib.enums import ChallengeStage, DecisionKind, Outcome
from agentgate.lib.ids import write_visitor
from agentgate.server.stores.open import CONFIG
from agentgate.server.stores.unit_of_work import SqlStore
from agentgate.storage.migrate import apply
from tests.support.events import DAY, NOON_MS, EventPlace, embedded_events, many_events, new_event

pytestmark = pytest.mark.anyio

WHOLE_DAY = TimeRange(DAY * DAY_MS, (DAY + 1) * DAY_MS)
CLOSED_MS = (DAY + 1) * DAY_MS + HOUR_MS
TOGETHER = 40


@pytest.fixture
async def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[EventPlace]:
    monkeypatch.setattr(postings, "TOGETHER", TOGETHER)
    async with embedded_events(tmp_path) as place:
        await apply(place.stats, CONFIG, clock=FixedClock(NOON_MS))
        yield place


async def write(place: EventPlace, events: list[Event], batch: int = 25) -> None:
    for start in range(0, len(events), batch):
        await place.events.write(sorted(events[start : start + batch], key=lambda event: event.id))


async def posted(place: EventPlace) -> list[Row]:
    """Return what is posted: site, visitor and ID."""
    return await place.segments.session(DAY).all("SELECT site, visitor, id FROM visitor_index ORDER BY 1, 2, 3")


def postings_of(events: list[Event]) -> list[Row]:
    """Return the postings that events should have."""
    return sorted((event.site, signed(event.visitor), event.id) for event in events if event.visitor is not None)


async def posted_before(place: EventPlace, site: int) -> int:
    return await postings.posted_before(place.segments.session(DAY), site)


async def assert_found(place: EventPlace, events: list[Event]) -> None:
    """Look for every label and action of two sites, over pages, alone and together."""
    labels = SqlStore(place.stats).read.decision_labels
    decisions = SqlDecisions(place.stats, TrafficDays(place.stats, place.segments), place.words, labels)
    ordered = sorted(events, key=lambda event: event.id, reverse=True)
    for number in (1, 2):
        of_site = [event for event in ordered if event.site == number]
        labelled = Counter(label for event in of_site for label in event.labels)
        visitors = sorted({event.visitor for event in of_site if event.visitor is not None})[:10]
        asked: list[tuple[str | None, str | None, int | None]] = [
            (label, None, None) for label in sorted(labelled)[:25]
        ]
        asked += [(None, action, None) for action in ("login", "checkout", "search")]
        asked += [(labelled.most_common(1)[0][0], "login", None)]
        asked += [(None, None, visitor) for visitor in visitors]
        asked += [(labelled.most_common(1)[0][0], None, visitors[0])]
        for label, action, visitor in asked:
            found: list[str] = []
            before: int | None = None
            while True:
                page = await decisions.list_decisions(
                    SiteNumber(f"st_{number}", number),
                    WHOLE_DAY,
                    DecisionFilters(label=label, action=action, visitor=visitor),
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
                if (label is None or label in event.labels)
                and action in {None, event.action}
                and visitor in {None, event.visitor}
            ]
            assert found == expected
        await assert_visitors(place, number, of_site)


async def assert_visitors(place: EventPlace, number: int, newest_first: list[Event]) -> None:
    """Look at the visitors of a site one by one and page by page, and count them."""
    days = TrafficDays(place.stats, place.segments)
    store = SqlVisitors(place.stats, days, place.words)
    requests = Counter(event.visitor for event in newest_first if event.kind is DecisionKind.REQUEST)
    last = dict.fromkeys(event.visitor for event in newest_first if event.visitor is not None)
    for visitor in list(last)[:10]:
        summary = await store.find_visitor(number, WHOLE_DAY, visitor)
        assert summary is not None
        assert summary.requests == requests[visitor]
    listed: list[str] = []
    before: int | None = None
    while True:
        page = await store.list_visitors(number, WHOLE_DAY, before=before, limit=7)
        listed += [each.id for each in page.items]
        before = page.more_before
        if before is None:
            break
    assert listed == [write_visitor(visitor) for visitor in last]
    assert await SqlCounts(place.stats, days).count_sources(number, WHOLE_DAY) == len(last)


async def test_an_open_day_is_posted_in_part_and_walked_through_for_the_rest(place: EventPlace) -> None:
    made = many_events(400)
    await write(place, made)

    mark = await posted_before(place, 1)
    assert made[0].id < mark < made[-1].id
    found = [row for row in await posted(place) if row[0] == 1]
    assert found == postings_of([event for event in made if event.site == 1 and event.id < mark])
    await assert_found(place, made)


async def test_a_visitor_is_looked_up_in_the_index_and_only_later_events_are_scanned(place: EventPlace) -> None:
    await write(place, many_events(3))
    for columns, scanned in (("visitor", "event_row"), ("id", "event_row"), ("id, kind", "event_row")):
        plan = await place.segments.session(DAY).all(
            f"EXPLAIN QUERY PLAN SELECT * FROM {place.segments.met(columns, 'visitor IN ($4, $5)')}", *range(1, 6)
        )
        searches = [row[3] for row in plan if row[3].startswith("SEARCH") and "posting_mark" not in row[3]]
        assert any("visitor_index" in each and "site=? AND visitor=? AND id>? AND id<?" in each for each in searches)
        assert any(scanned in each and "site=? AND id>? AND id<?" in each for each in searches)


async def test_the_visitors_of_earlier_builds_are_posted(place: EventPlace) -> None:
    made = many_events(300)
    await write(place, made)
    await place.segments.index(DAY)
    expected = await posted(place)

    async def undo(transaction: Any) -> None:
        await transaction.script("""
            CREATE TABLE event_pattern (pattern, id);
            CREATE TABLE visitor_run (site, run, visitor, id);
            INSERT INTO visitor_run SELECT site, 0, visitor, id FROM visitor_index;
            CREATE VIEW event_visitor AS SELECT * FROM visitor_run;
            DELETE FROM visitor_index;
            DROP VIEW event_by_visitor;
            DROP VIEW event_solving;
            DELETE FROM schema_migration WHERE number = 3""")

    await place.segments.write(DAY, undo)
    await place.segments.migrate(FixedClock(NOON_MS))

    assert await posted(place) == expected == postings_of(made)
    await assert_found(place, made)


async def test_events_out_of_order_are_found_before_and_after_the_day_is_closed(place: EventPlace) -> None:
    made = many_events(300)
    random.Random(3).shuffle(made)
    await write(place, made[:250])
    await assert_found(place, made[:250])
    await place.events.close_days(now_ms=CLOSED_MS)

    await write(place, made[250:])

    assert await posted(place) == postings_of(made)
    assert await place.events.close_days(now_ms=CLOSED_MS) == [DAY]
    await assert_found(place, made)


async def test_a_site_that_comes_after_the_day_was_closed_is_posted_at_once(place: EventPlace) -> None:
    await write(place, [new_event(number) for number in range(3)])
    await place.events.close_days(now_ms=CLOSED_MS)

    late = new_event(9, site=7, time_ms=NOON_MS + HOUR_MS)
    await write(place, [late])

    assert [row for row in await posted(place) if row[0] == 7] == postings_of([late])


async def test_a_discarded_site_has_no_postings_and_no_mark(place: EventPlace) -> None:
    made = many_events(600)
    await write(place, made)
    assert 1 in {site for site, *_ in await posted(place)}

    await place.events.forget_site(1)
    await write(place, [new_event(number, time_ms=NOON_MS) for number in range(3)])

    assert 1 not in {site for site, *_ in await posted(place)}
    assert await posted_before(place, 1) == 0
    assert await place.segments.session(DAY).all("SELECT count(*) FROM dimension_pack WHERE site = 1") == [(1,)]


async def test_indexing_what_is_indexed_or_gone_changes_nothing(place: EventPlace) -> None:
    made = many_events(100)
    await write(place, made)
    for _ in range(2):
        await place.segments.index(DAY)
        assert await posted(place) == postings_of(made)

    await place.segments.drop(DAY)
    await place.segments.index(DAY)

    assert await place.segments.days() == []


def test_no_batch_waits_for_many_sites_at_once() -> None:
    unposted, every_site = postings.Postings(), dict.fromkeys(range(1, 21), postings.TOGETHER // 20)
    taken: Counter[int] = Counter()
    for _ in range(60):
        sites = unposted.take(DAY, every_site)
        assert len(sites) <= 2
        taken.update(sites)

    assert set(taken) == set(every_site)


async def test_counts_of_many_batches_are_put_together(place: EventPlace) -> None:
    made = many_events(MERGE_AFTER * 4, span_ms=HOUR_MS)
    expected: Counter[tuple[int, ...]] = Counter()
    await write(place, made, 4)
    for site, _, counts in EventEncoder(place.words).encode(made).dimensions:
        expected.update({(site, *split_key(key)): events for key, events in counts.items()})

    session = place.segments.session(DAY)
    assert await session.one("SELECT max(n) FROM (SELECT count(*) AS n FROM dimension_pack GROUP BY site, hour)") == (
        1,
    )
    rows = await session.all("SELECT site, dimension, value, events FROM dimension_hour")
    assert {tuple(row[:3]): row[3] for row in rows} == dict(expected)
    assert len(rows) > MERGED_TOGETHER


async def test_a_challenge_with_an_outcome_is_found_by_it(place: EventPlace) -> None:
    """The hours count challenges by their stage only, so an hour may have a match although no request was blocked."""
    checks = [
        new_event(1, kind=DecisionKind.CHALLENGE, stage=ChallengeStage.FAILED, outcome=Outcome.BLOCK),
        new_event(2, kind=DecisionKind.CHALLENGE, stage=ChallengeStage.PASSED, would=Outcome.DROP),
    ]
    await place.events.write([new_event(0), *checks])
    labels = SqlStore(place.stats).read.decision_labels
    decisions = SqlDecisions(place.stats, TrafficDays(place.stats, place.segments), place.words, labels)

    blocked, dropped = [
        await decisions.list_decisions(SiteNumber("st_1", 1), WHOLE_DAY, asked, before=None, limit=10)
        for asked in (DecisionFilters(outcome=Outcome.BLOCK), DecisionFilters(would=Outcome.DROP))
    ]

    assert [decision.id for found in (blocked, dropped) for decision in found.items] == [
        write_id(event.id) for event in checks
    ]
