"""Operators' sessions in SQL, on both databases: found by digest only, ended once."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace

from agentgate.lib.database import Conflict
from agentgate.people.identity.records import OperatorSession
from tests.store.sql_objects import NOW_MS, Opened, digest_of, migrated

pytestmark = pytest.mark.anyio


@pytest.fixture
async def opened(backend: Any) -> AsyncIterator[Opened]:
    async with migrated(backend) as opened:
        yield opened


def session(number: int, **changes) -> OperatorSession:
    usual = {
        "secret_digest": digest_of(number),
        "id": f"ses_{number}",
        "operator": "Olga",
        "created_ms": NOW_MS,
        "last_used_ms": NOW_MS,
        "key_tag": digest_of(number + 100),
        "browser": "Firefox",
        "address_id": "address",
    }
    return OperatorSession(**usual | changes)


async def add(opened: Opened, *sessions: OperatorSession) -> None:
    for each in sessions:
        await opened.store.change(lambda stores, each=each: stores.operator_sessions.add_session(each))


async def find(opened: Opened, number: int) -> OperatorSession | None:
    return await opened.store.read.operator_sessions.find_session(digest_of(number))


async def test_a_session_is_found_by_its_digest(opened: Opened) -> None:
    await add(opened, session(1), session(2, operator="Otto"))

    assert await find(opened, 1) == session(1)
    assert await find(opened, 2) == session(2, operator="Otto")


@pytest.mark.parametrize("wrong", [digest_of(9), b"", digest_of(1)[:31], digest_of(1) + b"\0", b"ses_1"])
async def test_any_other_digest_finds_nothing(opened: Opened, wrong: bytes) -> None:
    await add(opened, session(1))

    assert await opened.store.read.operator_sessions.find_session(wrong) is None


async def test_a_use_is_noted_forwards_only_and_for_its_session(opened: Opened) -> None:
    await add(opened, session(1), session(2))

    for used_ms in (NOW_MS + 10, NOW_MS + 5):
        await opened.store.change(
            lambda stores, used_ms=used_ms: stores.operator_sessions.touch_session(digest_of(1), used_ms)
        )

    assert await find(opened, 1) == session(1, last_used_ms=NOW_MS + 10)
    assert await find(opened, 2) == session(2)


async def test_an_end_is_kept_once_and_for_its_session(opened: Opened) -> None:
    await add(opened, session(1), session(2))

    for ended_ms in (NOW_MS + 10, NOW_MS + 20):
        await opened.store.change(
            lambda stores, ended_ms=ended_ms: stores.operator_sessions.end_session(digest_of(1), ended_ms)
        )

    assert await find(opened, 1) == session(1, ended_ms=NOW_MS + 10)
    assert await find(opened, 2) == session(2)


async def test_sweeping_discards_what_is_older_than_the_moment_alone(opened: Opened) -> None:
    await add(opened, session(1, created_ms=NOW_MS - 1), session(2, created_ms=NOW_MS))

    await opened.store.change(lambda stores: stores.operator_sessions.sweep_sessions(NOW_MS, most=1_000))

    assert await find(opened, 1) is None
    assert await find(opened, 2) == session(2, created_ms=NOW_MS)


async def test_neither_a_digest_nor_an_id_exists_twice(opened: Opened) -> None:
    await add(opened, session(1))

    for twin in (replace(session(2), secret_digest=digest_of(1)), replace(session(2), id="ses_1")):
        with pytest.raises(Conflict):
            await add(opened, twin)

    assert await find(opened, 1) == session(1)
