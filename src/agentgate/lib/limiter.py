"""Fixed windows over SharedCache: at most so many in so long. Used wherever attempts are counted."""

from msgspec import Struct

from agentgate.lib.clock import Clock
from agentgate.lib.errors import Refused
from agentgate.lib.shared_cache import InProcessCache, SharedCache


class Window(Struct, frozen=True):
    """At most `most` within `window_ms`."""

    name: str
    most: int
    window_ms: int


class Limiter:
    """Counts against windows that all workers share."""

    def __init__(self, shared_cache: SharedCache, clock: Clock) -> None:
        self._shared_cache = shared_cache
        self._local = shared_cache if isinstance(shared_cache, InProcessCache) else None
        self._clock = clock

    @property
    def is_local(self) -> bool:
        """Return whether counting is synchronous."""
        return self._local is not None

    async def is_over(self, window: Window, subject: str) -> bool:
        """Return whether the subject has used the window up, without counting."""
        # Adding nothing instead of reading, because only additions are scaled while Redis is unavailable.
        return await self._shared_cache.add(self._key(window, subject), 0, ttl_ms=window.window_ms) >= window.most

    async def count(self, window: Window, subject: str) -> bool:
        """Count one more; return whether it is within the window."""
        return await self._shared_cache.add(self._key(window, subject), 1, ttl_ms=window.window_ms) <= window.most

    def count_now(self, window: Window, subject: str) -> bool:
        """Count as `count` does, where counting never waits (`is_local`)."""
        assert self._local is not None, "only a cache in this process counts without waiting"
        return self._local.add_now(self._key(window, subject), 1, ttl_ms=window.window_ms) <= window.most

    async def require(self, window: Window, subject: str, message: str | None = None) -> None:
        """Count one more; reject it if the window is full."""
        if not await self.count(window, subject):
            raise self.refusal(window, message)

    def refusal(self, window: Window, message: str | None = None) -> Refused:
        """Return the error for a subject that has used up a window, with the time until the window ends."""
        return Refused("rate_limited", message, headers={"retry-after": str(self.seconds_left(window))})

    async def wait(self, subject: str, *, wait_ms: int, kept_ms: int) -> int:
        """Delay the subject; return the time left. After a delay, a subject may continue once and is then delayed
        again.

        The first call starts the delay, which expires after `kept_ms`.
        """
        key, now_ms = f"wait:{subject}", self._clock.now_ms()
        since = await self._shared_cache.get(key)
        if since is None:
            await self._shared_cache.put(key, str(now_ms).encode(), ttl_ms=kept_ms)
            return wait_ms
        left_ms = int(since) + wait_ms - now_ms
        if left_ms > 0:
            return left_ms
        is_first = await self._shared_cache.take_once(f"waited:{int(since)}:{subject}", ttl_ms=kept_ms)
        # Of several calls at once one may continue; for the others the waiting starts again.
        await self._shared_cache.put(key, str(now_ms).encode(), ttl_ms=kept_ms)
        return 0 if is_first else wait_ms

    async def forget(self, window: Window, subject: str) -> None:
        """Reset the subject's present window."""
        await self._shared_cache.delete(self._key(window, subject))

    def seconds_left(self, window: Window) -> int:
        """Return the time until the current window ends, for `Retry-After`."""
        return max(1, -(-(window.window_ms - self._clock.now_ms() % window.window_ms) // 1000))

    def _key(self, window: Window, subject: str) -> str:
        # The window's number is part of the key, so that all workers agree on when it ends.
        return f"limit:{window.name}:{self._clock.now_ms() // window.window_ms}:{subject}"
