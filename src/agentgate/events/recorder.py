"""Recorder: accepts events without waiting, and writes them in batches in a background task.

At every moment sent = stored + failed + waiting. All of it runs in the event loop; only the store uses threads.
"""

import asyncio
import contextlib
import random
import time
from collections.abc import Callable
from operator import attrgetter

import structlog

from agentgate.events.count_buffer import CountBuffer, Key, WaitingSum
from agentgate.events.decision_counts import DecisionCounts
from agentgate.events.decision_ids import id_day, id_time_ms
from agentgate.events.decision_log import DecisionLog
from agentgate.events.page_counts import PageCounts
from agentgate.events.ports import USUAL_BATCHING, Batching, EventStore
from agentgate.events.records import CounterName, Recorded
from agentgate.lib.clock import HOUR_MS
from agentgate.lib.database import StoreUnavailable

QUEUE_LIMIT = 50_000
FIRST_RETRY_S, LAST_RETRY_S = 0.1, 5.0
# How long `stop` keeps retrying. It then awaits an attempt in progress, because only the end of the attempt shows
# whether it was committed. Stores end their attempts by themselves within seconds, unless the disk hangs.
STOP_S = 5.0
ATTEMPT_S = 10.0

_id = attrgetter("id")


def counter_key(site: int, name: CounterName, now_ms: int) -> tuple[Key, int]:
    """Return the key of a counter in this hour, and when the hour ends."""
    hour = now_ms // HOUR_MS
    return (site, hour, name, ""), (hour + 1) * HOUR_MS


def _ignore(_count: int) -> None:
    """Ignore the number of failed events."""


class Recorder:
    """The way of events into the store. `failed` hears of every event that will not be stored."""

    __slots__ = (
        "_batching", "_counts", "_counts_written_s", "_deadline_s", "_enough", "_in_flight", "_is_refused", "_pages",
        "_queue", "_queue_limit", "_room", "_something", "_stop_s", "_stopping", "_store", "_task", "_tell_failed",
        "_wakes", "decisions", "failed", "log", "sent", "stored", "took",
    )  # fmt: skip

    def __init__(
        self,
        store: EventStore,
        *,
        queue_limit: int = QUEUE_LIMIT,
        stop_s: float = STOP_S,
        failed: Callable[[int], None] = _ignore,
        batching: Batching = USUAL_BATCHING,
    ) -> None:
        self._store = store
        self._batching = batching
        self._queue_limit = queue_limit
        self._stop_s = stop_s
        self._tell_failed = failed
        # Told of each batch that is taken, and how long the store took for one, in seconds.
        self.log: DecisionLog | None = None
        self.took: Callable[[float], None] | None = None
        # For the metrics. Counted once for each batch, so that a check does not pay for it.
        self.decisions = DecisionCounts()
        self._queue: list[Recorded] = []
        self._in_flight = 0
        # Number of events that may wait in the queue now; 0 after the recorder has stopped.
        self._room = queue_limit
        # Events that were handed in, that were committed, and that will never be stored.
        self.sent = self.stored = self.failed = 0
        self._counts = CountBuffer()
        self._pages = PageCounts()
        self._something = asyncio.Event()
        self._enough = asyncio.Event()
        # By the number of events already in the queue: the signal that one more event sets.
        self._wakes = {batching.enough - 1: self._enough, 0: self._something}
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._counts_written_s = 0.0
        self._is_refused = False
        # When to try no more, by the loop's clock. Set by `stop`.
        self._deadline_s: float | None = None

    @property
    def waiting(self) -> int:
        """Events that are neither stored nor failed yet."""
        return len(self._queue) + self._in_flight

    @property
    def is_well(self) -> bool:
        """Whether the store took the last batch, and there is room for more."""
        return not self._is_refused and self.waiting < self._queue_limit

    def ledger(self) -> dict[str, int]:
        """Return all four, as the metrics show them."""
        return {"sent": self.sent, "stored": self.stored, "failed": self.failed, "waiting": self.waiting}

    def put(self, event: Recorded) -> bool:
        """Queue an event without waiting; return False if there is no room for it."""
        self.sent += 1
        queue = self._queue
        before = len(queue)
        if before >= self._room:
            self._fail(1)
            return False
        queue.append(event)
        if before in self._wakes:
            self._wakes[before].set()
        return True

    def count(self, site: int, name: CounterName, value: str = "", amount: int = 1, *, now_ms: int) -> None:
        """Count something that leaves no event, without waiting for the store."""
        self.count_key((site, now_ms // HOUR_MS, name, value), amount)

    def count_key(self, key: Key, amount: int = 1) -> WaitingSum:
        """Count by a key that was made before; return the sum, to which the caller may add until it is taken."""
        waiting = self._counts.sums.get(key)
        if waiting is None:
            self._something.set()
            return self._counts.add(key, amount)
        # Existing counters are written anyway.
        waiting.counted += amount
        return waiting

    async def start(self) -> None:
        """Begin to write."""
        self._task = asyncio.create_task(self._run(), name="event-recorder")

    async def stop(self) -> None:
        """Write the queued events for a few seconds; those left then have failed. No further event is accepted."""
        self._deadline_s = asyncio.get_running_loop().time() + self._stop_s
        self._stopping.set()
        self._room = 0
        for signal in (self._something, self._enough):
            signal.set()
        if self._task is not None:
            done, _ = await asyncio.wait({self._task}, timeout=self._stop_s + ATTEMPT_S)
            if not done:
                self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None
        self._give_up()

    async def _run(self) -> None:
        while not self._stopping.is_set():
            await self._something.wait()
            # Whatever comes within this time is written with it.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._batching.flush_s):
                    await self._enough.wait()
            self._something.clear()
            self._enough.clear()
            if self._queue:
                await self._keep(self._take())
            await self._flush_counts()
            if self._queue or self._counts:
                self._something.set()
            if len(self._queue) >= self._batching.enough:
                self._enough.set()
        while self._queue and not self._is_late():
            await self._keep(self._take())
        self._counts_written_s = 0.0
        await self._flush_counts()

    def _take(self) -> list[Recorded]:
        batch = self._queue[: self._batching.most]
        del self._queue[: len(batch)]
        self._set_in_flight(len(batch))
        self.decisions.add(batch)
        for site, pages in self._pages.count(batch).items():
            self.count(site, CounterName.PAGES, amount=pages, now_ms=id_time_ms(batch[-1].id))
        if self.log is not None:
            self.log.add(batch)
        return batch

    async def _keep(self, batch: list[Recorded]) -> None:
        """Write a batch, the days in it one after the other; return when each event is stored or failed."""
        if id_day(min(map(_id, batch))) == id_day(max(map(_id, batch))):
            await self._keep_day(batch)
            return
        days: dict[int, list[Recorded]] = {}
        for event in batch:
            days.setdefault(id_day(event.id), []).append(event)
        for events in days.values():
            await self._keep_day(events)

    async def _keep_day(self, events: list[Recorded], *, again: bool = False) -> None:
        retry_s = FIRST_RETRY_S
        while True:
            started_s = time.perf_counter()
            try:
                await self._store.write(events, again=again)
            except StoreUnavailable as failure:
                # The failed attempt may have been committed.
                again = self._is_refused = True
                structlog.get_logger().warning(
                    "events are queued: the store is unavailable", waiting=self.waiting, why=str(failure)
                )
            except Exception as failure:  # noqa: BLE001 - whatever it is, the next attempt would fail likewise
                await self._keep_parts(events, failure, again=again)
                return
            else:
                self._is_refused = False
                self._finish_batch(len(events), stored=True)
                return
            finally:
                if self.took is not None:
                    self.took(time.perf_counter() - started_s)
            if self._is_late():
                self._finish_batch(len(events), stored=False)
                return
            await self._pause(retry_s)
            retry_s = min(retry_s * 2, LAST_RETRY_S)

    async def _keep_parts(self, events: list[Recorded], failure: Exception, *, again: bool) -> None:
        """Look for the event that cannot be written, so that it is the only one lost: halve, and halve again."""
        if len(events) == 1:
            structlog.get_logger().error("event cannot be written", decision=events[0].id, exc_info=failure)
            self._finish_batch(1, stored=False)
            return
        middle = len(events) // 2
        await self._keep_day(events[:middle], again=again)
        await self._keep_day(events[middle:], again=again)

    async def _flush_counts(self) -> None:
        now_s = asyncio.get_running_loop().time()
        if not self._counts or now_s - self._counts_written_s < self._batching.counts_s:
            return
        self._counts_written_s = now_s
        counts = self._counts.take()
        try:
            await self._store.add_counts(counts)
            self.decisions.add_counts(counts)
        except StoreUnavailable:
            self._counts.put_back(counts)
            if not self._stopping.is_set():
                await self._pause(FIRST_RETRY_S)
        except Exception:  # noqa: BLE001 - a recorder that has died would write no events either
            structlog.get_logger().exception("counts cannot be written", lost=sum(count.counted for count in counts))
        if self._counts.lost:
            structlog.get_logger().warning("counts lost: the queue is full", lost=self._counts.lost)
            self._counts.lost = 0

    def _is_late(self) -> bool:
        return self._deadline_s is not None and asyncio.get_running_loop().time() >= self._deadline_s

    async def _pause(self, retry_s: float) -> None:
        """Wait before the next attempt, or until stopping begins. The random part keeps workers apart."""
        pause_s = retry_s * random.uniform(0.5, 1.0)  # noqa: S311 - protects nothing
        if self._stopping.is_set():
            await asyncio.sleep(min(pause_s, FIRST_RETRY_S))
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(pause_s):
                await self._stopping.wait()

    def _finish_batch(self, number: int, *, stored: bool) -> None:
        self._set_in_flight(self._in_flight - number)
        if stored:
            self.stored += number
        else:
            self._fail(number)

    def _set_in_flight(self, number: int) -> None:
        self._in_flight = number
        if not self._stopping.is_set():
            self._room = self._queue_limit - number

    def _fail(self, number: int) -> None:
        self.failed += number
        self._tell_failed(number)

    def _give_up(self) -> None:
        left = self.waiting
        self._queue.clear()
        self._in_flight = 0
        if left:
            self._fail(left)
            structlog.get_logger().error("events lost: the store did not accept them in time", lost=left)
        lost = sum(count.counted for count in self._counts.take())
        if lost:
            structlog.get_logger().error("counts lost: the store did not accept them in time", lost=lost)
