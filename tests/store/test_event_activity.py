"""Sites' activity from events as they are written: today from the open day, the last event from wherever it is."""

from collections.abc import AsyncIterator

import pytest

from agentgate.lib.clock import DAY_MS, MINUTE_MS, FixedClock
from agentgate.lib.enums import Outcome
from agentgate.lib.moment import Moment
from agentgate.lib.settings.schema import Settings
from agentgate.server.stores.open import Stores, open_stores
from agentgate.sites.repository import SiteActivity
from agentgate.storage.migrate import apply
from tests.store.sql_objects import add_two_tenants
from tests.support.events import DAY, NOON_MS, new_event

pytestmark = pytest.mark.anyio


@pytest.fixture
async def stores(settings: Settings) -> AsyncIterator[Stores]:
    """Stores as the service opens them, with two sites, numbers 1 and 2."""
    clock = FixedClock(NOON_MS)
    stores = await open_stores(settings, clock)
    try:
        for name, database in stores.databases.items():
            await apply(database, name, clock=clock)
        await stores.segments.migrate(clock)
        await add_two_tenants(stores.store)
        yield stores
    finally:
        await stores.close()


async def activity(stores: Stores, now_ms: int = NOON_MS) -> SiteActivity | None:
    return (await stores.activity.list_activity(["st_1"], now_ms=now_ms)).get("st_1")


def counts(allow: int = 0, block: int = 0, monitored: int = 0) -> dict[str, int]:
    return {"allow": allow, "challenge": 0, "block": block, "drop": 0, "monitored": monitored}


async def test_todays_events_are_counted_at_once(stores: Stores) -> None:
    await stores.events.write(
        [new_event(1), new_event(2, outcome=Outcome.BLOCK), new_event(3, would=Outcome.BLOCK), new_event(4, site=2)]
    )

    assert await activity(stores) == SiteActivity(today=counts(2, 1, 1), last_event_at=Moment(NOON_MS))


async def test_yesterdays_events_only_tell_when_the_last_one_was(stores: Stores) -> None:
    await stores.events.write([new_event(1)])
    tomorrow_ms = NOON_MS + DAY_MS

    before = await activity(stores, tomorrow_ms)
    await stores.events.close_days(now_ms=(DAY + 1) * DAY_MS + 6 * MINUTE_MS)

    assert before == await activity(stores, tomorrow_ms)
    assert before == SiteActivity(today=counts(), last_event_at=Moment(NOON_MS))


async def test_a_closed_day_is_not_counted_twice_on_the_day_itself(stores: Stores) -> None:
    yesterday_ms = NOON_MS - DAY_MS
    await stores.events.write([new_event(1, time_ms=yesterday_ms)])
    await stores.events.close_days(now_ms=NOON_MS)
    await stores.events.write([new_event(2)])

    assert await activity(stores) == SiteActivity(today=counts(1), last_event_at=Moment(NOON_MS))


async def test_the_last_event_is_remembered_when_events_are_discarded(stores: Stores) -> None:
    await stores.events.write([new_event(1)])
    await stores.events.forget(events_before_day=DAY + 31, metrics_before_day=DAY)

    assert await activity(stores, NOON_MS + 40 * DAY_MS) == SiteActivity(today=counts(), last_event_at=Moment(NOON_MS))


async def test_forgetting_an_account_discards_the_events_of_its_sites(stores: Stores) -> None:
    await stores.events.write([new_event(1), new_event(2, site=2)])

    await stores.activity.forget_sites("acc_1")

    assert await activity(stores) is None
    assert set(await stores.activity.list_activity(["st_2"], now_ms=NOON_MS)) == {"st_2"}
