"""Turns: places for work, which accounts take in turn."""

import asyncio
import contextlib
from collections import Counter, deque
from collections.abc import AsyncIterator, Hashable
from weakref import WeakValueDictionary


class Turns:
    """Lets some pieces of work run at a time, few of them of one account; the others wait for their turn."""

    def __init__(self, places: int, *, of_account: int) -> None:
        self._places = places
        self._of_account = of_account
        self._running: Counter[str] = Counter()
        # In the order of the next turn.
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    def count(self, account: str) -> int:
        """Return how many pieces of work an account has here, running or waiting."""
        return self._running[account] + len(self._waiting.get(account, ()))

    @contextlib.asynccontextmanager
    async def wait(self, account: str) -> AsyncIterator[None]:
        """Wait for a place of the account."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(account, deque()).append(turn)
        self._give()
        try:
            await turn
            yield
        finally:
            if turn.done() and not turn.cancelled():
                self._running -= Counter((account,))
            else:
                self._leave(account, turn)
            self._give()

    def _give(self) -> None:
        """Give free places to the accounts whose turn it is."""
        while self._running.total() < self._places:
            account = next((each for each in self._waiting if self._running[each] < self._of_account), None)
            if account is None:
                return
            turn = self._waiting[account].popleft()
            self._to_end(account)
            if not turn.cancelled():
                self._running[account] += 1
                turn.set_result(None)

    def _to_end(self, account: str) -> None:
        queue = self._waiting.pop(account)
        if queue:
            self._waiting[account] = queue

    def _leave(self, account: str, turn: asyncio.Future[None]) -> None:
        queue = self._waiting.get(account, deque())
        # Its turn may have come after it was canceled.
        with contextlib.suppress(ValueError):
            queue.remove(turn)
        if not queue:
            self._waiting.pop(account, None)


class OneByOne:
    """Lets callers that are woken together continue in one event-loop iteration each: others are served between."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def wait(self) -> None:
        async with self._lock:
            await asyncio.sleep(0)


class KeyedLocks:
    """Locks by key. A lock exists while it is held or awaited."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()

    def of(self, key: Hashable) -> asyncio.Lock:
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = asyncio.Lock()
        return lock

    def __len__(self) -> int:
        return len(self._locks)
