"""One deadline for many calls that wait for the store, with one timer: a timer for each would cost more than a call."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

# How many calls are queued before finished ones are dropped.
KEPT_MORE = 256


class PendingCall(Protocol):
    """Something that has a deadline."""

    is_done: bool


W = TypeVar("W", bound=PendingCall)


class DeadlineQueue(Generic[W]):
    """Calls in the order in which they came. One that is not done in time is given up."""

    def __init__(self, most_s: float, give_up: Callable[[W], None]) -> None:
        self._most_s = most_s
        self._give_up = give_up
        self._waiting: deque[tuple[float, W]] = deque()
        self._most_kept = KEPT_MORE
        self._timer: asyncio.TimerHandle | None = None

    def add(self, call: W) -> None:
        """Watch a call from now on."""
        self._waiting.append((time.monotonic(), call))
        if len(self._waiting) >= self._most_kept:
            self._let_go()
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._most_s, self._expire)

    def _let_go(self) -> None:
        # Once for many calls, because looking after each costs more.
        while self._waiting and self._waiting[0][1].is_done:
            self._waiting.popleft()
        self._most_kept = len(self._waiting) + KEPT_MORE

    def _expire(self) -> None:
        waiting, due_s = self._waiting, time.monotonic() - self._most_s
        self._timer = None
        while waiting and (waiting[0][1].is_done or waiting[0][0] <= due_s):
            _, call = waiting.popleft()
            if not call.is_done:
                self._give_up(call)
        self._most_kept = len(waiting) + KEPT_MORE
        if waiting:
            self._timer = asyncio.get_running_loop().call_later(waiting[0][0] - due_s, self._expire)
