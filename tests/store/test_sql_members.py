"""Memberships in SQL."""

import asyncio

import pytest

from agentgate.lib.enums import AccountRole, AccountStatus, MemberStatus, UserStatus
from agentgate.lib.moment import Moment
from agentgate.server.stores.unit_of_work import SqlStore
from tests.store.account_rows import NOW_MS, account, add_accounts, add_member, user

pytestmark = pytest.mark.anyio


@pytest.fixture
async def accounts(store: SqlStore) -> None:
    await add_accounts(store, account("acme"), account("globex"))


@pytest.mark.usefixtures("accounts")
async def test_a_membership_shows_the_user(store: SqlStore) -> None:
    ann = user("ann", name="Ann", mfa_enabled_ms=NOW_MS, last_sign_in_ms=NOW_MS + 1)
    await add_member(store, "acme", ann, role=AccountRole.OWNER, joined_ms=NOW_MS + 2)

    found = await store.read.members.find_membership("acme", "ann")

    assert (found.user_id, found.role, found.joined_at) == (
        "ann",
        AccountRole.OWNER,
        Moment(NOW_MS + 2),
    )
    assert (found.email, found.name, found.mfa_enabled, found.last_sign_in_at) == (ann.email, "Ann", True, NOW_MS + 1)


@pytest.mark.usefixtures("accounts")
async def test_another_account_finds_nothing(store: SqlStore) -> None:
    await add_member(store, "acme", user("ann"), role=AccountRole.OWNER)

    assert await store.read.members.find_membership("globex", "ann") is None
    assert await store.read.members.list_members("globex") == []
    assert await store.read.members.count_owners("globex") == 0


@pytest.mark.usefixtures("accounts")
@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({}, MemberStatus.ACTIVE),
        ({"password_hash": None}, MemberStatus.INVITED),
        ({"status": UserStatus.SUSPENDED}, MemberStatus.SUSPENDED),
        ({"status": UserStatus.SUSPENDED, "password_hash": None}, MemberStatus.SUSPENDED),
    ],
)
async def test_the_status_of_a_member_follows_the_user(store: SqlStore, changes, status) -> None:
    await add_member(store, "acme", user("ann", **changes))

    assert (await store.read.members.find_membership("acme", "ann")).status is status


@pytest.mark.usefixtures("accounts")
async def test_members_come_in_the_order_of_joining(store: SqlStore) -> None:
    for number, name in enumerate(("zoe", "ann", "bob")):
        await add_member(store, "acme", user(name), joined_ms=NOW_MS + number)

    assert [member.user_id for member in await store.read.members.list_members("acme")] == ["zoe", "ann", "bob"]


@pytest.mark.usefixtures("accounts")
async def test_of_many_who_add_the_same_member_one_succeeds(store: SqlStore) -> None:
    await store.change(lambda stores: stores.users.add_user(user("ann")))

    async def add(stores):
        return await stores.members.add_membership("acme", "ann", AccountRole.MEMBER, NOW_MS)

    outcomes = await asyncio.gather(*(store.change(add) for _ in range(20)))

    assert sorted(outcomes) == [False] * 19 + [True]
    assert len(await store.read.members.list_members("acme")) == 1


async def test_a_user_sees_the_accounts_that_are_not_deleted(store: SqlStore) -> None:
    closed = account("closed", status=AccountStatus.SUSPENDED, suspended_reason="unpaid", require_mfa=True)
    await add_accounts(
        store,
        account("acme"),
        closed,
        account("gone", status=AccountStatus.DELETED, deleted_ms=NOW_MS),
        account("none"),
    )
    for number, account_id in enumerate(("closed", "gone", "acme")):
        await add_member(store, account_id, user("ann"), role=AccountRole.OWNER, joined_ms=NOW_MS + number)

    found = await store.read.members.list_memberships("ann")

    assert [(member.user_id, joined) for member, joined in found] == [("ann", closed), ("ann", account("acme"))]
    assert await store.read.members.count_owned_accounts("ann") == 2


@pytest.mark.usefixtures("accounts")
async def test_a_role_changes_in_one_account_only(store: SqlStore) -> None:
    for account_id in ("acme", "globex"):
        await add_member(store, account_id, user("ann"), role=AccountRole.OWNER)

    await store.change(lambda stores: stores.members.save_role("acme", "ann", AccountRole.READONLY))

    assert (await store.read.members.find_membership("acme", "ann")).role is AccountRole.READONLY
    assert (await store.read.members.find_membership("globex", "ann")).role is AccountRole.OWNER
    assert await store.read.members.count_owners("acme") == 0
    assert await store.read.members.count_owned_accounts("ann") == 1


@pytest.mark.usefixtures("accounts")
async def test_a_member_is_removed_from_one_account_only(store: SqlStore) -> None:
    for account_id in ("acme", "globex"):
        await add_member(store, account_id, user("ann"))

    await store.change(lambda stores: stores.members.remove_membership("acme", "ann"))

    assert await store.read.members.find_membership("acme", "ann") is None
    assert await store.read.members.find_membership("globex", "ann") is not None
    assert await store.read.users.find_user("ann") is not None
