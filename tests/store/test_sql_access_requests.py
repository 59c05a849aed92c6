"""Requests for an account in SQL: one pending per address, decided once."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from agentgate.lib.enums import AccessRequestStatus
from agentgate.lib.moment import Moment
from agentgate.people.accounts.records import AccessRequest
from agentgate.server.stores.unit_of_work import SqlStore
from tests.store.account_rows import NOW_MS

pytestmark = pytest.mark.anyio


def request(request_id: str, **changes: Any) -> AccessRequest:
    values: dict[str, Any] = {
        "id": request_id,
        "email": f"{request_id}@example.com",
        "name": "Ann",
        "status": AccessRequestStatus.PENDING,
        "created_at": Moment(NOW_MS),
    }
    return AccessRequest(**{**values, **changes})


async def add(store: SqlStore, made: AccessRequest) -> bool:
    return await store.change(lambda stores: stores.access_requests.add_request(made))


async def decide(store: SqlStore, request_id: str, status: AccessRequestStatus) -> bool:
    return await store.change(
        lambda stores: stores.access_requests.decide(request_id, status, decided_by="olga", now_ms=NOW_MS + 9)
    )


async def test_a_request_is_kept_whole(store: SqlStore) -> None:
    made = request("req_1", company="Acme", message="Hello\nthere")

    assert await add(store, made)

    assert await store.read.access_requests.find_request("req_1") == made
    assert await store.read.access_requests.find_request("req_2") is None


async def test_of_many_requests_of_one_address_one_is_kept(store: SqlStore) -> None:
    made = [request(f"req_{number}", email="ann@example.com") for number in range(20)]

    outcomes = await asyncio.gather(*(add(store, one) for one in made))

    assert sorted(outcomes) == [False] * 19 + [True]
    assert len(await store.read.access_requests.list_requests(None, 100)) == 1


async def test_a_decided_address_may_ask_again(store: SqlStore) -> None:
    await add(store, request("req_1", email="ann@example.com"))
    await decide(store, "req_1", AccessRequestStatus.DECLINED)

    assert await add(store, request("req_2", email="ann@example.com"))


async def test_a_request_is_decided_once(store: SqlStore) -> None:
    made = request("req_1")
    await add(store, made)

    outcomes = await asyncio.gather(
        *(decide(store, "req_1", status) for status in (AccessRequestStatus.APPROVED, AccessRequestStatus.DECLINED) * 5)
    )

    assert sorted(outcomes) == [False] * 9 + [True]
    found = await store.read.access_requests.find_request("req_1")
    assert found == replace(made, status=found.status, decided_at=Moment(NOW_MS + 9), decided_by="olga")
    assert found.status is not AccessRequestStatus.PENDING


async def test_an_unknown_request_is_not_decided(store: SqlStore) -> None:
    assert not await decide(store, "req_1", AccessRequestStatus.APPROVED)


async def test_requests_are_listed_by_state_newest_first_up_to_the_limit(store: SqlStore) -> None:
    for number in range(4):
        await add(store, request(f"req_{number}", created_at=Moment(NOW_MS + number)))
    await decide(store, "req_1", AccessRequestStatus.APPROVED)

    async def listed(status: AccessRequestStatus | None, limit: int) -> list[str]:
        return [found.id for found in await store.read.access_requests.list_requests(status, limit)]

    assert await listed(None, 10) == ["req_3", "req_2", "req_1", "req_0"]
    assert await listed(None, 2) == ["req_3", "req_2"]
    assert await listed(AccessRequestStatus.PENDING, 10) == ["req_3", "req_2", "req_0"]
    assert await listed(AccessRequestStatus.APPROVED, 10) == ["req_1"]
    assert await listed(AccessRequestStatus.DECLINED, 10) == []
