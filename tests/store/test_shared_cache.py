"""Guarantees of every SharedCache: in memory, owned by one process, on Redis; and the behavior without Redis."""

import asyncio
import time

import pytest

from agentgate.lib.clock import FixedClock, SystemClock
from agentgate.lib.database import StoreUnavailable
from agentgate.lib.limiter import Limiter, Window
from agentgate.lib.shared_cache import InProcessCache
from agentgate.storage.shared_cache.fallback import FallbackSharedCache
from agentgate.storage.shared_cache.memory import MemorySharedCache
from agentgate.storage.shared_cache.owned import OwnedSharedCache
from agentgate.storage.shared_cache.redis import RedisClusterSharedCache, RedisSharedCache
from tests.support.redis_cluster import redis_cluster

pytestmark = pytest.mark.anyio

# Long enough for a slow machine: a test that is not about time must not fail because of it.
PATIENT_S = 2.0


@pytest.fixture(scope="module")
def cluster_url(tmp_path_factory):
    """A Redis Cluster."""
    with redis_cluster(tmp_path_factory.mktemp("cluster")) as servers:
        yield servers.url


@pytest.fixture(params=["memory", "owned", "redis", "cluster", "fallback"])
async def store(request):
    """Each kind of store, on its own clock."""
    if request.param == "memory":
        store = MemorySharedCache(SystemClock())
    elif request.param == "owned":
        store = OwnedSharedCache(request.getfixturevalue("owner").new_end(), timeout_s=PATIENT_S)
    elif request.param == "cluster":
        url, prefix = request.getfixturevalue("cluster_url"), f"{time.monotonic_ns()}:"
        store = RedisClusterSharedCache(url, timeout_s=PATIENT_S, prefix=prefix)
    elif request.param == "redis":
        store = RedisSharedCache(request.getfixturevalue("redis_url"), timeout_s=PATIENT_S)
    else:
        primary = RedisSharedCache(request.getfixturevalue("redis_url"), timeout_s=PATIENT_S)
        store = FallbackSharedCache(primary, MemorySharedCache(SystemClock(), workers=4), clock=SystemClock())
    yield store
    await store.close()


async def test_a_value_is_returned_until_it_expires(store):
    await store.put("key", b"\x00value\xff", ttl_ms=500)
    assert await store.get("key") == b"\x00value\xff"

    await asyncio.sleep(0.55)

    assert await store.get("key") is None


async def test_a_value_that_is_set_again_lives_again(store):
    await store.put("key", b"first", ttl_ms=150)
    await store.put("key", b"second", ttl_ms=60_000)

    await asyncio.sleep(0.2)

    assert await store.get("key") == b"second"


async def test_a_deleted_value_is_gone(store):
    await store.put("key", b"value", ttl_ms=60_000)

    await store.delete("key")
    await store.delete("never there")

    assert await store.get("key") is None


async def test_exactly_one_of_many_callers_takes_a_key(store):
    taken = await asyncio.gather(*(store.take_once("key", ttl_ms=60_000) for _ in range(50)))

    assert sorted(taken) == [False] * 49 + [True]


async def test_a_key_can_be_taken_again_after_its_time(store):
    assert await store.take_once("key", ttl_ms=150)
    await asyncio.sleep(0.2)

    assert await store.take_once("key", ttl_ms=60_000)


async def test_a_counter_counts_every_addition(store):
    counts = await asyncio.gather(*(store.add("key", 2, ttl_ms=60_000) for _ in range(50)))

    assert sorted(counts) == list(range(2, 102, 2))
    assert await store.get("key") == b"100"


async def test_only_the_first_addition_starts_the_time_of_a_counter(store):
    await store.add("key", 1, ttl_ms=1_000)
    await asyncio.sleep(0.1)
    await store.add("key", 1, ttl_ms=60_000)
    await asyncio.sleep(1.0)

    assert await store.add("key", 1, ttl_ms=60_000) == 1


async def test_keys_may_be_any_text(store):
    keys = ["", "two words", "nul \0", "line\r\nbreak", "\ud800 alone", "世界", "k" * 5_000]
    for number, key in enumerate(keys):
        await store.put(key, b"%d" % number, ttl_ms=60_000)

    assert [await store.get(key) for key in keys] == [b"%d" % number for number in range(len(keys))]


async def test_a_time_to_live_must_be_positive(store):
    for attempt in (store.put("a", b"", ttl_ms=0), store.take_once("b", ttl_ms=0), store.add("c", 1, ttl_ms=-5)):
        with pytest.raises(ValueError, match="positive"):
            await attempt


async def test_an_exchange_counts_every_addition(store):
    first = await store.exchange([("one", 2), ("other", 3)], ttl_ms=60_000)
    again = await store.exchange([(f"key {number}", number) for number in range(1_200)], ttl_ms=60_000)

    assert first == [2, 3]
    assert again == list(range(1_200))
    assert await store.exchange([("other", 1), ("one", 0)], ttl_ms=60_000) == [4, 2]


async def test_a_store_that_responds_shows_it(store):
    assert await store.ping() is True


async def test_memory_holds_no_more_keys_than_its_limit_and_drops_what_expires_soonest():
    store = MemorySharedCache(FixedClock(0), max_keys=100)
    await store.put("long", b"kept", ttl_ms=1_000_000)

    for number in range(1_000):
        await store.put(f"key {number}", b"", ttl_ms=1_000 + number)

    assert len(store._entries) == 100
    assert await store.get("long") == b"kept"
    assert await store.get("key 999") == b""
    assert await store.get("key 0") is None


async def test_memory_drops_what_has_expired_when_something_new_comes():
    clock = FixedClock(0)
    store = MemorySharedCache(clock)
    for number in range(100):
        await store.add(f"key {number}", 1, ttl_ms=1_000)

    clock.advance(seconds=2)
    await store.add("new", 1, ttl_ms=1_000)

    assert list(store._entries) == ["new"]


async def test_memory_does_not_grow_when_one_key_is_set_again_and_again():
    store = MemorySharedCache(FixedClock(0))

    for number in range(20_000):
        await store.put("key", b"", ttl_ms=1_000 + number)

    assert len(store._expiries) < 2_000


async def test_a_value_that_was_set_again_does_not_expire_at_its_old_time():
    clock = FixedClock(0)
    store = MemorySharedCache(clock)
    await store.put("key", b"first", ttl_ms=1_000)
    await store.put("key", b"second", ttl_ms=5_000)

    clock.advance(seconds=2)
    await store.put("other", b"", ttl_ms=1_000)

    assert await store.get("key") == b"second"


async def test_a_frozen_redis_is_unavailable_within_the_timeout(redis, redis_url):
    store = RedisSharedCache(redis_url)
    await store.add("key", 1, ttl_ms=60_000)
    redis.freeze()
    try:
        started_s = time.monotonic()
        outcomes = await asyncio.gather(
            *(store.add("key", 1, ttl_ms=60_000) for _ in range(100)), return_exceptions=True
        )
        took_s = time.monotonic() - started_s
        assert await store.ping() is False
    finally:
        redis.thaw()

    assert [type(outcome) for outcome in outcomes] == [StoreUnavailable] * 100
    # The timeout is 10% of that; one call after the other would take 100 times as long.
    assert took_s < 5
    await store.close()


async def test_a_late_response_is_never_given_to_the_next_caller(redis, redis_url):
    store = RedisSharedCache(redis_url)
    await store.put("first", b"of first", ttl_ms=60_000)
    await store.put("second", b"of second", ttl_ms=60_000)
    redis.freeze()
    try:
        with pytest.raises(StoreUnavailable):
            await store.get("first")
    finally:
        redis.thaw()

    assert await store.get("second") == b"of second"
    await store.close()


async def test_a_connection_that_does_not_close_in_time_keeps_no_one_from_closing(redis_url):
    store = RedisSharedCache(redis_url, timeout_s=PATIENT_S)
    await store.put("key", b"value", ttl_ms=60_000)
    [connection] = store._redis.connection_pool._available_connections
    # As on a machine that is busy for longer than that.
    connection.socket_connect_timeout = 0

    await store.close()

    assert not connection.is_connected


async def test_counters_continue_after_redis_was_restarted_and_forgot_its_scripts(redis, redis_url):
    store = RedisSharedCache(redis_url, timeout_s=PATIENT_S)
    await store.add("key", 1, ttl_ms=60_000)
    redis.stop()
    redis.start()
    with pytest.raises(StoreUnavailable):
        await store.add("key", 1, ttl_ms=60_000)

    assert await store.add("key", 1, ttl_ms=60_000) == 1
    await store.close()


@pytest.fixture
async def fallback(redis_url):
    """A fallback whose clock the test holds, with its clock."""
    clock = FixedClock(1_000_000)
    store = FallbackSharedCache(
        RedisSharedCache(redis_url, timeout_s=0.2), MemorySharedCache(clock, workers=4), clock=clock
    )
    assert await store.ping()
    yield store, clock
    await store.close()


async def test_while_redis_is_unavailable_each_process_counts_for_all_workers(redis, fallback):
    store, _ = fallback
    assert await store.add("key", 1, ttl_ms=60_000) == 1
    assert store.degraded is False
    redis.freeze()
    try:
        counts = [await store.add("key", 1, ttl_ms=60_000) for _ in range(3)]
    finally:
        redis.thaw()

    # It continues from the counts of this process.
    assert counts == [8, 12, 16]
    assert store.degraded is True


async def test_while_redis_is_unavailable_nothing_raises_and_only_the_first_call_is_delayed(redis, fallback):
    store, _ = fallback
    redis.freeze()
    try:
        await store.get("key")
        started_s = time.monotonic()
        for number in range(100):
            await store.put("key", b"value", ttl_ms=60_000)
            assert await store.get("key") == b"value"
            assert await store.take_once(f"once {number}", ttl_ms=60_000)
            assert not await store.take_once(f"once {number}", ttl_ms=60_000)
            await store.delete("key")
        took_s = time.monotonic() - started_s
    finally:
        redis.thaw()

    assert took_s < 1


async def test_redis_is_queried_again_a_second_later_by_one_caller(redis, fallback):
    store, clock = fallback
    redis.freeze()
    try:
        await store.get("key")
        clock.advance(ms=1_001)
        first = asyncio.ensure_future(store.get("key"))
        await asyncio.sleep(0)
        for _ in range(50):
            await store.get("key")
        first_waits = not first.done()
        await first
    finally:
        redis.thaw()

    assert first_waits
    assert store.degraded is True


async def test_redis_is_used_again_once_it_responds(redis, fallback):
    store, clock = fallback
    await store.add("key", 5, ttl_ms=60_000)
    redis.freeze()
    try:
        await store.add("key", 1, ttl_ms=60_000)
    finally:
        redis.thaw()
    assert store.degraded is True

    clock.advance(ms=1_001)

    # The call without a response is counted once, or twice if Redis had executed it. It is never lost.
    assert await store.add("key", 1, ttl_ms=60_000) in {7, 8}
    assert store.degraded is False


async def test_a_limit_on_guessing_does_not_begin_again_when_redis_is_back(redis, fallback):
    store, clock = fallback
    window = Window("sign-in", 20, 60_000)
    limiter = Limiter(store, clock)
    redis.freeze()
    try:
        for _ in range(5):
            await limiter.count(window, "somebody")
    finally:
        redis.thaw()
    clock.advance(ms=1_001)
    assert await store.ping()

    allowed = [await limiter.count(window, "somebody") for _ in range(20)]

    # One of the five got no response and may have been counted twice.
    assert allowed.count(True) in {14, 15}


async def test_a_redis_that_was_ended_is_used_again_when_it_is_back(redis, fallback):
    store, clock = fallback
    redis.stop()
    try:
        assert await store.add("key", 1, ttl_ms=60_000) == 4
        assert await store.ping() is False
    finally:
        redis.start()

    clock.advance(ms=1_001)

    # Redis gets the counts that this process made during the failure.
    assert await store.add("key", 1, ttl_ms=60_000) == 2
    assert store.degraded is False


async def test_deleting_while_redis_responds_also_deletes_the_local_value(redis, fallback):
    store, clock = fallback
    redis.freeze()
    try:
        await store.put("key", b"old", ttl_ms=60_000)
    finally:
        redis.thaw()
    clock.advance(ms=1_001)
    await store.delete("key")
    redis.freeze()
    try:
        assert await store.get("key") is None
    finally:
        redis.thaw()


async def test_only_memory_counts_without_waiting(store):
    if not isinstance(store, InProcessCache):
        assert not hasattr(store, "add_now")
        return
    assert await store.add("count", 2, ttl_ms=60_000) == 2
    assert store.add_now("count", 3, ttl_ms=60_000) == 5
    assert await store.add("count", 0, ttl_ms=60_000) == 5


async def test_only_memory_is_alone(store):
    assert store.is_alone is isinstance(store, MemorySharedCache)
