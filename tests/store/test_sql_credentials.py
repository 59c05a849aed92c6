"""Credentials in SQL, on both databases: a site sees its own, and an end that was kept is never undone."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace

from agentgate.http.call import Actor, SiteCall
from agentgate.http.request import Request
from agentgate.lib.database import Conflict
from agentgate.lib.enums import ActorKind
from agentgate.lib.moment import Moment
from agentgate.people.accounts.records import Limits
from agentgate.server.stores.unit_of_work import SqlStores
from agentgate.sites.credentials.endpoints import revoke
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


async def add(opened: Opened, *numbers: int, site_id: str = "st_1") -> None:
    async def work(stores: SqlStores) -> None:
        for number in numbers:
            await stores.credentials.add_credential(new_credential(number, site_id), digest_of(number))

    await opened.store.change(work)


async def test_a_credential_is_read_back_without_its_digest(opened: Opened) -> None:
    await add_two_tenants(opened.store)
    await add(opened, 1)

    found = await opened.store.read.credentials.find_credential("st_1", new_credential(1).id)

    assert found == new_credential(1)
    assert digest_of(1).hex() not in repr(found)


async def test_another_sites_credential_is_not_found(opened: Opened) -> None:
    await add_two_tenants(opened.store)
    await add(opened, 1)
    credential_id = new_credential(1).id

    for site_id, wanted in (
        ("st_2", credential_id),
        ("", credential_id),
        ("st_1", "cred_x"),
        ("st_1", "%"),
        ("st_1", ""),
    ):
        assert await opened.store.read.credentials.find_credential(site_id, wanted) is None


async def test_a_list_holds_the_sites_own_newest_first_and_ended_ones_too(opened: Opened) -> None:
    await add_two_tenants(opened.store)
    await add(opened, 1, 3, 2)
    await add(opened, 4, site_id="st_2")
    ended = replace(new_credential(3), revoked_at=Moment(NOW_MS))
    await opened.store.change(lambda stores: stores.credentials.save_end(ended))

    found = await opened.store.read.credentials.list_credentials("st_1")

    assert found == [ended, new_credential(2), new_credential(1)]
    assert await opened.store.read.credentials.list_credentials("st_3") == []


async def test_an_end_is_kept_for_the_named_sites_credential_only(opened: Opened) -> None:
    await add_two_tenants(opened.store)
    await add(opened, 1, 2)
    foreign = replace(new_credential(1, "st_2"), revoked_at=Moment(1))
    own = replace(new_credential(2), expires_at=Moment(5), revoked_at=Moment(6))

    await opened.store.change(lambda stores: stores.credentials.save_end(foreign))
    await opened.store.change(lambda stores: stores.credentials.save_end(own))

    assert await opened.store.read.credentials.list_credentials("st_1") == [own, new_credential(1)]


async def test_a_secret_belongs_to_one_credential_and_an_id_to_one_site(opened: Opened) -> None:
    await add_two_tenants(opened.store)
    await add(opened, 1)

    for number, digest in ((2, digest_of(1)), (1, digest_of(2))):
        with pytest.raises(Conflict):
            await opened.store.change(
                lambda stores, number=number, digest=digest: stores.credentials.add_credential(
                    new_credential(number, "st_2"), digest
                )
            )

    assert await opened.store.read.credentials.list_credentials("st_2") == []


async def test_a_credential_needs_a_site(opened: Opened) -> None:
    with pytest.raises(Conflict):
        await add(opened, 1, site_id="st_9")


async def test_the_limit_matches_the_sites_own_account(opened: Opened) -> None:
    await add_two_tenants(opened.store)
    generous = new_account("acc_3", limits=Limits(credentials_per_site=9))
    await opened.store.change(lambda stores: stores.accounts.add_account(generous))
    await opened.store.change(lambda stores: stores.sites.add_site(new_site("st_3", "acc_3")))

    limits = [await opened.store.read.credentials.live_limit(site_id) for site_id in ("st_1", "st_3", "st_9")]

    assert limits == [3, 9, 0]


def site_call() -> SiteCall:
    request = Request(method="POST", path="/", query_string=b"", headers=[], address="192.0.2.1", secure=False)
    return SiteCall(
        request=request,
        request_id="r",
        now=Moment(NOW_MS + 100),
        params={},
        route="/",
        caller=Actor(kind=ActorKind.OPERATOR, name="operator"),
        site_id="st_1",
        site_key="site_key_st_1",
        account_id="acc_1",
    )


async def test_a_revocation_waits_for_a_rotation_that_has_read_the_credential(opened: Opened) -> None:
    if opened.database.dialect == "sqlite":
        pytest.skip("units of work run one after the other there")
    await add_two_tenants(opened.store)
    await add(opened, 1)
    has_read, may_write = asyncio.Event(), asyncio.Event()

    async def rotate(stores: SqlStores) -> None:
        await stores.credentials.lock_site("st_1")
        old = await stores.credentials.find_credential("st_1", new_credential(1).id)
        has_read.set()
        await may_write.wait()
        await stores.credentials.save_end(replace(old, expires_at=Moment(NOW_MS + 500)))

    rotating = asyncio.create_task(opened.store.change(rotate))
    await has_read.wait()
    revoking = asyncio.create_task(
        opened.store.change(lambda stores: revoke(stores, site_call(), new_credential(1).id))
    )
    done, _ = await asyncio.wait([revoking], timeout=0.3)
    may_write.set()
    await rotating
    await revoking

    assert not done
    (found,) = await opened.store.read.credentials.list_credentials("st_1")
    assert (found.expires_at, found.revoked_at) == (Moment(NOW_MS + 500), Moment(NOW_MS + 100))
