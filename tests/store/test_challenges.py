"""Challenges on both databases: bound, counted, used once, deleted in time."""

import asyncio
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agentgate.browser_check.issue import LIFETIME_MS
from agentgate.browser_check.jobs import CHALLENGE_KEPT_MS, delete_challenges
from agentgate.browser_check.repository import Binding, ChallengeStore, StoredChallenge
from agentgate.lib.clock import MINUTE_MS, FixedClock
from agentgate.lib.enums import WidgetMode
from agentgate.lib.ids import new_challenge_id
from agentgate.lib.limits import CHALLENGES_PER_MINUTE_PER_SITE
from agentgate.server.stores.open import HOT
from agentgate.storage.migrate import apply
from agentgate.storage.sqlite.database import SqliteDatabase
from tests.store.conftest import Backend

pytestmark = pytest.mark.anyio
NOW_MS = 1_794_744_000_000
MINE = Binding(site=7, action="login", origin="https://shop.example", visitor="00ff" * 4)


@pytest.fixture
async def challenges(backend: Backend) -> AsyncIterator[ChallengeStore]:
    database = backend.make()
    await apply(database, HOT, clock=FixedClock(NOW_MS))
    yield ChallengeStore(database)
    await database.close()


def challenge(**changes: Any) -> StoredChallenge:
    usual: dict[str, Any] = {
        "id": new_challenge_id(),
        **msgspec.structs.asdict(MINE),
        "seed": bytes(range(240, 256)),
        "level": 1,
        "widget": WidgetMode.MANAGED,
        "c_data": "order 7",
        "issued_ms": NOW_MS,
        "expires_ms": NOW_MS + LIFETIME_MS,
    }
    return StoredChallenge(**usual | changes)


async def attempt(store: ChallengeStore, of: StoredChallenge, binding: Binding = MINE, now_ms: int = NOW_MS) -> Any:
    return await store.take_attempt(of.id, binding, most=4, now_ms=now_ms)


@pytest.mark.parametrize("changes", [{}, {"c_data": None, "stepped_ms": NOW_MS, "used": True, "attempts": 3}])
async def test_what_is_kept_is_what_is_found(challenges: ChallengeStore, changes: dict[str, Any]) -> None:
    added = challenge(**changes)
    await challenges.add_challenge(added)

    assert await challenges.find_challenge(added.id) == added
    assert await challenges.find_challenge(new_challenge_id()) is None


async def test_an_attempt_returns_the_challenge_with_the_attempt_counted(challenges: ChallengeStore) -> None:
    added = challenge()
    await challenges.add_challenge(added)

    assert await attempt(challenges, added) == msgspec.structs.replace(added, attempts=1)
    assert await attempt(challenges, added) == msgspec.structs.replace(added, attempts=2)


@pytest.mark.parametrize(
    "other", [{"site": 8}, {"action": "signup"}, {"origin": "https://evil.example"}, {"visitor": "0" * 16}]
)
async def test_no_one_else_uses_up_an_attempt(challenges: ChallengeStore, other: dict[str, Any]) -> None:
    added = challenge()
    await challenges.add_challenge(added)

    assert await attempt(challenges, added, msgspec.structs.replace(MINE, **other)) is None
    assert await challenges.find_challenge(added.id) == added


@pytest.mark.parametrize("state", [{"used": True}, {"attempts": 4}, {"expires_ms": NOW_MS}])
async def test_a_challenge_that_is_over_is_not_tried(challenges: ChallengeStore, state: dict[str, Any]) -> None:
    added = challenge(**state)
    await challenges.add_challenge(added)

    assert await attempt(challenges, added) is None
    assert await challenges.find_challenge(added.id) == added


async def test_of_many_attempts_at_once_four_are_taken(challenges: ChallengeStore) -> None:
    added = challenge()
    await challenges.add_challenge(added)

    taken = await asyncio.gather(*(attempt(challenges, added) for _ in range(64)))

    assert sorted(each.attempts for each in taken if each) == [1, 2, 3, 4]


async def test_of_many_who_use_a_challenge_at_once_one_does(challenges: ChallengeStore) -> None:
    added = challenge()
    await challenges.add_challenge(added)

    used = await asyncio.gather(*(challenges.use_challenge(added.id) for _ in range(64)))

    assert used.count(True) == 1
    assert not await challenges.use_challenge(new_challenge_id())


async def test_the_first_moment_of_a_step_up_remains(challenges: ChallengeStore) -> None:
    added = challenge()
    await challenges.add_challenge(added)

    await challenges.note_step_up(added.id, NOW_MS + 5)
    await challenges.note_step_up(added.id, NOW_MS + 9)

    found = await challenges.find_challenge(added.id)
    assert found is not None
    assert found.stepped_ms == NOW_MS + 5


async def test_the_oldest_are_discarded_first_and_only_so_many(challenges: ChallengeStore) -> None:
    added = [challenge(expires_ms=NOW_MS + place) for place in range(5)]
    for each in reversed(added):
        await challenges.add_challenge(each)

    assert await challenges.delete_challenges(NOW_MS + 4, most=3) == 3

    assert [await challenges.find_challenge(each.id) is None for each in added] == [True, True, True, False, False]
    assert await challenges.delete_challenges(NOW_MS + 4, most=3) == 1


async def test_an_expired_challenge_is_remembered_a_while(challenges: ChallengeStore) -> None:
    clock = FixedClock(NOW_MS)
    added = challenge()
    await challenges.add_challenge(added)

    clock.advance(ms=LIFETIME_MS + CHALLENGE_KEPT_MS)
    await delete_challenges(challenges, clock)
    assert await challenges.find_challenge(added.id) is not None
    clock.advance(ms=1)
    await delete_challenges(challenges, clock)
    assert await challenges.find_challenge(added.id) is None


async def test_a_flood_takes_no_more_room_from_one_hour_to_the_next(tmp_path: Path) -> None:
    """A site's limit of challenges each minute, at 1% for speed, with the job once a minute."""
    database = SqliteDatabase(tmp_path / "hot.db", synchronous="OFF")
    clock = FixedClock(NOW_MS)
    await apply(database, HOT, clock=clock)
    challenges, numbers = ChallengeStore(database), count()
    sizes = []
    for minute in range(60):
        for _ in range(CHALLENGES_PER_MINUTE_PER_SITE // 100):
            now_ms = clock.now_ms()
            await challenges.add_challenge(
                challenge(id=f"ch_{next(numbers):026}", issued_ms=now_ms, expires_ms=now_ms + LIFETIME_MS)
            )
        clock.advance(ms=MINUTE_MS)
        await delete_challenges(challenges, clock)
        if minute in {29, 59}:
            sizes.append((await database.one("SELECT page_count FROM pragma_page_count"))[0])
    kept = (await database.one("SELECT count(*) FROM challenge"))[0]
    await database.close()

    minutes_kept = (LIFETIME_MS + CHALLENGE_KEPT_MS) // MINUTE_MS
    assert kept <= (minutes_kept + 1) * CHALLENGES_PER_MINUTE_PER_SITE // 100
    assert sizes[1] <= sizes[0] * 1.2
