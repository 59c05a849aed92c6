"""Values, solve times and counters over ranges, on both databases, against the events themselves."""

from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given

from agentgate.events.queries.ports import CounterRow
from agentgate.events.records import Count, CounterName, Event
from agentgate.lib.enums import ChallengeStage, DecisionKind, Outcome
from agentgate.lib.settings.schema import Settings
from tests.store.traffic_scene import SITE, Traffic, closed_days, histories, opened_traffic, property_test, spans

pytestmark = pytest.mark.anyio


@pytest.fixture
async def traffic(settings: Settings) -> AsyncIterator[Traffic]:
    async with opened_traffic(settings) as traffic:
        yield traffic


def single(events: list[Event], name: str) -> dict[Any, int]:
    return dict(Counter(getattr(event, name) for event in events if getattr(event, name) is not None))


def several(events: list[Event], name: str) -> dict[str, int]:
    return dict(Counter(value for event in events for value in getattr(event, name)))


@property_test
@given(history=histories, closed=closed_days, ends=spans())
async def test_values_are_counted_exactly(
    traffic: Traffic, history: list[Any], closed: int, ends: tuple[int, int]
) -> None:
    played = await traffic.play(history, closed)
    span = played.span(ends)
    events = played.within(span)

    found = await traffic.stores.traffic.values.count_values(SITE, span)

    requests = [event for event in events if event.kind is DecisionKind.REQUEST]
    assert dict(found.actions) == single(requests, "action")
    assert dict(found.routes) == single(requests, "route")
    assert dict(found.agents) == single(requests, "agent")
    assert dict(found.solve_types) == single(events, "solve_type")
    assert dict(found.reasons) == several(requests, "reasons")
    assert dict(found.labels) == several(requests, "labels")
    refused = [event for event in requests if event.outcome is not Outcome.ALLOW]
    would = [event for event in requests if event.would not in {None, Outcome.ALLOW}]
    for causes, decided in ((found.refused, refused), (found.would, would)):
        assert dict(causes.rules) == single(decided, "rule")
        assert dict(causes.reasons) == several([event for event in decided if event.rule is None], "reasons")


@property_test
@given(history=histories, closed=closed_days, ends=spans())
async def test_solve_times_are_the_ones_of_the_newest_passed_challenges(
    traffic: Traffic, history: list[Any], closed: int, ends: tuple[int, int]
) -> None:
    played = await traffic.play(history, closed)
    span = played.span(ends)
    passed = [event for event in played.within(span) if event.stage is ChallengeStage.PASSED]

    found = await traffic.stores.traffic.values.list_solve_times_ms(SITE, span, 3)

    assert found == [event.solve_ms for event in passed if event.solve_ms is not None][:3]


async def test_counters_of_whole_hours_are_listed_for_their_site_only(traffic: Traffic) -> None:
    counts = [
        Count(SITE, 100, CounterName.SITEVERIFY_SUCCESS, "", 1),
        Count(SITE, 101, CounterName.SITEVERIFY_FAILURE, "token_used", 2),
        Count(SITE, 101, CounterName.SITEVERIFY_FAILURE, "token_used", 3),
        Count(SITE, 102, CounterName.TOKENS_ISSUED, "", 4),
        Count(2, 101, CounterName.TOKENS_ISSUED, "", 9),
    ]
    await traffic.stores.events.add_counts(counts)
    values = traffic.stores.traffic.values

    assert await values.list_counters(SITE, first_hour=101, last_hour=102) == [
        CounterRow(101, "siteverify_failure", "token_used", 5),
        CounterRow(102, "tokens_issued", "", 4),
    ]
    assert await values.find_first_counter_hour(SITE) == 100
    assert await values.find_first_counter_hour(3) is None
