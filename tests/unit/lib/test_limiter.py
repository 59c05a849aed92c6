"""Windows: a limit per time, common to all users of the shared cache, also while that is unavailable."""

import asyncio

import pytest

from agentgate.lib.clock import MINUTE_MS, FixedClock
from agentgate.lib.limiter import Limiter, Window
from agentgate.storage.shared_cache.fallback import FallbackSharedCache
from agentgate.storage.shared_cache.memory import MemorySharedCache
from agentgate.storage.shared_cache.redis import RedisSharedCache

pytestmark = pytest.mark.anyio

THREE = Window("test", 3, MINUTE_MS)


@pytest.fixture
def clock() -> FixedClock:
    # The tenth second of a minute.
    return FixedClock(1_794_744_010_000)


@pytest.fixture
def limiter(clock: FixedClock) -> Limiter:
    return Limiter(MemorySharedCache(clock), clock)


async def test_as_many_as_the_window_allows_are_within_it(limiter: Limiter) -> None:
    assert [await limiter.count(THREE, "a") for _ in range(5)] == [True, True, True, False, False]


async def test_counting_without_waiting_counts_in_the_same_window(limiter: Limiter) -> None:
    assert limiter.is_local
    assert await limiter.count(THREE, "a")

    assert [limiter.count_now(THREE, "a") for _ in range(4)] == [True, True, False, False]
    assert not await limiter.count(THREE, "a")
    assert limiter.count_now(THREE, "b")


async def test_asking_does_not_count(limiter: Limiter) -> None:
    for _ in range(10):
        assert not await limiter.is_over(THREE, "a")

    assert await limiter.count(THREE, "a")


async def test_the_window_is_used_up_with_the_last_one_allowed(limiter: Limiter) -> None:
    used_up = []
    for _ in range(3):
        await limiter.count(THREE, "a")
        used_up.append(await limiter.is_over(THREE, "a"))

    assert used_up == [False, False, True]


async def test_subjects_and_windows_count_apart(limiter: Limiter) -> None:
    for _ in range(3):
        await limiter.count(THREE, "a")

    assert not await limiter.is_over(THREE, "b")
    assert not await limiter.is_over(Window("other", 3, MINUTE_MS), "a")


async def test_the_window_ends_when_it_shows(limiter: Limiter, clock: FixedClock) -> None:
    for _ in range(3):
        await limiter.count(THREE, "a")
    assert limiter.seconds_left(THREE) == 50

    clock.advance(ms=49_999)
    assert await limiter.is_over(THREE, "a")
    assert limiter.seconds_left(THREE) == 1

    clock.advance(ms=1)
    assert not await limiter.is_over(THREE, "a")
    assert limiter.seconds_left(THREE) == 60


async def test_asking_first_does_not_make_the_window_longer(limiter: Limiter, clock: FixedClock) -> None:
    await limiter.is_over(THREE, "a")
    clock.advance(seconds=50)

    assert [await limiter.count(THREE, "a") for _ in range(4)] == [True, True, True, False]


async def test_a_discarded_subject_starts_again(limiter: Limiter) -> None:
    for _ in range(3):
        await limiter.count(THREE, "a")

    await limiter.forget(THREE, "a")

    assert not await limiter.is_over(THREE, "a")


async def test_two_workers_share_a_window(clock: FixedClock) -> None:
    shared = MemorySharedCache(clock)
    first, second = Limiter(shared, clock), Limiter(shared, clock)

    for limiter in (first, second, first):
        await limiter.count(THREE, "a")

    assert await second.is_over(THREE, "a")


async def test_while_the_shared_store_is_unavailable_each_worker_counts_for_all(clock: FixedClock) -> None:
    # Nothing listens on port 1.
    away = RedisSharedCache("redis://127.0.0.1:1/0")
    shared_cache = FallbackSharedCache(away, MemorySharedCache(clock, workers=3), clock=clock)
    limiter = Limiter(shared_cache, clock)

    assert not limiter.is_local
    assert await limiter.count(THREE, "a")

    assert await limiter.is_over(THREE, "a")
    assert not await limiter.is_over(THREE, "b")
    await shared_cache.close()


async def test_who_waits_is_reported_for_how_long(limiter: Limiter, clock: FixedClock) -> None:
    async def wait(subject: str = "a") -> int:
        return await limiter.wait(subject, wait_ms=MINUTE_MS, kept_ms=5 * MINUTE_MS)

    assert await wait() == MINUTE_MS
    clock.advance(ms=MINUTE_MS - 1)
    assert [await wait(), await wait("b")] == [1, MINUTE_MS]
    clock.advance(ms=1)
    assert [await wait(), await wait()] == [0, MINUTE_MS]
    # A subject that does not come back starts again.
    clock.advance(ms=5 * MINUTE_MS)
    assert await wait() == MINUTE_MS


class SlowSharedCache(MemorySharedCache):
    """A cache that lets other tasks run during each call, as a shared store does."""

    async def get(self, key: str) -> bytes | None:
        found = await super().get(key)
        await asyncio.sleep(0)
        return found


async def test_of_many_who_have_waited_one_continues(clock: FixedClock) -> None:
    limiter = Limiter(SlowSharedCache(clock), clock)
    await limiter.wait("a", wait_ms=MINUTE_MS, kept_ms=5 * MINUTE_MS)
    clock.advance(ms=MINUTE_MS)

    left = await asyncio.gather(*(limiter.wait("a", wait_ms=MINUTE_MS, kept_ms=5 * MINUTE_MS) for _ in range(8)))

    assert sorted(left) == [0] + [MINUTE_MS] * 7
