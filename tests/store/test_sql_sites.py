"""Sites in SQL, on both databases: one key, one number, one account each."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from agentgate.lib.enums import Mode, WidgetMode
from agentgate.lib.moment import Moment
from agentgate.server.stores.unit_of_work import SqlStores
from agentgate.sites.records import CredentialCounts, SiteAction, SiteRoute
from agentgate.sites.repository import SiteFilter
from tests.store.sql_objects import (
    NOW_MS,
    Opened,
    add_two_tenants,
    digest_of,
    migrated,
    new_account,
    new_credential,
    new_site,
)

pytestmark = pytest.mark.anyio


@pytest.fixture
async def opened(backend: Any) -> AsyncIterator[Opened]:
    async with migrated(backend) as opened:
        yield opened


async def test_a_site_is_read_back_as_it_was_kept(opened: Opened) -> None:
    await opened.store.change(lambda stores: stores.accounts.add_account(new_account()))
    site = new_site(
        allowed_origins=["https://b.example", "https://a.example"],
        mode=Mode.ENFORCE,
        widget_mode=WidgetMode.MANAGED,
        actions={"b": SiteAction(browser_required=False), "a": SiteAction(browser_required=True, clearance=True)},
        routes=[SiteRoute(method="*", action="a", path_prefix="/"), SiteRoute(method="POST", action="b", path="/b")],
        updated_at=Moment(NOW_MS + 5),
        form_method_override=False,
        clearance_without_script=True,
    )

    assert await opened.store.change(lambda stores: stores.sites.add_site(site))

    found = await opened.store.read.sites.find_site(site.site_key, account_id=None)
    assert found == site
    assert list(found.actions) == ["b", "a"]
    assert found.routes[0].path is UNSET


async def test_another_account_finds_nothing(opened: Opened) -> None:
    await add_two_tenants(opened.store)
    sites = opened.store.read.sites

    assert (await sites.find_site("site_key_st_1", account_id="acc_1")).id == "st_1"
    assert (await sites.find_site("site_key_st_1", account_id=None)).id == "st_1"
    for foreign in ("acc_2", "acc_3", "", "ACC_1"):
        assert await sites.find_site("site_key_st_1", account_id=foreign) is None


@pytest.mark.parametrize("key", ["site_key_st_3", "SITE_KEY_ST_1", "site_key_st_", "%", "", "st_1", "' OR 1=1 --"])
async def test_an_unknown_key_finds_nothing(opened: Opened, key: str) -> None:
    await add_two_tenants(opened.store)

    assert await opened.store.read.sites.find_site(key, account_id=None) is None


async def test_a_list_holds_the_accounts_own_sites_only(opened: Opened) -> None:
    await add_two_tenants(opened.store)
    sites = opened.store.read.sites

    async def listed(account_id: str | None) -> list[str]:
        return [each.site.id for each in await sites.list_sites(SiteFilter(account_id=account_id), now_ms=NOW_MS)]

    assert await listed("acc_1") == ["st_1"]
    assert await listed("acc_2") == ["st_2"]
    assert await listed("acc_3") == []
    assert await listed(None) == ["st_2", "st_1"]


async def test_the_newest_comes_first_and_the_later_of_two_made_at_once(opened: Opened) -> None:
    await add_two_tenants(opened.store)
    older = new_site("st_0", "acc_1", created_at=Moment(NOW_MS - 1))
    await opened.store.change(lambda stores: stores.sites.add_site(older))

    found = await opened.store.read.sites.list_sites(SiteFilter(), now_ms=NOW_MS)

    assert [each.site.id for each in found] == ["st_2", "st_1", "st_0"]


async def test_a_key_that_exists_is_not_added_again_by_anyone(opened: Opened) -> None:
    await add_two_tenants(opened.store)
    twin = new_site("st_9", "acc_2", site_key="site_key_st_1", name="Twin")

    assert not await opened.store.change(lambda stores: stores.sites.add_site(twin))

    assert (await opened.store.read.sites.find_site("site_key_st_1", account_id=None)).id == "st_1"
    assert await opened.store.read.sites.find_listed("st_9", now_ms=NOW_MS) is None


async def test_of_many_who_want_one_key_at_once_one_has_it(opened: Opened) -> None:
    await opened.store.change(lambda stores: stores.accounts.add_account(new_account()))
    rivals = [new_site(f"st_{number}", site_key="site_wanted") for number in range(8)]

    added = await asyncio.gather(
        *(opened.store.change(lambda stores, site=site: stores.sites.add_site(site)) for site in rivals)
    )

    assert sorted(added) == [False] * 7 + [True]
    assert len(await opened.store.read.sites.list_sites(SiteFilter(), now_ms=NOW_MS)) == 1


async def test_numbers_are_given_one_after_the_other_also_at_once(opened: Opened) -> None:
    await opened.store.change(lambda stores: stores.accounts.add_account(new_account()))
    sites = [new_site(f"st_{number}") for number in range(8)]

    await asyncio.gather(
        *(opened.store.change(lambda stores, site=site: stores.sites.add_site(site)) for site in sites)
    )

    assert await opened.database.all("SELECT number FROM site ORDER BY number") == [(n,) for n in range(1, 9)]


async def test_credentials_are_counted_per_site_and_only_live_ones_as_active(opened: Opened) -> None:
    await add_two_tenants(opened.store)
    kept = [
        new_credential(1),
        new_credential(2, revoked_at=Moment(NOW_MS)),
        new_credential(3, expires_at=Moment(NOW_MS)),
        new_credential(4, expires_at=Moment(NOW_MS + 1)),
        new_credential(5, site_id="st_2"),
    ]

    async def work(stores: SqlStores) -> None:
        for number, credential in enumerate(kept):
            await stores.credentials.add_credential(credential, digest_of(number))
            await stores.credentials.save_end(credential)

    await opened.store.change(work)

    first = await opened.store.read.sites.find_listed("st_1", now_ms=NOW_MS)
    second = await opened.store.read.sites.find_listed("st_2", now_ms=NOW_MS)
    assert (first.credentials, second.credentials) == (
        CredentialCounts(active=2, total=4),
        CredentialCounts(active=1, total=1),
    )
    later = await opened.store.read.sites.find_listed("st_1", now_ms=NOW_MS + 1)
    assert later.credentials.active == 1


async def test_one_site_is_shown_with_its_customers_name_and_an_unknown_one_not_at_all(opened: Opened) -> None:
    await opened.store.change(lambda stores: stores.accounts.add_account(new_account(name="Åcme")))
    await opened.store.change(lambda stores: stores.sites.add_site(new_site()))

    found = await opened.store.read.sites.find_listed("st_1", now_ms=NOW_MS)

    assert (found.site, found.customer_name) == (new_site(), "Åcme")
    for unknown in ("st_2", "", "site_key_st_1"):
        assert await opened.store.read.sites.find_listed(unknown, now_ms=NOW_MS) is None


async def test_saving_changes_one_site_and_neither_its_key_nor_its_age(opened: Opened) -> None:
    await add_two_tenants(opened.store)
    changed = replace(
        new_site(customer_id="acc_2"),
        name="Store",
        mode=Mode.ENFORCE,
        allowed_origins=[],
        routes=[],
        site_key="site_other",
        created_at=Moment(1),
        updated_at=Moment(NOW_MS + 9),
    )

    await opened.store.change(lambda stores: stores.sites.save_site(changed))

    found = await opened.store.read.sites.find_site("site_key_st_1", account_id="acc_2")
    assert found == replace(changed, site_key="site_key_st_1", created_at=Moment(NOW_MS))
    untouched = new_site("st_2", "acc_2")
    assert await opened.store.read.sites.find_site("site_key_st_2", account_id="acc_2") == untouched


async def test_saving_a_site_that_is_not_there_adds_none(opened: Opened) -> None:
    await add_two_tenants(opened.store)

    await opened.store.change(lambda stores: stores.sites.save_site(new_site("st_3")))

    assert len(await opened.store.read.sites.list_sites(SiteFilter(), now_ms=NOW_MS)) == 2


async def test_a_lock_outside_a_unit_of_work_fails_loudly(opened: Opened) -> None:
    with pytest.raises(AttributeError):
        await opened.store.read.sites.lock_site("st_1")
