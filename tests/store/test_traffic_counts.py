"""Counts over ranges, on both databases: what counters and roll-ups say is what the events say."""

from collections import defaultdict
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given

from agentgate.events.decision_ids import id_day, id_time_ms
from agentgate.events.queries.ports import Counts
from agentgate.lib.clock import DAY_MS, HOUR_MS
from agentgate.lib.enums import DecisionKind
from agentgate.lib.settings.schema import Settings
from tests.store.traffic_scene import (
    DAYS,
    SITE,
    Traffic,
    closed_days,
    counts_of,
    histories,
    opened_traffic,
    property_test,
    spans,
)

pytestmark = pytest.mark.anyio


@pytest.fixture
async def traffic(settings: Settings) -> AsyncIterator[Traffic]:
    async with opened_traffic(settings) as traffic:
        yield traffic


def by_hour(events: list[Any]) -> dict[int, Counts]:
    hours = defaultdict(list)
    for event in events:
        hours[id_time_ms(event.id) // HOUR_MS].append(event)
    return {hour: counts_of(found) for hour, found in hours.items()}


def without_empty(counts: dict[int, Counts]) -> dict[int, Counts]:
    return {key: value for key, value in counts.items() if value != Counts()}


@property_test
@given(history=histories, closed=closed_days, ends=spans())
async def test_hours_hold_exactly_what_the_range_holds(
    traffic: Traffic, history: list[Any], closed: int, ends: tuple[int, int]
) -> None:
    played = await traffic.play(history, closed)
    span = played.span(ends)

    found = await traffic.stores.traffic.counts.list_hours(SITE, span)

    assert without_empty(found) == by_hour(played.within(span))


@property_test
@given(history=histories, closed=closed_days)
async def test_days_from_roll_ups_equal_the_sum_of_their_events(
    traffic: Traffic, history: list[Any], closed: int
) -> None:
    played = await traffic.play(history, closed)
    days = defaultdict(list)
    for event in played.within(played.span((0, DAYS * DAY_MS))):
        days[id_day(event.id)].append(event)

    found = await traffic.stores.traffic.counts.list_days(SITE, played.day, played.day + DAYS - 1)
    hours = await traffic.stores.traffic.counts.list_hours(SITE, played.span((0, DAYS * DAY_MS)))

    assert without_empty(found) == {day: counts_of(events) for day, events in days.items()}
    assert sum(each.requests for each in hours.values()) == sum(each.requests for each in found.values())


@property_test
@given(history=histories, closed=closed_days, ends=spans())
async def test_different_visitors_are_counted_exactly(
    traffic: Traffic, history: list[Any], closed: int, ends: tuple[int, int]
) -> None:
    played = await traffic.play(history, closed)
    span = played.span(ends)
    days = span.from_ms // DAY_MS, (span.to_ms - 1) // DAY_MS
    whole = played.span(((days[0] - played.day) * DAY_MS, (days[1] + 1 - played.day) * DAY_MS))

    exact = await traffic.stores.traffic.counts.count_sources(SITE, span)
    estimate = await traffic.stores.traffic.counts.estimate_sources(SITE, *days)

    assert exact == len({event.visitor for event in played.within(span)} - {None})
    assert estimate == len({event.visitor for event in played.within(whole)} - {None})


@property_test
@given(history=histories, closed=closed_days, ends=spans())
async def test_durations_are_the_ones_of_the_newest_requests(
    traffic: Traffic, history: list[Any], closed: int, ends: tuple[int, int]
) -> None:
    played = await traffic.play(history, closed)
    span = played.span(ends)
    requests = [event for event in played.within(span) if event.kind is DecisionKind.REQUEST]

    found = await traffic.stores.traffic.counts.list_durations_us(SITE, span, 7)

    assert found == [event.duration_us for event in requests[:7]]
