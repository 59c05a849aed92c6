"""Redis Cluster: keys on all masters, and a master that is killed while counters are added to."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator

import pytest

from agentgate.lib.clock import SystemClock
from agentgate.lib.database import StoreUnavailable
from agentgate.storage.shared_cache.fallback import FallbackSharedCache
from agentgate.storage.shared_cache.memory import MemorySharedCache
from agentgate.storage.shared_cache.redis import RedisClusterSharedCache
from tests.support.redis_cluster import RedisClusterServers, redis_cluster

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

TIMEOUT_S = 2.0
TAKEN_OVER_S = 30.0


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisClusterServers]:
    """Separate servers, because one of them is killed here."""
    with redis_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture
async def store(servers: RedisClusterServers) -> AsyncIterator[RedisClusterSharedCache]:
    store = RedisClusterSharedCache(servers.url, timeout_s=TIMEOUT_S, prefix=f"{time.monotonic_ns()}:")
    yield store
    await store.close()


async def test_one_exchange_reaches_all_masters(store: RedisClusterSharedCache, servers: RedisClusterServers) -> None:
    additions = [(f"key-{number}", number) for number in range(60)]

    assert await store.exchange(additions, ttl_ms=60_000) == list(range(60))
    assert await store.exchange(additions, ttl_ms=60_000) == [2 * number for number in range(60)]
    assert await store.ping()
    held = [int(servers.say(port, "DBSIZE")) for port in servers.masters()]
    assert len(held) == 3
    assert all(held)


async def test_a_killed_master_costs_seconds_and_no_one_waits_longer_than_the_timeout(
    store: RedisClusterSharedCache, servers: RedisClusterServers
) -> None:
    fallback = FallbackSharedCache(store, MemorySharedCache(SystemClock(), workers=2), clock=SystemClock())
    keys = [f"load-{number}" for number in range(30)]
    for key in keys:
        await fallback.add(key, 1, ttl_ms=60_000)
    victim = servers.masters()[0]

    servers.kill(victim)
    killed_s, longest_s, answered = time.monotonic(), 0.0, 0
    while True:
        started_s = time.monotonic()
        # Limits continue: no request is blocked or delayed because counts are unavailable.
        counts = [await fallback.add(key, 1, ttl_ms=60_000) for key in keys]
        answered += len(counts)
        longest_s = max(longest_s, (time.monotonic() - started_s) / len(keys))
        if await _all_answer(store, keys):
            break
        assert time.monotonic() - killed_s < TAKEN_OVER_S, "no replica took over"
        await asyncio.sleep(0.1)

    assert answered >= len(keys)
    assert longest_s < TIMEOUT_S + 0.5
    assert len(servers.masters()) == 3
    servers.restart(victim)
    assert await store.ping()


async def _all_answer(store: RedisClusterSharedCache, keys: list[str]) -> bool:
    try:
        await store.exchange([(key, 1) for key in keys], ttl_ms=60_000)
    except StoreUnavailable:
        return False
    return True
