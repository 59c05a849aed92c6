"""The owner of the shared cache that all workers of a machine share without Redis: a process that holds it in memory.

Each worker has a socket pair with the owner, made by the supervisor, which keeps both ends: a restarted owner or worker
goes on with the same pair. There is no path and no port, so nobody else can connect. `owned.py` is the workers' side.
"""

import asyncio
import secrets
import signal
import socket
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from agentgate.lib.clock import Clock, SystemClock
from agentgate.storage.shared_cache.memory import MemorySharedCache

# One message. Keys of ours are short; a larger message is refused by the kernel and fails at the caller.
MESSAGE_BYTES = 128 * 1024
BEAT_S = 0.2
# A process can be handed some 250 sockets at its start.
MOST_WORKERS = 200

GET, PUT, TAKE_ONCE, ADD, DELETE, EXCHANGE, PING = range(7)

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
    """Answer the workers until killed: the body of the owner's process. It has nothing to finish or to save."""
    # Whoever stops every process of the group means the service; workers that drain still count here.
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
    """The counters in memory, and the answers to workers."""

    def __init__(self, clock: Clock) -> None:
        self._name = secrets.randbits(63)
        self._store = MemorySharedCache(clock)
        # Apart: a flood of visitors must not push out the counts of wrong passwords.
        self._rates = MemorySharedCache(clock)
        self._decoder = msgspec.msgpack.Decoder(OwnerRequest)
        self._encoder = msgspec.msgpack.Encoder()

    def serve(self, end: socket.socket) -> None:
        """Answer the requests of this socket from now on."""
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
            # A worker that reads nothing is told nothing.
            return

    def _do(self, kind: int, name: bytes, value: bytes | int, ttl_ms: int) -> Result:
        key = name.decode("utf-8", "surrogatepass")
        store = self._rates if kind == EXCHANGE else self._store
        if kind in {ADD, EXCHANGE}:
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
