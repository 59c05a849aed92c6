"""Visitors over ranges, on both databases: consecutive pages list each visitor once, with all their totals."""

from collections import defaultdict
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgate.events.decision_ids import id_time_ms
from agentgate.events.queries.records import VisitorSummary
from agentgate.events.records import Event
from agentgate.events.storage.clickhouse import read_models as clickhouse
from agentgate.events.storage.queries import visitors
from agentgate.events.time_ranges import TimeRange
from agentgate.lib.enums import ChallengeStage, DecisionKind, Outcome
from agentgate.lib.moment import Moment
from agentgate.lib.settings.schema import Settings
from tests.store.traffic_scene import SITE, Traffic, closed_days, histories, opened_traffic, property_test, spans

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at few in one go, so that a few events take many steps."""
    for name, number in (("BATCH", 3), ("WALK", 2), ("SEARCHED_S", 60)):
        monkeypatch.setattr(visitors, name, number)
    for name, number in (("WALK", 2), ("ENOUGH_ROWS", 3)):
        monkeypatch.setattr(clickhouse, name, number)


@pytest.fixture
async def traffic(settings: Settings) -> AsyncIterator[Traffic]:
    async with opened_traffic(settings) as traffic:
        yield traffic


def summary(visitor: int, events: list[Event]) -> VisitorSummary:
    """Return what must be said of a visitor with these events, newest first."""
    requests = [event for event in events if event.kind is DecisionKind.REQUEST]
    return VisitorSummary(
        id=f"{visitor:016x}",
        first_seen=Moment(id_time_ms(events[-1].id)),
        last_seen=Moment(id_time_ms(events[0].id)),
        requests=len(requests),
        outcomes={outcome: sum(event.outcome is outcome for event in requests) for outcome in Outcome},
        monitored=sum(event.would is not None for event in requests),
        challenges=sum(event.stage is ChallengeStage.ISSUED for event in events),
        challenges_passed=sum(event.stage is ChallengeStage.PASSED for event in events),
        actions=sorted({event.action for event in events if event.action}),
        agents=sorted({event.agent for event in events if event.agent}),
    )


def grouped(events: list[Event]) -> list[VisitorSummary]:
    found = defaultdict(list)
    for event in events:
        if event.visitor is not None:
            found[event.visitor].append(event)
    # The events are newest first, so the visitors are in the order of their last events, newest first.
    return [summary(visitor, of_visitor) for visitor, of_visitor in found.items()]


async def all_pages(traffic: Traffic, span: TimeRange, limit: int) -> list[VisitorSummary]:
    found: list[VisitorSummary] = []
    before = None
    while True:
        page = await traffic.stores.traffic.visitors.list_visitors(SITE, span, before=before, limit=limit)
        assert len(page.items) <= limit
        found += page.items
        if page.more_before is None:
            return found
        # A page is short only when it was cut, and then the next begins elsewhere.
        assert page.more_before != before
        assert len(page.items) == limit or visitors.SEARCHED_S == 0
        before = page.more_before


@property_test
@given(history=histories, closed=closed_days, ends=spans(), limit=st.integers(1, 7))
async def test_all_pages_together_equal_grouping_the_events(
    traffic: Traffic, history: list[Any], closed: int, ends: tuple[int, int], limit: int
) -> None:
    played = await traffic.play(history, closed)
    span = played.span(ends)

    assert await all_pages(traffic, span, limit) == grouped(played.within(span))


@property_test
@given(history=histories, closed=closed_days, ends=spans())
async def test_a_search_that_is_cut_continues_where_it_stopped(
    traffic: Traffic,
    monkeypatch: pytest.MonkeyPatch,
    history: list[Any],
    closed: int,
    ends: tuple[int, int],
) -> None:
    monkeypatch.setattr(visitors, "SEARCHED_S", 0)
    played = await traffic.play(history, closed)
    span = played.span(ends)

    assert await all_pages(traffic, span, 3) == grouped(played.within(span))


@property_test
@given(history=histories, closed=closed_days, ends=spans())
async def test_one_visitor_is_found_with_the_same_statistics(
    traffic: Traffic, history: list[Any], closed: int, ends: tuple[int, int]
) -> None:
    played = await traffic.play(history, closed)
    span = played.span(ends)

    for wanted in grouped(played.within(span)):
        assert await traffic.stores.traffic.visitors.find_visitor(SITE, span, int(wanted.id, 16)) == wanted
    assert await traffic.stores.traffic.visitors.find_visitor(SITE, span, 12345) is None
