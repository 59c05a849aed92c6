"""RedisClusterSharedCache: the same on a Redis Cluster of version 7 or later. Every call ends within its timeout.

A failed call makes the next one look anew who is master of which keys; nothing is sent twice.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Sequence
from typing import Any, cast

from redis.asyncio.cluster import ClusterNode, RedisCluster
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from agentgate.lib.database import StoreUnavailable
from agentgate.lib.shared_cache import Addition
from agentgate.storage.shared_cache.redis import RedisSharedCache

SCHEME, TLS_SCHEME = "redis+cluster://", "rediss+cluster://"


def is_cluster(url: str) -> bool:
    """Say whether an address is that of a cluster."""
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
        # The client refuses where a single server's pool would wait.
        self._places = asyncio.Semaphore(max_connections)
        self._starting = asyncio.Lock()
        self._closing: set[asyncio.Task[None]] = set()
        self._use(self._connect([]))

    async def close(self) -> None:
        """Close the connections."""
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
            # Keys whose master is away are not those of the others.
            require_full_coverage=False,
            # A retry would count twice and wait twice; the fallback answers instead.
            retry=Retry(NoBackoff(), 0),
            protocol=2,
        )

    def _use(self, cluster: RedisCluster) -> None:
        self._cluster = cluster
        self._is_ready = False
        # The commands that are used are those of a single server.
        self._redis = cast("Any", cluster)

    async def _answer(self, pending: Awaitable[Any]) -> Any:
        cluster = self._cluster
        try:
            return await super()._answer(self._in_place(pending))
        except StoreUnavailable:
            if cluster is self._cluster:
                # Somebody else may be master by now. Without retries the client does not look by itself.
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
        """Close a client after its open calls have been answered."""
        try:
            await asyncio.sleep(2 * self._timeout_s)
        finally:
            with contextlib.suppress(RedisError, OSError, TimeoutError):
                await cluster.aclose()

    async def ping(self) -> bool:
        """Say whether every master answers now."""
        try:
            answers = await self._answer(
                cast("Awaitable[Any]", self._cluster.ping(target_nodes=RedisCluster.PRIMARIES))
            )
        except StoreUnavailable:
            return False
        return bool(answers)

    async def _add(self, additions: Sequence[Addition], ttl_ms: int) -> list[Any]:
        # A script would have to be loaded on each master, and again on whoever takes over. Without one, a counter whose
        # second command was lost gets its time to live with the next addition.
        pipeline = self._cluster.pipeline(transaction=False)
        for key, amount in additions:
            name = self._name(key)
            pipeline.incrby(name, amount)
            pipeline.pexpire(name, ttl_ms, nx=True)
        answers = await pipeline.execute()
        return answers[::2]
