"""The audit trail in SQL, on both databases: a site's own entries, newest first, with all their fields."""

import itertools
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agentgate.lib.enums import ActorKind
from agentgate.lib.moment import Moment
from agentgate.people.audit.records import AuditEntry
from agentgate.server.stores.unit_of_work import SqlStores
from tests.store.sql_objects import NOW_MS, Opened, migrated

pytestmark = pytest.mark.anyio


@pytest.fixture
async def opened(backend: Any) -> AsyncIterator[Opened]:
    async with migrated(backend) as opened:
        yield opened


def entry(number: int, site_id: str | None = "st_1", **changes) -> AuditEntry:
    usual = {
        "time": Moment(NOW_MS + number),
        "actor": "Olga",
        "actor_kind": ActorKind.OPERATOR,
        "action": "site.update",
        "account_id": "acc_1",
        "site_id": site_id,
        "target": "site_shop",
        "detail": {"number": number},
        "address": "192.0.2.1",
    }
    return AuditEntry(**usual | changes)


async def add(opened: Opened, *entries: AuditEntry) -> None:
    for each in entries:
        await opened.store.change(lambda stores, each=each: stores.audit.add_entry(each))


async def test_an_entry_tells_who_did_what_when(opened: Opened) -> None:
    detail = {"name": {"from": None, "to": "Åcme \u2028"}, "list": [1, 2.5, True], "deep": {"a": {"b": []}}}
    await add(opened, entry(1, detail=detail, actor="Olga ' --", action="site.create"))

    (found,) = await opened.store.read.audit.list_site_changes("st_1", 10)

    assert (found.time, found.actor, found.kind, found.site_id, found.detail) == (
        Moment(NOW_MS + 1),
        "Olga ' --",
        "site.create",
        "st_1",
        detail,
    )


async def test_another_sites_trail_shows_nothing_of_it(opened: Opened) -> None:
    await add(opened, entry(1, "st_1"), entry(2, "st_2"), entry(3, None))

    async def numbers(site_id: str) -> list[int]:
        return [each.detail["number"] for each in await opened.store.read.audit.list_site_changes(site_id, 10)]

    assert await numbers("st_1") == [1]
    assert await numbers("st_2") == [2]
    for unknown in ("st_3", "", "st_", "%", "None"):
        assert await numbers(unknown) == []


async def test_the_newest_come_first_and_as_many_as_asked(opened: Opened) -> None:
    # Two of them at the same moment, and one with a clock that went back.
    await add(opened, entry(5), entry(5, detail={"number": 6}), entry(1), entry(7, "st_2"), entry(8))

    found = await opened.store.read.audit.list_site_changes("st_1", 3)

    assert [each.detail["number"] for each in found] == [8, 1, 6]


async def test_an_entry_of_a_unit_that_failed_is_not_kept(opened: Opened) -> None:
    async def work(stores: SqlStores) -> None:
        await stores.audit.add_entry(entry(1))
        raise LookupError("after all")

    with pytest.raises(LookupError):
        await opened.store.change(work)

    assert await opened.store.read.audit.list_site_changes("st_1", 10) == []


async def test_ids_do_not_show_how_much_others_do_and_lead_on_through_the_pages(opened: Opened) -> None:
    for number in range(6):
        await add(opened, entry(number, account_id="acc_1"), entry(number, account_id="acc_2"))
    list_events = opened.store.read.audit.list_account_events

    whole = await list_events("acc_1", limit=10)
    first = await list_events("acc_1", limit=2)
    rest = await list_events("acc_1", before=first[-1].id, limit=10)

    assert [each.detail["number"] for each in whole] == [5, 4, 3, 2, 1, 0]
    assert first + rest == whole
    ids = [each.id for each in whole]
    assert all(2**40 <= shown < 2**53 for shown in ids)
    assert len({abs(one - other) for one, other in itertools.pairwise(ids)}) == 5
    assert min(abs(one - other) for one, other in itertools.pairwise(ids)) > 1_000
    # A position of another account is none here.
    assert await list_events("acc_2", before=ids[0], limit=10) == []


async def test_entries_from_before_keep_their_ids_and_their_place(opened: Opened) -> None:
    await add(opened, entry(1), entry(2), entry(3))
    await opened.database.run("UPDATE audit_entry SET public_id = NULL WHERE time_ms < $1", NOW_MS + 3)

    events = await opened.store.read.audit.list_account_events("acc_1", limit=10)
    older = await opened.store.read.audit.list_account_events("acc_1", before=events[0].id, limit=1)
    oldest = await opened.store.read.audit.list_account_events("acc_1", before=older[0].id, limit=1)

    assert [each.id for each in events[1:]] == [2, 1]
    assert [older[0].detail["number"], oldest[0].detail["number"]] == [2, 1]
    changes = await opened.store.read.audit.list_site_changes("st_1", 10)
    assert [change.id for change in changes] == [each.id for each in events]
