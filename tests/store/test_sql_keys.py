"""The service's keys in SQL, on both databases."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace

from agentgate.lib.database import Conflict
from agentgate.lib.keyring import StoredKey
from agentgate.server.stores.unit_of_work import SqlStores
from tests.store.sql_objects import Opened, migrated

pytestmark = pytest.mark.anyio


@pytest.fixture
async def opened(backend: Any) -> AsyncIterator[Opened]:
    async with migrated(backend) as opened:
        yield opened


def key(key_id: str, purpose: str = "cursor", **changes) -> StoredKey:
    usual = {"id": key_id, "purpose": purpose, "sealed": b"\0\xff" + key_id.encode(), "created_ms": 5, "active_ms": 7}
    return StoredKey(**usual | changes)


async def add(opened: Opened, *keys: StoredKey) -> None:
    async def work(stores: SqlStores) -> None:
        await stores.keys.lock_keys()
        for each in keys:
            await stores.keys.add_key(each)

    await opened.store.change(work)


async def test_a_key_is_read_back_byte_for_byte(opened: Opened) -> None:
    kept = key("a", sealed=bytes(range(256)), retired_ms=2**53)

    await add(opened, kept)

    assert await opened.store.read.keys.list_keys() == [kept]


async def test_the_newest_comes_first(opened: Opened) -> None:
    await add(opened, key("b", created_ms=1), key("c", created_ms=3), key("a", created_ms=1))

    assert [each.id for each in await opened.store.read.keys.list_keys()] == ["c", "a", "b"]


async def test_retiring_ends_the_purposes_keys_that_have_no_end_yet_and_no_others(opened: Opened) -> None:
    ended, open_, other = key("a", retired_ms=50), key("b"), key("c", "csrf")
    await add(opened, ended, open_, other)

    await opened.store.change(lambda stores: stores.keys.retire_keys("cursor", 99))

    assert sorted(await opened.store.read.keys.list_keys(), key=lambda each: each.id) == [
        ended,
        replace(open_, retired_ms=99),
        other,
    ]


async def test_an_id_exists_once(opened: Opened) -> None:
    await add(opened, key("a"))

    with pytest.raises(Conflict):
        await add(opened, key("a", "csrf"))

    assert await opened.store.read.keys.list_keys() == [key("a")]
