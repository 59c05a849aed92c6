"""Sites' activity in SQL, on both databases: today's counts from midnight UTC, each site's own."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from agentgate.lib.clock import DAY_MS, HOUR_MS
from agentgate.lib.moment import Moment
from agentgate.sites.repository import SiteActivity
from tests.store.sql_objects import NOW_MS, Opened, add_two_tenants, migrated, new_site

pytestmark = pytest.mark.anyio


@pytest.fixture
async def opened(backend: Any) -> AsyncIterator[Opened]:
    async with migrated(backend) as opened:
        yield opened


NOON = NOW_MS // HOUR_MS
COLUMNS = ("allowed", "challenged", "blocked", "dropped", "would_challenge", "would_block", "would_drop")


async def add(opened: Opened, site: int, hour: int, *counts: int, last_event_ms: int = NOW_MS) -> None:
    await opened.database.run(
        f"""INSERT INTO site_hour (site, hour, {", ".join(COLUMNS)}, last_event_ms)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)""",
        site,
        hour,
        *counts,
        last_event_ms,
    )


def today(*counts: int) -> dict[str, int]:
    return dict(zip(("allow", "challenge", "block", "drop", "monitored"), counts, strict=True))


async def test_a_site_that_was_never_seen_is_omitted(opened: Opened) -> None:
    await add_two_tenants(opened.store)

    assert await opened.activity.list_activity(["st_1", "st_2"], now_ms=NOW_MS) == {}
    assert await opened.activity.list_activity([], now_ms=NOW_MS) == {}


async def test_hours_since_midnight_are_added_up_and_earlier_ones_are_not(opened: Opened) -> None:
    await add_two_tenants(opened.store)
    await add(opened, 1, NOON, 1, 2, 3, 4, 5, 6, 7)
    await add(opened, 1, NOON - 12, 10, 20, 30, 40, 50, 60, 70)
    await add(opened, 1, NOON - 13, 900, 900, 900, 900, 900, 900, 900, last_event_ms=NOW_MS - DAY_MS)

    found = await opened.activity.list_activity(["st_1"], now_ms=NOW_MS)

    assert found == {"st_1": SiteActivity(today=today(11, 22, 33, 44, 198), last_event_at=Moment(NOW_MS))}
    assert all(type(count) is int for count in found["st_1"].today.values())


async def test_a_site_last_seen_yesterday_has_no_counts_but_a_time(opened: Opened) -> None:
    await add_two_tenants(opened.store)
    await add(opened, 1, NOON - 24, 1, 1, 1, 1, 1, 1, 1, last_event_ms=NOW_MS - DAY_MS)

    assert await opened.activity.list_activity(["st_1"], now_ms=NOW_MS) == {
        "st_1": SiteActivity(today=today(0, 0, 0, 0, 0), last_event_at=Moment(NOW_MS - DAY_MS))
    }


async def test_another_sites_counts_are_never_mixed_in(opened: Opened) -> None:
    await add_two_tenants(opened.store)
    await add(opened, 1, NOON, 1, 0, 0, 0, 0, 0, 0)
    await add(opened, 2, NOON, 2, 0, 0, 0, 0, 0, 0)
    await add(opened, 3, NOON, 3, 0, 0, 0, 0, 0, 0)

    async def allowed(*site_ids: str) -> dict[str, int]:
        found = await opened.activity.list_activity(site_ids, now_ms=NOW_MS)
        return {site_id: activity.today["allow"] for site_id, activity in found.items()}

    assert await allowed("st_1") == {"st_1": 1}
    assert await allowed("st_2") == {"st_2": 2}
    assert await allowed("st_1", "st_2", "st_9") == {"st_1": 1, "st_2": 2}
    assert await allowed("st_9") == {}


async def test_a_site_between_two_others_that_was_not_asked_for_is_omitted(opened: Opened) -> None:
    await add_two_tenants(opened.store)
    await opened.store.change(lambda stores: stores.sites.add_site(new_site("st_3", "acc_1")))
    for number in (1, 2, 3):
        await add(opened, number, NOON, number, 0, 0, 0, 0, 0, 0)

    found = await opened.activity.list_activity(["st_1", "st_3"], now_ms=NOW_MS)

    assert set(found) == {"st_1", "st_3"}


async def test_only_the_requested_sites_are_read_in_pages(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    await add_two_tenants(opened.store)
    await opened.store.change(lambda stores: stores.sites.add_site(new_site("st_3", "acc_1")))
    for number in (1, 2, 3):
        await add(opened, number, NOON, number, 0, 0, 0, 0, 0, 0)
    monkeypatch.setattr("agentgate.sites.repository.IDS_AT_ONCE", 1)
    read: list[Any] = []
    read_all = opened.database.all

    async def noted(sql: str, *values: Any) -> list[Any]:
        rows = await read_all(sql, *values)
        if "FROM site " in sql:
            read.append(rows)
        return rows

    monkeypatch.setattr(opened.database, "all", noted)
    found = await opened.activity.list_activity(["st_1", "st_3"], now_ms=NOW_MS)

    assert {site_id: activity.today["allow"] for site_id, activity in found.items()} == {"st_1": 1, "st_3": 3}
    assert read == [[(1, "st_1")], [(3, "st_3")]]
