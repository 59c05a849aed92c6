"""The shared cache that all workers of a machine share without Redis: one process owns it and holds it in memory.

Each worker has a socket pair with the owner, created by the supervisor, which keeps both ends: a restarted owner or
worker uses the same pair. There is no path and no port, so no other process can connect. A worker's calls of one loop
iteration go in one message; each ends within its timeout, and one that fails raises StoreUnavailable.
"""

import asyncio
import secrets
import signal
import socket
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple, cast

import msgspec

from agentgate.lib.clock import Clock, SystemClock
from agentgate.lib.database import StoreUnavailable
from agentgate.lib.shared_cache import Addition
from agentgate.storage.shared_cache.memory import MemorySharedCache

# One message. Keys are short; a larger message is rejected by the kernel and fails at the caller.
MESSAGE_BYTES = 128 * 1024
BEAT_S = 0.2
# A process can be handed some 250 sockets at its start.
MOST_WORKERS = 200

GET, PUT, TAKE_ONCE, ADD, DELETE, PING = range(6)

# The operation, the key, a value or an amount, the time to live in milliseconds.
OwnerCall = tuple[int, bytes, bytes | int, int]
Result = bytes | int | bool | None


class OwnerRequest(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Calls of one worker, done in their order."""

    number: int
    # On the machine's monotonic clock: the caller has given up then.
    deadline_ns: int
    calls: list[OwnerCall]


class OwnerAnswer(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The results of the request with this number. `owner` changes when an owner is replaced."""

    number: int
    owner: int
    results: list[Result]


class Pair(NamedTuple):
    """The two ends between a worker and the owner."""

    worker_end: socket.socket
    owner_end: socket.socket


def open_pairs(workers: int) -> list[Pair]:
    """Return a pair for each worker; none when there are more than an owner can be given."""
    return [open_pair() for _ in range(workers)] if workers <= MOST_WORKERS else []


def open_pair() -> Pair:
    """Return two connected sockets. Datagrams, because a message whose sender or reader is killed is whole or gone."""
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    for end in ends:
        end.setblocking(False)  # noqa: FBT003 - the standard library's signature
        for buffer in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            end.setsockopt(socket.SOL_SOCKET, buffer, 2 * MESSAGE_BYTES)
    return Pair(*ends)


def run_owner(ends: Sequence[socket.socket], beat: Callable[[], None]) -> None:
    """Serve the workers until killed: the body of the owner's process. It has nothing to finish or to save."""
    # A signal to the whole process group is meant for the service; workers that drain still count here.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    asyncio.run(_own(ends, beat))


async def _own(ends: Sequence[socket.socket], beat: Callable[[], None]) -> None:
    owner = Owner(SystemClock())
    for end in ends:
        owner.serve(end)
    while True:
        beat()
        await asyncio.sleep(BEAT_S)


class Owner:
    """The counters in memory, and the responses to workers."""

    def __init__(self, clock: Clock) -> None:
        self._name = secrets.randbits(63)
        self._store = MemorySharedCache(clock)
        self._decoder = msgspec.msgpack.Decoder(OwnerRequest)
        self._encoder = msgspec.msgpack.Encoder()

    def serve(self, end: socket.socket) -> None:
        """Serve the requests of this socket from now on."""
        asyncio.get_running_loop().add_reader(end, self._answer_next, end)

    def _answer_next(self, end: socket.socket) -> None:
        try:
            request = self._decoder.decode(end.recv(2 * MESSAGE_BYTES))
        except (BlockingIOError, msgspec.DecodeError):
            return
        # A caller that has given up counts elsewhere or asks again: to add now would count twice.
        if time.monotonic_ns() > request.deadline_ns:
            return
        answer = OwnerAnswer(request.number, self._name, [self._do(*call) for call in request.calls])
        try:
            end.send(self._encoder.encode(answer))
        except OSError:
            # A worker that does not read gets no response.
            return

    def _do(self, kind: int, name: bytes, value: bytes | int, ttl_ms: int) -> Result:
        key = name.decode("utf-8", "surrogatepass")
        store = self._store
        if kind == ADD:
            return store.add_now(key, int(value), ttl_ms=ttl_ms)
        if kind == GET:
            return store.get_now(key)
        if kind == TAKE_ONCE:
            return store.take_once_now(key, ttl_ms=ttl_ms)
        if kind == PUT:
            store.put_now(key, bytes(value), ttl_ms=ttl_ms)
        elif kind == DELETE:
            store.delete_now(key)
        return True


# No other caller is delayed, so that a busy machine has enough time: an event loop alone takes about 15 ms for a
# response. Only an owner that is gone uses all of it.
TIMEOUT_S = 0.25
# So many of one caller's calls stay together.
CALLS_AT_ONCE = 500
# Bytes of a call in a message besides key and value.
CALL_BYTES = 32


class _Asked:
    """Calls of one caller, and the future that it awaits."""

    __slots__ = ("calls", "results", "size")

    def __init__(self, calls: list[OwnerCall], results: asyncio.Future[list[Result]]) -> None:
        self.calls = calls
        self.results = results
        self.size = sum(
            len(call[1]) + (len(call[2]) if isinstance(call[2], bytes) else 0) + CALL_BYTES for call in calls
        )


class OwnedSharedCache:
    """Implements SharedCache in the memory of the owner. Made inside the event loop that asks."""

    kind = "memory that the workers share"
    # Responses come from another process, which others use too.
    is_alone = False

    def __init__(self, end: socket.socket, *, timeout_s: float = TIMEOUT_S) -> None:
        self._end = end
        self._timeout_s = timeout_s
        # The owner that responded last.
        self.incarnation = 0
        # A predecessor's responses may still be in the socket; a random start makes equal numbers improbable.
        self._number = secrets.randbits(62)
        self._waiting: deque[_Asked] = deque()
        self._under_way: list[_Asked] = []
        self._under_way_number = 0
        self._timer: asyncio.TimerHandle | None = None
        self._is_flush_due = False
        self._decoder = msgspec.msgpack.Decoder(OwnerAnswer)
        self._encoder = msgspec.msgpack.Encoder()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(end, self._receive)

    async def get(self, key: str) -> bytes | None:
        return cast("bytes | None", await self._call(GET, key))

    async def put(self, key: str, value: bytes, *, ttl_ms: int) -> None:
        await self._call(PUT, key, value, ttl_ms=_checked(ttl_ms))

    async def take_once(self, key: str, *, ttl_ms: int) -> bool:
        return bool(await self._call(TAKE_ONCE, key, ttl_ms=_checked(ttl_ms)))

    async def add(self, key: str, amount: int, *, ttl_ms: int) -> int:
        return cast("int", await self._call(ADD, key, amount, ttl_ms=_checked(ttl_ms)))

    async def exchange(self, additions: Sequence[Addition], *, ttl_ms: int) -> list[int]:
        """Add to many counters in a message or a few; return the new counts."""
        return await self._ask_many([(ADD, _name(key), amount, _checked(ttl_ms)) for key, amount in additions])

    async def restore(self, counters: Sequence[tuple[str, int, int]]) -> None:
        """Add to counters that a former owner had: key, count, remaining time to live of each."""
        await self._ask_many([(ADD, _name(key), count, ttl_ms) for key, count, ttl_ms in counters])

    async def delete(self, key: str) -> None:
        await self._call(DELETE, key)

    async def ping(self) -> bool:
        try:
            return bool(await self._call(PING, ""))
        except StoreUnavailable:
            return False

    async def close(self) -> None:
        """Let go of the socket. Waiting calls fail with StoreUnavailable."""
        self._loop.remove_reader(self._end)
        self._fail_all("closed")
        self._end.close()

    async def _call(self, kind: int, key: str, value: bytes | int = 0, *, ttl_ms: int = 0) -> Result:
        [result] = await self._ask([(kind, _name(key), value, ttl_ms)])
        return result

    async def _ask_many(self, calls: list[OwnerCall]) -> list[int]:
        chunks = [calls[start : start + CALLS_AT_ONCE] for start in range(0, len(calls), CALLS_AT_ONCE)]
        results = await asyncio.gather(*(self._ask(chunk) for chunk in chunks))
        return [cast("int", count) for chunk in results for count in chunk]

    def _ask(self, calls: list[OwnerCall]) -> asyncio.Future[list[Result]]:
        asked = _Asked(calls, self._loop.create_future())
        self._waiting.append(asked)
        if not self._under_way and not self._is_flush_due:
            # Not at once: other calls of this loop iteration go in the same message.
            self._is_flush_due = True
            self._loop.call_soon(self._flush)
        return asked.results

    def _flush(self) -> None:
        self._is_flush_due = False
        if self._under_way or not self._waiting:
            return
        size = 0
        while self._waiting and (not self._under_way or size + self._waiting[0].size <= MESSAGE_BYTES):
            asked = self._waiting.popleft()
            size += asked.size
            self._under_way.append(asked)
        self._under_way_number = self._send([call for each in self._under_way for call in each.calls], self._timeout_s)
        if self._under_way_number:
            self._timer = self._loop.call_later(self._timeout_s, self._give_up, self._under_way_number)
        else:
            self._fail_all("does not read")

    def _send(self, calls: list[OwnerCall], timeout_s: float) -> int:
        """Send a request; return its number, or 0 when the owner has left too many unread."""
        self._number += 1
        deadline_ns = time.monotonic_ns() + int(timeout_s * 1e9)
        try:
            self._end.send(self._encoder.encode(OwnerRequest(self._number, deadline_ns, calls)))
        except OSError:
            return 0
        return self._number

    def _receive(self) -> None:
        while True:
            try:
                answer = self._decoder.decode(self._end.recv(2 * MESSAGE_BYTES))
            except (OSError, msgspec.DecodeError):
                return
            self.incarnation = answer.owner
            if answer.number == self._under_way_number:
                self._hand_out(answer.results)

    def _hand_out(self, results: list[Result]) -> None:
        self._stop_timer()
        under_way, self._under_way, self._under_way_number = self._under_way, [], 0
        start = 0
        for asked in under_way:
            end = start + len(asked.calls)
            # A canceled caller waits no more.
            if not asked.results.done():
                asked.results.set_result(results[start:end])
            start = end
        self._flush()

    def _give_up(self, number: int) -> None:
        # The response may have come while the event loop was busy.
        self._receive()
        if number == self._under_way_number:
            self._fail_all("did not respond in time")

    def _fail_all(self, reason: str) -> None:
        """Fail the calls under way and those behind them, which would wait as long again."""
        self._stop_timer()
        failed = [*self._under_way, *self._waiting]
        self._waiting.clear()
        self._under_way, self._under_way_number = [], 0
        for asked in failed:
            if not asked.results.done():
                asked.results.set_exception(StoreUnavailable(f"the owner of the shared cache {reason}"))

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _name(key: str) -> bytes:
    # A key may hold what a client sent; a lone surrogate in it must not become an error of ours.
    return key.encode("utf-8", "surrogatepass")


def _checked(ttl_ms: int) -> int:
    if ttl_ms <= 0:
        raise ValueError("a time to live must be positive")
    return ttl_ms
