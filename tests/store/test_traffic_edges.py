"""Ends of a range within an hour, on both databases, while that hour continues."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from agentgate.events.decision_ids import first_id
from agentgate.events.records import Event
from agentgate.events.time_ranges import TimeRange
from agentgate.lib.clock import DAY_MS, HOUR_MS
from agentgate.lib.enums import DecisionKind, Mode, Outcome
from agentgate.lib.settings.schema import Settings
from tests.store.traffic_scene import FIRST_DAY, SITE, Traffic, opened_traffic

pytestmark = pytest.mark.anyio

MINUTE_MS = 60_000
HOUR_START_MS = FIRST_DAY * DAY_MS + 9 * HOUR_MS
BATCHES = 40


@pytest.fixture
async def traffic(settings: Settings) -> AsyncIterator[Traffic]:
    async with opened_traffic(settings) as traffic:
        yield traffic


def request(time_ms: int, place: int) -> Event:
    return Event(
        id=first_id(time_ms) + place,
        site=SITE,
        visitor=1,
        kind=DecisionKind.REQUEST,
        mode=Mode.ENFORCE,
        outcome=Outcome.ALLOW,
        method="GET",
        route="/login",
        action="login",
        status=200,
        duration_us=5,
        reasons=("policy",),
        labels=("net.tor",),
    )


async def test_events_that_come_after_the_range_while_it_is_counted_change_nothing(traffic: Traffic) -> None:
    # Long enough that the hour's counters are taken, less what comes after the range.
    span = TimeRange(HOUR_START_MS, HOUR_START_MS + 40 * MINUTE_MS)
    await traffic.stores.events.write([request(HOUR_START_MS + 10 * MINUTE_MS, place) for place in range(7)])
    reads = traffic.stores.traffic
    done = asyncio.Event()
    counted: set[tuple[int, int, int, int]] = set()

    async def write() -> None:
        for batch in range(BATCHES):
            late_ms = HOUR_START_MS + 50 * MINUTE_MS + batch
            await traffic.stores.events.write([request(late_ms, place) for place in range(3)])
        done.set()

    async def count() -> None:
        while not done.is_set():
            hours, values = await asyncio.gather(
                reads.counts.list_hours(SITE, span), reads.values.count_values(SITE, span)
            )
            requests = sum(each.requests for each in hours.values())
            counted.add((requests, values.labels["net.tor"], values.reasons["policy"], values.actions["login"]))

    await asyncio.gather(write(), count())

    assert counted == {(7, 7, 7, 7)}
    whole = await reads.counts.list_hours(SITE, TimeRange(HOUR_START_MS, HOUR_START_MS + HOUR_MS))
    assert sum(each.requests for each in whole.values()) == 7 + 3 * BATCHES


async def test_an_hour_of_a_day_that_is_gone_has_nothing(traffic: Traffic) -> None:
    span = TimeRange(HOUR_START_MS, HOUR_START_MS + 40 * MINUTE_MS)

    assert sum(each.requests for each in (await traffic.stores.traffic.counts.list_hours(SITE, span)).values()) == 0
    assert not (await traffic.stores.traffic.values.count_values(SITE, span)).labels
