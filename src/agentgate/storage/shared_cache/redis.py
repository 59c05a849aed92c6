"""The shared cache on Redis, or on a Redis Cluster of version 7 or later. Every call ends within its timeout.

A call that fails raises StoreUnavailable; fallback.py decides what then. On a cluster the next call looks
up again which master has which keys; nothing is sent twice.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Sequence
from typing import Any, cast

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.cluster import ClusterNode, RedisCluster
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisError

from agentgate.lib.database import StoreUnavailable
from agentgate.lib.shared_cache import Addition

# Runs as a whole on the server. It also gives a time to live to a counter that has lost its own.
ADD = """
local count = redis.call('INCRBY', KEYS[1], ARGV[1])
if redis.call('PTTL', KEYS[1]) < 0 then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return count
"""

# After an outage: so many counters in one round trip, grouped by their remaining time to live.
MOST_TOGETHER = 1_000
TTL_STEP_MS = 10_000


class RedisSharedCache:
    """Implements SharedCache on Redis or a server with the same protocol."""

    kind = "Redis"
    # Responses come from another process, which others use too.
    is_alone = False
    # A flushed Redis does not report it.
    incarnation = 0

    def __init__(
        self, url: str, *, timeout_s: float = 0.1, max_connections: int = 32, prefix: str = "agentgate:"
    ) -> None:
        self._timeout_s = timeout_s
        self._prefix = prefix
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=max_connections,
            timeout=timeout_s,
            socket_timeout=timeout_s,
            socket_connect_timeout=timeout_s,
            # A retry would count twice and wait twice; the fallback is used instead.
            retry=Retry(NoBackoff(), 0),
            protocol=2,
        )
        self._redis: Redis = Redis.from_pool(pool)
        self._add_digest = ""

    async def get(self, key: str) -> bytes | None:
        return cast("bytes | None", await self._answer(self._redis.get(self._name(key))))

    async def put(self, key: str, value: bytes, *, ttl_ms: int) -> None:
        _check_ttl(ttl_ms)
        await self._answer(self._redis.set(self._name(key), value, px=ttl_ms))

    async def take_once(self, key: str, *, ttl_ms: int) -> bool:
        _check_ttl(ttl_ms)
        return bool(await self._answer(self._redis.set(self._name(key), b"1", px=ttl_ms, nx=True)))

    async def add(self, key: str, amount: int, *, ttl_ms: int) -> int:
        _check_ttl(ttl_ms)
        [count] = await self._answer(self._add([(key, amount)], ttl_ms))
        return int(count)

    async def exchange(self, additions: Sequence[Addition], *, ttl_ms: int) -> list[int]:
        """Add to many counters in one round trip; return the new counts."""
        _check_ttl(ttl_ms)
        return [int(count) for count in await self._answer(self._add(additions, ttl_ms))]

    async def restore(self, counters: Sequence[tuple[str, int, int]]) -> None:
        """Add counts that were made elsewhere during an outage: key, count, remaining time to live of each."""
        groups: dict[int, list[Addition]] = {}
        for key, count, ttl_ms in counters:
            groups.setdefault(-(-ttl_ms // TTL_STEP_MS) * TTL_STEP_MS, []).append((key, count))
        for ttl_ms, additions in groups.items():
            for start in range(0, len(additions), MOST_TOGETHER):
                await self.exchange(additions[start : start + MOST_TOGETHER], ttl_ms=ttl_ms)

    async def delete(self, key: str) -> None:
        await self._answer(self._redis.delete(self._name(key)))

    async def ping(self) -> bool:
        try:
            return bool(await self._answer(cast("Awaitable[Any]", self._redis.ping())))
        except StoreUnavailable:
            return False

    async def close(self) -> None:
        """Close the connections. Never fails: the caller has more to close."""
        with contextlib.suppress(RedisError, OSError, TimeoutError):
            await self._redis.aclose()

    def _name(self, key: str) -> bytes:
        # A key may hold what a client sent; a lone surrogate in it must not become an error of ours.
        return (self._prefix + key).encode("utf-8", "surrogatepass")

    async def _add(self, additions: Sequence[Addition], ttl_ms: int) -> list[Any]:
        if self._add_digest:
            try:
                return await self._run_add(additions, ttl_ms)
            except NoScriptError:
                # The server was restarted without the script, so nothing was added.
                self._add_digest = ""
        self._add_digest = await self._redis.script_load(ADD)
        return await self._run_add(additions, ttl_ms)

    async def _run_add(self, additions: Sequence[Addition], ttl_ms: int) -> list[Any]:
        async with self._redis.pipeline(transaction=False) as pipeline:
            for key, amount in additions:
                # Values go over the wire as text.
                pipeline.evalsha(self._add_digest, 1, self._name(key), str(amount), str(ttl_ms))
            return await pipeline.execute()

    async def _answer(self, pending: Awaitable[Any]) -> Any:
        """Await a response, but not longer than the timeout for all its steps together."""
        try:
            async with asyncio.timeout(self._timeout_s):
                return await pending
        except (RedisError, OSError, TimeoutError) as error:
            raise StoreUnavailable(f"Redis: {type(error).__name__}") from error


def _check_ttl(ttl_ms: int) -> None:
    if ttl_ms <= 0:
        raise ValueError("a time to live must be positive")


SCHEME, TLS_SCHEME = "redis+cluster://", "rediss+cluster://"


def is_cluster(url: str) -> bool:
    return url.startswith((SCHEME, TLS_SCHEME))


class RedisClusterSharedCache(RedisSharedCache):
    """Expiring values and counters, spread over the masters of a cluster by their keys."""

    kind = "Redis Cluster"

    def __init__(
        self, url: str, *, timeout_s: float = 0.1, max_connections: int = 32, prefix: str = "agentgate:"
    ) -> None:
        self._url = url.replace("+cluster://", "://", 1)
        self._timeout_s = timeout_s
        self._max_connections = max_connections
        self._prefix = prefix
        # This client fails at once; a single server's pool would block.
        self._places = asyncio.Semaphore(max_connections)
        self._starting = asyncio.Lock()
        self._closing: set[asyncio.Task[None]] = set()
        self._use(self._connect([]))

    async def close(self) -> None:
        await super().close()
        for task in self._closing:
            task.cancel()

    def _connect(self, known: list[ClusterNode]) -> RedisCluster:
        return RedisCluster.from_url(
            self._url,
            startup_nodes=known,
            max_connections=self._max_connections,
            socket_timeout=self._timeout_s,
            socket_connect_timeout=self._timeout_s,
            # Keys with an unavailable master differ from the other keys.
            require_full_coverage=False,
            # A retry would count twice and wait twice; the fallback is used instead.
            retry=Retry(NoBackoff(), 0),
            protocol=2,
        )

    def _use(self, cluster: RedisCluster) -> None:
        self._cluster = cluster
        self._is_ready = False
        # The commands work on a single server.
        self._redis = cast("Any", cluster)

    async def _answer(self, pending: Awaitable[Any]) -> Any:
        cluster = self._cluster
        try:
            return await super()._answer(self._in_place(pending))
        except StoreUnavailable:
            if cluster is self._cluster:
                # Another server may be master by now. Without retries the client does not check it.
                self._use(self._connect([ClusterNode(node.host, node.port) for node in cluster.get_nodes()]))
                task = asyncio.create_task(self._close_later(cluster))
                self._closing.add(task)
                task.add_done_callback(self._closing.discard)
            raise
        finally:
            if asyncio.iscoroutine(pending):
                # One that found no place in time was never begun.
                pending.close()

    async def _in_place(self, pending: Awaitable[Any]) -> Any:
        async with self._places:
            await self._find_masters()
            return await pending

    async def _find_masters(self) -> None:
        """Let one caller learn the masters of all slots, before the others open connections too."""
        if not self._is_ready:
            async with self._starting:
                if not self._is_ready:
                    await self._cluster.initialize()
                    self._is_ready = True

    async def _close_later(self, cluster: RedisCluster) -> None:
        """Close a client after its open calls have ended."""
        try:
            await asyncio.sleep(2 * self._timeout_s)
        finally:
            with contextlib.suppress(RedisError, OSError, TimeoutError):
                await cluster.aclose()

    async def ping(self) -> bool:
        """Return whether every master responds now."""
        try:
            answers = await self._answer(
                cast("Awaitable[Any]", self._cluster.ping(target_nodes=RedisCluster.PRIMARIES))
            )
        except StoreUnavailable:
            return False
        return bool(answers)

    async def _add(self, additions: Sequence[Addition], ttl_ms: int) -> list[Any]:
        # A script would have to be loaded on each master, and again on its successor. In two commands, a counter whose
        # second command was lost gets its time to live with the next addition.
        pipeline = self._cluster.pipeline(transaction=False)
        for key, amount in additions:
            name = self._name(key)
            pipeline.incrby(name, amount)
            pipeline.pexpire(name, ttl_ms, nx=True)
        answers = await pipeline.execute()
        return answers[::2]
