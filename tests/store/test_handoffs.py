"""Handoffs and grants on both databases: opened once, decided once, given once, deleted in time."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from agentgate.agents.handoff.handoffs import LIFETIME_MS
from agentgate.agents.handoff.repository import GrantStore, HandoffStore, StoredGrant, StoredHandoff
from agentgate.agents.jobs import GRANT_KEPT_MS, HANDOFF_KEPT_MS, delete_handoffs
from agentgate.lib.clock import DAY_MS, MINUTE_MS, FixedClock
from agentgate.lib.enums import HandoffStatus
from agentgate.lib.ids import new_agent_grant_id, new_handoff_id, new_receipt_id
from agentgate.server.stores.open import HOT
from agentgate.storage.migrate import apply
from tests.store.conftest import AnyDatabase, Backend

pytestmark = pytest.mark.anyio
NOW_MS = 1_794_744_000_000
COMPLETED, DECLINED = HandoffStatus.COMPLETED, HandoffStatus.DECLINED


@pytest.fixture
async def hot(backend: Backend) -> AsyncIterator[AnyDatabase]:
    database = backend.make()
    await apply(database, HOT, clock=FixedClock(NOW_MS))
    yield database
    await database.close()


@pytest.fixture
def handoffs(hot: AnyDatabase) -> HandoffStore:
    return HandoffStore(hot)


@pytest.fixture
def grants(hot: AnyDatabase) -> GrantStore:
    return GrantStore(hot)


def handoff(**changes: Any) -> StoredHandoff:
    usual: dict[str, Any] = {
        "id": new_handoff_id(),
        "request_key": b"\x00\xff" * 16,
        "site": 7,
        "agent": "https://agent.example",
        "keyid": "kid",
        "action": "submit",
        "submission_id": "sub-1",
        "content_digest": "sha-256=:x:",
        "decision_id": "dec_0000000000000",
        "user_code": "BCDF-GHJK",
        "summary": '[["message", "ünïcode"]]',
        "receipt_id": new_receipt_id(),
        "created_ms": NOW_MS,
        "expires_ms": NOW_MS + LIFETIME_MS,
    }
    return StoredHandoff(**usual | changes)


def grant(**changes: Any) -> StoredGrant:
    usual: dict[str, Any] = {
        "id": new_agent_grant_id(),
        "site": 7,
        "agent": "https://agent.example",
        "keyid": "kid",
        "action": "submit",
        "handoff_id": new_handoff_id(),
        "uses": 3,
        "uses_left": 3,
        "created_ms": NOW_MS,
        "expires_ms": NOW_MS + DAY_MS,
    }
    return StoredGrant(**usual | changes)


async def decide(store: HandoffStore, of: StoredHandoff, status: HandoffStatus, now_ms: int = NOW_MS) -> Any:
    return await store.decide_handoff(of.id, status, now_ms=now_ms, expires_ms=now_ms + LIFETIME_MS)


async def use(store: GrantStore, **changes: Any) -> StoredGrant | None:
    usual: dict[str, Any] = {"site": 7, "agent": "https://agent.example", "keyid": "kid", "action": "submit"}
    return await store.use_grant(**usual | {"now_ms": NOW_MS} | changes)


async def test_what_is_kept_is_what_is_found(handoffs: HandoffStore) -> None:
    opened = handoff()

    assert await handoffs.open_handoff(opened) == opened
    assert await handoffs.find_handoff(opened.id) == opened
    assert await handoffs.find_handoff(new_handoff_id()) is None


async def test_of_64_who_ask_for_the_same_at_once_all_get_one_handoff(handoffs: HandoffStore) -> None:
    found = await asyncio.gather(*(handoffs.open_handoff(handoff()) for _ in range(64)))

    assert len({each.id for each in found}) == 1


async def test_another_request_gets_its_own_handoff(handoffs: HandoffStore) -> None:
    first, second = handoff(), handoff(request_key=b"another")

    assert await handoffs.open_handoff(first) == first
    assert await handoffs.open_handoff(second) == second


@pytest.mark.parametrize("released", [True, False])
async def test_a_handoff_that_is_over_or_released_makes_room_for_another(
    handoffs: HandoffStore, released: bool
) -> None:
    first = await handoffs.open_handoff(handoff())
    if released:
        await handoffs.release_request(first.id)
    later_ms = NOW_MS if released else first.expires_ms
    second = handoff(created_ms=later_ms, expires_ms=later_ms + LIFETIME_MS)

    assert await handoffs.open_handoff(second) == second
    assert await handoffs.find_handoff(first.id) == msgspec.structs.replace(first, request_key=None)


async def test_of_32_decisions_at_once_one_is_taken_and_the_summary_goes(handoffs: HandoffStore) -> None:
    opened = await handoffs.open_handoff(handoff())
    found = await asyncio.gather(*(decide(handoffs, opened, (COMPLETED, DECLINED)[turn % 2]) for turn in range(32)))

    [winner] = [each for each in found if each is not None]
    assert await handoffs.find_handoff(opened.id) == winner
    assert winner.summary is None


async def test_nothing_is_decided_when_it_is_too_late(handoffs: HandoffStore) -> None:
    opened = await handoffs.open_handoff(handoff())

    assert await decide(handoffs, opened, COMPLETED, now_ms=opened.expires_ms) is None
    assert await handoffs.find_handoff(opened.id) == opened


async def test_a_receipt_is_given_once_and_again_only_when_it_has_run_out(handoffs: HandoffStore) -> None:
    opened = await handoffs.open_handoff(handoff())
    assert await handoffs.issue_receipt(opened.id, now_ms=NOW_MS, over_ms=0) == opened
    await decide(handoffs, opened, COMPLETED)

    async def issue(now_ms: int) -> int | None:
        issued = await handoffs.issue_receipt(opened.id, now_ms=now_ms, over_ms=now_ms - 2 * MINUTE_MS)
        return issued.issued_ms if issued else None

    [first] = set(await asyncio.gather(*(issue(NOW_MS + turn) for turn in range(16))))
    assert first is not None
    assert await issue(NOW_MS + MINUTE_MS) == first
    assert await issue(first + 2 * MINUTE_MS - 1) == first
    assert await issue(first + 2 * MINUTE_MS) == first + 2 * MINUTE_MS


async def test_contents_go_when_a_handoff_is_over_and_handoffs_a_day_later(
    handoffs: HandoffStore, grants: GrantStore
) -> None:
    opened = await handoffs.open_handoff(handoff())
    open_still = await handoffs.open_handoff(handoff(request_key=b"2", expires_ms=NOW_MS + HANDOFF_KEPT_MS * 2))
    given = grant(expires_ms=NOW_MS)
    await grants.add_grant(given)
    clock = FixedClock(opened.expires_ms)

    await delete_handoffs(handoffs, grants, clock)
    assert await handoffs.find_handoff(opened.id) == msgspec.structs.replace(opened, summary=None)
    clock.advance(ms=HANDOFF_KEPT_MS + 1)
    await delete_handoffs(handoffs, grants, clock)
    assert await handoffs.find_handoff(opened.id) is None
    assert await handoffs.find_handoff(open_still.id) == open_still
    assert await grants.list_grants(7) == [given]
    clock.advance(ms=GRANT_KEPT_MS)
    await delete_handoffs(handoffs, grants, clock)
    assert await grants.list_grants(7) == []


async def test_of_64_uses_at_once_no_more_are_taken_than_two_grants_have(grants: GrantStore) -> None:
    soon, later = grant(expires_ms=NOW_MS + 1), grant(uses=2, uses_left=2)
    await grants.add_grant(later)
    await grants.add_grant(soon)

    taken = await asyncio.gather(*(use(grants) for _ in range(64)))

    assert sorted(each.id for each in taken if each is not None) == sorted([soon.id] * 3 + [later.id] * 2)
    assert [each.uses_left for each in await grants.list_grants(7)] == [0, 0]


@pytest.mark.parametrize(
    "changes",
    [
        {"site": 8},
        {"agent": "https://other.example"},
        {"keyid": "another key"},
        {"action": "order"},
        {"now_ms": NOW_MS + DAY_MS},
    ],
)
async def test_a_grant_is_good_for_its_agent_key_site_action_and_time_only(
    grants: GrantStore, changes: dict[str, Any]
) -> None:
    await grants.add_grant(grant())

    assert await use(grants, **changes) is None
    used = await use(grants)
    assert used is not None
    assert (used.uses_left, used.last_used_ms) == (2, NOW_MS)


async def test_a_revoked_grant_is_good_for_nothing(grants: GrantStore) -> None:
    given = grant()
    await grants.add_grant(given)

    assert await grants.revoke_grant(8, given.id, now_ms=NOW_MS) is None
    assert await grants.revoke_grant(7, given.id, now_ms=NOW_MS + 5) is True
    assert await grants.revoke_grant(7, given.id, now_ms=NOW_MS + 9) is False
    assert await use(grants) is None
    assert (await grants.list_grants(7))[0].revoked_ms == NOW_MS + 5
