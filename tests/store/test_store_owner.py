"""The shared cache that one process owns: what happens while the owner is frozen, killed or replaced."""

import asyncio
import time

import pytest

from agentgate.lib.clock import FixedClock, SystemClock
from agentgate.lib.database import StoreUnavailable
from agentgate.storage.shared_cache.fallback import FallbackSharedCache
from agentgate.storage.shared_cache.memory import MemorySharedCache
from agentgate.storage.shared_cache.owned import OwnedSharedCache

pytestmark = pytest.mark.anyio

# Long enough for a slow machine, where a test is not about time.
PATIENT_S = 5.0
SHORT_S = 0.2
HOUR_MS = 3_600_000


def store_of(owner, timeout_s=PATIENT_S):
    return OwnedSharedCache(owner.new_end(), timeout_s=timeout_s)


async def test_workers_count_together(owner):
    one, other = store_of(owner), store_of(owner)

    counts = await asyncio.gather(*(store.add("key", 1, ttl_ms=HOUR_MS) for store in (one, other) for _ in range(50)))

    assert sorted(counts) == list(range(1, 101))
    assert [await store.take_once("once", ttl_ms=HOUR_MS) for store in (one, other)] == [True, False]
    await one.close()
    await other.close()


async def test_calls_behind_a_full_message_are_all_handled(owner):
    store = store_of(owner)

    await asyncio.gather(*(store.put(f"{number}" * 500, b"v" * 1_000, ttl_ms=HOUR_MS) for number in range(500)))

    assert await asyncio.gather(*(store.get(f"{number}" * 500) for number in range(500))) == [b"v" * 1_000] * 500
    await store.close()


async def test_a_value_that_is_too_large_for_a_message_is_rejected_and_the_next_call_works(owner):
    store = store_of(owner)

    with pytest.raises(StoreUnavailable):
        await store.put("key", b"v" * 5_000_000, ttl_ms=HOUR_MS)

    assert await store.add("key", 1, ttl_ms=HOUR_MS) == 1
    await store.close()


async def test_a_frozen_owner_is_unavailable_within_the_timeout_and_late_calls_are_dropped(owner):
    store = store_of(owner, SHORT_S)
    while not await store.ping():
        pass
    owner.freeze()
    try:
        started_s = time.monotonic()
        outcomes = await asyncio.gather(
            *(store.add("key", 1, ttl_ms=HOUR_MS) for _ in range(100)), return_exceptions=True
        )
        took_s = time.monotonic() - started_s
    finally:
        owner.thaw()

    assert [type(outcome) for outcome in outcomes] == [StoreUnavailable] * 100
    assert took_s < 5 * SHORT_S
    while not await store.ping():
        pass
    assert await store.add("key", 1, ttl_ms=HOUR_MS) == 1
    await store.close()


async def test_a_worker_that_is_replaced_is_not_given_the_responses_of_its_predecessor(owner):
    end = owner.new_end()
    first = OwnedSharedCache(end.dup(), timeout_s=PATIENT_S)
    await first.ping()
    asking = asyncio.ensure_future(first.add("key", 1, ttl_ms=HOUR_MS))
    await asyncio.sleep(0)
    await first.close()
    with pytest.raises(StoreUnavailable):
        await asking
    second = OwnedSharedCache(end, timeout_s=PATIENT_S)

    assert await second.get("other") is None
    await second.close()


async def test_a_new_owner_is_shown_what_each_worker_had_counted(owner):
    clock = FixedClock(SystemClock().now_ms())
    workers = [FallbackSharedCache(store_of(owner), MemorySharedCache(clock, workers=2), clock=clock) for _ in range(2)]
    for _ in range(3):
        await workers[0].add("guesses", 1, ttl_ms=HOUR_MS)
    assert [await store.add("guesses", 1, ttl_ms=HOUR_MS) for store in workers] == [4, 5]
    await workers[1].add("deleted", 1, ttl_ms=HOUR_MS)
    await workers[1].delete("deleted")

    owner.kill()
    owner.start()

    # The first worker knows its own four; the second sends the second's counts.
    assert await workers[0].add("guesses", 0, ttl_ms=HOUR_MS) == 4
    assert await workers[1].add("guesses", 1, ttl_ms=HOUR_MS) == 6
    assert await workers[0].add("guesses", 1, ttl_ms=HOUR_MS) == 7
    assert await workers[1].add("deleted", 0, ttl_ms=HOUR_MS) == 0
    for store in workers:
        await store.close()


async def test_what_an_owner_missed_while_it_was_frozen_is_reported_afterwards(owner):
    clock = FixedClock(SystemClock().now_ms())
    one, other = (
        FallbackSharedCache(store_of(owner, SHORT_S), MemorySharedCache(clock, workers=2), clock=clock)
        for _ in range(2)
    )
    while not (await one.ping() and await other.ping()):
        pass
    assert [await store.add("guesses", 1, ttl_ms=HOUR_MS) for store in (one, other)] == [1, 2]
    owner.freeze()
    try:
        # This process's own, for all workers.
        assert [await one.add("guesses", 1, ttl_ms=HOUR_MS) for _ in range(2)] == [4, 6]
    finally:
        owner.thaw()
    clock.advance(ms=1_001)

    assert await one.add("guesses", 0, ttl_ms=HOUR_MS) == 4
    assert await other.add("guesses", 1, ttl_ms=HOUR_MS) == 5
    for store in (one, other):
        await store.close()
