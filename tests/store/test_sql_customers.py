"""Accounts as operators see them, in SQL."""

from typing import Any

import pytest

from agentgate.lib.enums import AccountRole, AccountStatus, MemberStatus
from agentgate.lib.moment import Moment
from agentgate.server.stores.unit_of_work import SqlStore
from agentgate.sites.customers.records import CustomerFilter
from agentgate.sites.customers.repository import CustomerStore
from tests.store.account_rows import NOW_MS, account, add_accounts, add_member, site, user

pytestmark = pytest.mark.anyio


class CountingSession:
    """Runs the given statements and counts them."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self.statements = 0

    async def all(self, sql: str, *values: Any) -> list[Any]:
        self.statements += 1
        rows: list[Any] = await self._session.all(sql, *values)
        return rows


def wanted(text: str = "", *, status: AccountStatus | None = None, limit: int = 100) -> CustomerFilter:
    return CustomerFilter(status=status, text=text, limit=limit)


async def found(store: SqlStore, text: str = "", **options: Any) -> list[str]:
    return [each.id for each in await store.read.customers.list_customers(wanted(text, **options))]


async def test_a_long_list_is_one_statement(store: SqlStore) -> None:
    await add_accounts(store, *(account(f"acc_{number:02}") for number in range(30)))
    for number in range(30):
        await add_member(store, f"acc_{number:02}", user(f"usr_{number}"), role=AccountRole.OWNER)
    session = CountingSession(store._database)

    customers = await CustomerStore(session).list_customers(wanted("acc_"))  # type: ignore[arg-type]
    accounts, _ = await CustomerStore(session).list_accounts(behind=None, limit=100)

    assert (len(customers), len(accounts), session.statements) == (30, 30, 2)
    assert {each.members for each in customers} == {1}


async def test_equal_times_keep_one_order_so_that_a_limit_cuts_the_same_rows(store: SqlStore) -> None:
    await add_accounts(store, *(account(name) for name in ("b", "c", "a")))
    await add_accounts(store, account("newest", created_at=Moment(NOW_MS + 1)))

    assert await found(store) == ["newest", "c", "b", "a"]
    assert await found(store, limit=2) == ["newest", "c"]


async def test_filters_narrow_before_the_limit_cuts(store: SqlStore) -> None:
    await add_accounts(
        store,
        account("old", name="Wanted", status=AccountStatus.SUSPENDED),
        *(account(f"new{number}", created_at=Moment(NOW_MS + 1)) for number in range(5)),
    )

    assert await found(store, "WANTED", limit=1) == ["old"]
    assert await found(store, status=AccountStatus.SUSPENDED, limit=1) == ["old"]
    assert await found(store, "wanted", status=AccountStatus.DELETED) == []


async def test_a_renamed_account_is_found_by_its_new_name_only(store: SqlStore) -> None:
    await add_accounts(store, account("a", name="Before"))

    await store.change(lambda stores: stores.accounts.save_account(account("a", name="ÄFTER")))

    assert await found(store, "before") == []
    assert await found(store, "äfter") == ["a"]


async def test_an_account_with_several_matching_members_is_listed_once(store: SqlStore) -> None:
    await add_accounts(store, account("acme"), account("globex"))
    for name in ("ann", "anna", "annika"):
        await add_member(store, "acme", user(name))
    await add_member(store, "globex", user("bob"))

    assert await found(store, "ANN") == ["acme"]


async def test_counts_and_the_last_sign_in_are_of_the_account_alone(store: SqlStore) -> None:
    await add_accounts(store, account("acme"), account("globex"))
    await add_member(store, "acme", user("ann", last_sign_in_ms=5), role=AccountRole.OWNER, joined_ms=2)
    await add_member(store, "acme", user("eve", last_sign_in_ms=9), role=AccountRole.OWNER, joined_ms=1)
    await add_member(store, "globex", user("bob", last_sign_in_ms=99), role=AccountRole.ADMIN)
    await store.change(lambda stores: stores.sites.add_site(site("shop", "globex")))

    acme, globex = [await store.read.customers.find_customer(name) for name in ("acme", "globex")]

    assert acme is not None
    assert globex is not None
    assert (acme.members, acme.sites, acme.owner_email, acme.last_sign_in_at) == (2, 0, "eve@example.com", 9)
    assert (globex.members, globex.sites, globex.last_sign_in_at) == (1, 1, 99)
    assert not isinstance(globex.owner_email, str)
    assert await store.read.customers.find_customer("nobody") is None


async def test_the_status_in_the_list_of_accounts_follows_the_user(store: SqlStore) -> None:
    await add_accounts(store, account("acme"))
    await add_member(store, "acme", user("ann"), joined_ms=2)
    await add_member(store, "acme", user("bob", password_hash=None), joined_ms=1)

    listed, _ = await store.read.customers.list_accounts(behind=None, limit=100)

    assert [(each.user_id, each.status) for each in listed] == [
        ("ann", MemberStatus.ACTIVE),
        ("bob", MemberStatus.INVITED),
    ]
