"""Accounts in SQL, on both databases."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from agentgate.lib.database import Conflict
from agentgate.lib.enums import AccountStatus
from agentgate.lib.moment import Moment
from agentgate.people.accounts.records import Limits
from agentgate.server.stores.unit_of_work import SqlStores
from tests.store.sql_objects import Opened, migrated, new_account

pytestmark = pytest.mark.anyio


@pytest.fixture
async def opened(backend: Any) -> AsyncIterator[Opened]:
    async with migrated(backend) as opened:
        yield opened


async def test_an_account_is_read_back_as_it_was_kept(opened: Opened) -> None:
    limits = Limits(sites=1, credentials_per_site=2, members=3, tokens=4, origins_per_site=5)
    kept = new_account("acc_1", name="Åcme ' \" ; --", protected=True, limits=limits, created_at=Moment(5))

    await opened.store.change(lambda stores: stores.accounts.add_account(kept))

    assert await opened.store.read.accounts.find_account("acc_1") == kept


@pytest.mark.parametrize("status", list(AccountStatus))
async def test_every_state_can_be_kept(opened: Opened, status: AccountStatus) -> None:
    kept = new_account(status=status)

    await opened.store.change(lambda stores: stores.accounts.add_account(kept))

    assert (await opened.store.read.accounts.find_account("acc_1")).status == status


@pytest.mark.parametrize("account_id", ["acc_2", "", "ACC_1", "acc_1 ", "acc_", "%", "acc_1' OR '1'='1"])
async def test_another_accounts_id_finds_nothing(opened: Opened, account_id: str) -> None:
    await opened.store.change(lambda stores: stores.accounts.add_account(new_account("acc_1")))

    assert await opened.store.read.accounts.find_account(account_id) is None


async def test_an_id_exists_once(opened: Opened) -> None:
    await opened.store.change(lambda stores: stores.accounts.add_account(new_account(name="First")))

    with pytest.raises(Conflict):
        await opened.store.change(lambda stores: stores.accounts.add_account(new_account(name="Second")))

    assert (await opened.store.read.accounts.find_account("acc_1")).name == "First"


async def test_a_unit_of_work_that_fails_keeps_nothing(opened: Opened) -> None:
    async def work(stores: SqlStores) -> None:
        await stores.accounts.add_account(new_account())
        raise LookupError("after all")

    with pytest.raises(LookupError):
        await opened.store.change(work)

    assert await opened.store.read.accounts.find_account("acc_1") is None
