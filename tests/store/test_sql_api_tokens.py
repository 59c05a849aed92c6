"""API tokens in SQL: found by account and by secret, revoked once."""

import asyncio

import pytest
from msgspec import UNSET

from agentgate.lib.database import Conflict
from agentgate.lib.moment import Moment
from agentgate.server.stores.unit_of_work import SqlStore
from tests.store.account_rows import NOW_MS, account, add_accounts, token

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
async def accounts(store: SqlStore) -> None:
    await add_accounts(store, account("acme"), account("globex"))


async def add(store: SqlStore, account_id: str, made, secret_digest: bytes) -> None:
    await store.change(lambda stores: stores.api_tokens.add_token(account_id, made, secret_digest))


async def test_a_token_is_kept_whole(store: SqlStore) -> None:
    made = token("tok_1", expires_at=Moment(NOW_MS + 5))
    await add(store, "acme", made, b"digest")

    assert await store.read.api_tokens.find_token("acme", "tok_1") == made
    assert await store.read.api_tokens.find_token_by_secret(b"digest") == ("acme", made)
    assert await store.read.api_tokens.find_token_by_secret(b"other") is None


async def test_another_account_finds_lists_and_revokes_nothing(store: SqlStore) -> None:
    await add(store, "acme", token("tok_1"), b"digest")

    assert await store.read.api_tokens.find_token("globex", "tok_1") is None
    assert await store.read.api_tokens.list_tokens("globex") == []
    assert not await store.change(lambda stores: stores.api_tokens.revoke_token("globex", "tok_1", NOW_MS))
    assert (await store.read.api_tokens.find_token("acme", "tok_1")).revoked_at is UNSET


async def test_the_newest_token_comes_first(store: SqlStore) -> None:
    for number in (2, 1, 3):
        await add(store, "acme", token(f"tok_{number}", created_at=Moment(NOW_MS + number)), bytes([number]))

    assert [made.id for made in await store.read.api_tokens.list_tokens("acme")] == ["tok_3", "tok_2", "tok_1"]


async def test_of_many_who_revoke_a_token_one_does(store: SqlStore) -> None:
    await add(store, "acme", token("tok_1"), b"digest")

    async def revoke(stores):
        return await stores.api_tokens.revoke_token("acme", "tok_1", NOW_MS)

    outcomes = await asyncio.gather(*(store.change(revoke) for _ in range(10)))

    assert sorted(outcomes) == [False] * 9 + [True]
    assert (await store.read.api_tokens.find_token_by_secret(b"digest"))[1].revoked_at == NOW_MS


async def test_the_last_use_moves_forward_only(store: SqlStore) -> None:
    await add(store, "acme", token("tok_1"), b"digest")

    for used_ms in (NOW_MS + 2, NOW_MS + 1):
        await store.change(lambda stores, used_ms=used_ms: stores.api_tokens.note_use("tok_1", used_ms))

    assert (await store.read.api_tokens.find_token("acme", "tok_1")).last_used_at == NOW_MS + 2


async def test_two_tokens_never_share_a_secret(store: SqlStore) -> None:
    await add(store, "acme", token("tok_1"), b"digest")

    with pytest.raises(Conflict):
        await add(store, "globex", token("tok_2"), b"digest")
