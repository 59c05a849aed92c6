"""Supervisor of the worker processes: starts, watches, replaces and stops them. They share the listening sockets.

With one worker everything runs in this process. With several workers and without Redis, one additional process owns the
shared cache. The caller defines what a worker does; nothing here knows HTTP.
"""

import contextlib
import multiprocessing
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import structlog
from msgspec import Struct

from agentgate.decision.rates.board import board_bytes
from agentgate.lib.settings.inherited import passed_sockets
from agentgate.lib.settings.schema import Settings
from agentgate.lib.settings.values import UNIX, ListenAddress
from agentgate.server.handover import Handover
from agentgate.server.shared_memory import SharedMemory, share_memory
from agentgate.server.unix_socket import open_unix_socket
from agentgate.storage.shared_cache.owned import Pair, open_pairs, run_owner

BACKLOG = 2048
# The number of the shared cache's owner; workers have those from 1 on.
OWNER = 0
Heartbeat = Callable[[], None]


class ListenRefused(Exception):  # noqa: N818 - a setting to correct, told in one line
    """A listener could not be opened."""


class Sockets(NamedTuple):
    """The listening sockets, bound and not blocking; and of several workers without Redis, what they share."""

    public: socket.socket
    admin: socket.socket
    # The public listener's Unix socket.
    local: socket.socket | None = None
    # This worker's way to the owner of the shared cache.
    cache_end: socket.socket | None = None
    memory: SharedMemory | None = None

    @property
    def listeners(self) -> list[socket.socket]:
        """All that listen, in the order of LISTENERS."""
        return [self.public, self.admin, *([] if self.local is None else [self.local])]


# The body of a worker: it serves until SIGTERM or SIGINT, drains and returns. Once it serves, it calls `heartbeat`
# every second from the event loop that handles requests, so that a blocked loop is noticed. Ctrl-C reaches the workers
# twice: from the terminal as SIGINT, and from the supervisor as SIGTERM.
RunWorker = Callable[[Settings, Sockets, Heartbeat], None]
OnReady = Callable[[Sockets], None]


class Timings(Struct, frozen=True, kw_only=True):
    """Timeouts and delays of the supervisor. Tests use shorter ones."""

    silence_s: float = 5.0
    # Until the first heartbeat more time is allowed: modules are imported, stores opened, keys loaded.
    start_s: float = 60.0
    # A worker that lived this long counts as sound; its death starts no back-off.
    steady_s: float = 10.0
    first_delay_s: float = 0.1
    longest_delay_s: float = 5.0
    # After so many deaths before any worker has served, the supervisor gives up.
    crash_loop_deaths: int = 5
    # On top of the drain time, for closing stores.
    close_s: float = 5.0


DEFAULT_TIMINGS = Timings()


def supervise(
    settings: Settings,
    run_worker: RunWorker,
    *,
    on_ready: OnReady | None = None,
    preload: tuple[str, ...] = (),
    timings: Timings = DEFAULT_TIMINGS,
) -> int:
    """Open the listeners and run the workers until told to stop; return the exit code.

    `on_ready` is called once, in this process, when the first worker serves. `preload` names the modules that a worker
    needs: they are imported once for all workers, so that a new one serves within a fraction of a second.
    """
    sockets = open_sockets(settings)
    handover = Handover(sockets.listeners)
    first_heartbeat = _FirstHeartbeat(on_ready, sockets, handover)
    before = signal.signal(signal.SIGUSR2, handover.begin)
    try:
        if settings.workers == 1:
            run_worker(settings, sockets, first_heartbeat)
            return 0
        # A server that only imports and forks: what it forks from has no threads and no open SQLite files, neither of
        # which survives a fork.
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(list(preload))
        pairs = [] if settings.redis_url else open_pairs(settings.workers)
        start = _Starter(context, run_worker, settings=settings, sockets=sockets, pairs=pairs)
        return _Supervisor(settings, sockets, start, first_heartbeat=first_heartbeat, timings=timings).run()
    finally:
        signal.signal(signal.SIGUSR2, before)
        _close(sockets)


def open_sockets(settings: Settings) -> Sockets:
    """Use the sockets that were passed and open the others; raise ListenRefused if one cannot be opened."""
    passed = passed_sockets()
    with contextlib.ExitStack() as opened:
        public = _take(passed, "public") or _listen(settings.public_listen, "AGENTGATE_PUBLIC_LISTEN")
        opened.callback(public.close)
        admin = _take(passed, "admin") or _listen(settings.admin_listen, "AGENTGATE_ADMIN_LISTEN")
        opened.callback(admin.close)
        local = _take(passed, "local") or _listen_on_path(settings)
        opened.pop_all()
    return Sockets(public, admin, local)


def _take(passed: dict[str, int], name: str) -> socket.socket | None:
    """Return a passed socket. It stays open in a restart: clients that connect wait for the next process."""
    if name not in passed:
        return None
    os.set_inheritable(passed[name], False)  # noqa: FBT003 - the standard library's signature
    try:
        listener = socket.socket(fileno=passed[name])
    except OSError as error:
        raise ListenRefused(f"the passed {name} socket cannot be used: {error.strerror}") from error
    if listener.type != socket.SOCK_STREAM or not listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        listener.close()
        raise ListenRefused(f"the passed {name} socket is not one that listens; use ListenStream=")
    # A Unix socket's clients are trusted proxies, so it must not replace another listener.
    if (listener.family == socket.AF_UNIX) != (name == "local"):
        listener.close()
        kind = "a Unix socket" if name == "local" else "an address and a port"
        raise ListenRefused(f"the passed {name} socket is of another kind; ListenStream= must give {kind}")
    listener.setblocking(False)  # noqa: FBT003 - likewise
    return listener


def _listen(address: ListenAddress, variable: str) -> socket.socket:
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise ListenRefused(f"cannot listen on {address}: {error.strerror}; set {variable}") from error
    try:
        # Otherwise, a restart would have to wait until the kernel has dropped old connections.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(place)
        listener.listen(BACKLOG)
        listener.setblocking(False)  # noqa: FBT003 - the standard library's signature
    except OSError as error:
        listener.close()
        raise ListenRefused(f"cannot listen on {address}: {error.strerror}; set {variable}") from error
    return listener


def _listen_on_path(settings: Settings) -> socket.socket | None:
    path = settings.public_listen.path
    if not path:
        return None
    try:
        return open_unix_socket(
            Path(path), mode=settings.public_socket_mode, group=settings.public_socket_group, backlog=BACKLOG
        )
    except OSError as error:
        settings_named = "AGENTGATE_PUBLIC_LISTEN or AGENTGATE_PUBLIC_SOCKET_GROUP"
        raise ListenRefused(f"cannot listen on {UNIX}{path}: {error.strerror}; set {settings_named}") from error


class _FirstHeartbeat:
    """Called for each heartbeat; reports the first one."""

    def __init__(self, on_ready: OnReady | None, sockets: Sockets, handover: Handover) -> None:
        self._on_ready = on_ready
        self._sockets = sockets
        self._handover: Handover | None = handover

    def __call__(self) -> None:
        if self._handover is None:
            return
        handover, self._handover = self._handover, None
        handover.finish()
        if self._on_ready is not None:
            self._on_ready(self._sockets)


def _close(sockets: Sockets) -> None:
    for listener in sockets.listeners:
        listener.close()


class _HeartbeatPipe:
    """Sends heartbeats to the supervisor."""

    def __init__(self, pipe: Connection, *, end_by: signal.Signals = signal.SIGTERM) -> None:
        self._pipe = pipe
        self._end_by = end_by
        self._is_orphaned = False
        os.set_blocking(pipe.fileno(), False)

    def __call__(self) -> None:
        try:
            os.write(self._pipe.fileno(), b".")
        except BlockingIOError:
            # The supervisor is stopped, and the pipe is full of unread heartbeats.
            return
        except BrokenPipeError:
            # The supervisor is gone and cannot replace or stop this process, so it ends itself; a worker drains first.
            # Once: the same signal a second time means not to wait for open requests.
            if not self._is_orphaned:
                self._is_orphaned = True
                os.kill(os.getpid(), self._end_by)


def _work(run_worker: RunWorker, settings: Settings, sockets: Sockets, pipe: Connection) -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    try:
        run_worker(settings, sockets, _HeartbeatPipe(pipe))
    except Exception:  # noqa: BLE001 - whatever it is, it ends this process
        # Left alone, the traceback would go to standard error as it is, secrets in messages and all.
        structlog.get_logger("agentgate.supervisor").exception("worker failed")
        sys.exit(1)


def _own(ends: list[socket.socket], pipe: Connection) -> None:
    run_owner(ends, _HeartbeatPipe(pipe, end_by=signal.SIGKILL))


class _Worker:
    """One running process, its pipe and its last heartbeat."""

    def __init__(self, process: ForkServerProcess, pipe: Connection, started_s: float) -> None:
        self.process = process
        self.pipe = pipe
        self.started_s = started_s
        self.heartbeat_s: float | None = None

    def is_silent(self, now_s: float, timings: Timings) -> bool:
        if self.heartbeat_s is None:
            return now_s - self.started_s > timings.start_s
        return now_s - self.heartbeat_s > timings.silence_s

    def read_heartbeats(self, now_s: float) -> None:
        # At the end of the pipe os.read gives nothing at once; the process's own end is noticed elsewhere.
        with contextlib.suppress(BlockingIOError):
            if os.read(self.pipe.fileno(), 4096):
                self.heartbeat_s = now_s

    def release(self) -> None:
        self.process.join()
        self.process.close()
        self.pipe.close()


class _Starter:
    """Starts worker processes, and the owner of the shared cache."""

    def __init__(
        self,
        context: ForkServerContext,
        run_worker: RunWorker,
        *,
        settings: Settings,
        sockets: Sockets,
        pairs: list[Pair],
    ) -> None:
        self._context = context
        self._arguments = (run_worker, settings)
        self._sockets = sockets
        self._pairs = pairs
        self._memory = share_memory(board_bytes(settings.workers)) if pairs else None
        self.numbers = range(0 if pairs else 1, settings.workers + 1)

    def __call__(self, number: int) -> _Worker:
        if number == OWNER:
            return self._start(_own, [pair.owner_end for pair in self._pairs], name="shared-cache")
        # Both ends stay open here: a replaced worker uses the same pair.
        end = self._pairs[number - 1].worker_end if self._pairs else None
        memory = None if self._memory is None else self._memory.of(number - 1)
        sockets = self._sockets._replace(cache_end=end, memory=memory)
        return self._start(_work, *self._arguments, sockets, name=f"worker-{number}")

    def _start(self, target: Callable[..., None], *arguments: object, name: str) -> _Worker:
        reader, writer = self._context.Pipe(duplex=False)
        process = self._context.Process(target=target, args=(*arguments, writer), name=name)
        # The first start also starts the fork server, which keeps this mask. A process manager may send SIGTERM to
        # every process; if that ended the fork server, the supervisor would not see whether the workers have drained.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        # Only the worker may hold the writing end, or its death would not close the pipe.
        writer.close()
        os.set_blocking(reader.fileno(), False)
        return _Worker(process, reader, time.monotonic())


class _Slot(Struct):
    """A worker slot: its process, how often it died soon after its start, and when the next one may start."""

    number: int
    worker: _Worker | None = None
    early_deaths: int = 0
    start_at_s: float = 0.0

    @property
    def name(self) -> str:
        return "owner of the shared cache" if self.number == OWNER else "worker"


class _Supervisor:
    """The parent process. It has no threads and no event loop: one `wait` over deaths, heartbeats and signals."""

    def __init__(
        self, settings: Settings, sockets: Sockets, start: _Starter, *, first_heartbeat: Heartbeat, timings: Timings
    ) -> None:
        self._drain_seconds = settings.drain_seconds
        self._sockets = sockets
        self._start = start
        self._first_heartbeat = first_heartbeat
        self._timings = timings
        self._slots = [_Slot(number) for number in start.numbers]
        self._deaths = 0
        self._has_served = False
        self._stop_signals = 0
        self._log = structlog.get_logger("agentgate.supervisor")

    def run(self) -> int:
        with self._signals() as wakeup:
            while not self._stop_signals:
                self._start_due()
                self._wait(wakeup)
                self._replace_silent()
                self._reap_dead()
                if self._is_crash_loop():
                    self._log.error("workers exit immediately after starting: stopping", deaths=self._deaths)
                    self._stop(wakeup)
                    return 1
            self._stop(wakeup)
            return 0

    @contextlib.contextmanager
    def _signals(self) -> Iterator[socket.socket]:
        """Count SIGTERM and SIGINT, and give a socket that becomes readable when one arrives."""
        reader, writer = socket.socketpair()
        writer.setblocking(False)  # noqa: FBT003 - the standard library's signature
        reader.setblocking(False)  # noqa: FBT003 - the standard library's signature
        previous_fd = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        previous = {number: signal.signal(number, self._count_signal) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield reader
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(previous_fd)
            reader.close()
            writer.close()

    def _count_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._stop_signals += 1

    def _start_due(self) -> None:
        for slot in self._slots:
            if slot.worker is None and time.monotonic() >= slot.start_at_s:
                slot.worker = self._start(slot.number)
                self._log.info(f"{slot.name} started", worker=slot.number, pid=slot.worker.process.pid)

    def _living(self) -> Iterator[tuple[_Slot, _Worker]]:
        for slot in self._slots:
            if slot.worker is not None:
                yield slot, slot.worker

    def _wait(self, wakeup: socket.socket) -> None:
        """Sleep until a worker dies or sends a heartbeat, a signal arrives, or a start is due."""
        sentinels = [worker.process.sentinel for _, worker in self._living()]
        by_pipe = {worker.pipe: (slot, worker) for slot, worker in self._living() if worker.process.is_alive()}
        ready = wait([wakeup, *sentinels, *by_pipe], timeout=self._next_due_s())
        now_s = time.monotonic()
        for thing in ready:
            if isinstance(thing, Connection):
                slot, worker = by_pipe[thing]
                worker.read_heartbeats(now_s)
                if slot.number != OWNER and worker.heartbeat_s is not None:
                    self._first_heartbeat()
        with contextlib.suppress(BlockingIOError):
            wakeup.recv(4096)

    def _next_due_s(self) -> float:
        starts = [slot.start_at_s - time.monotonic() for slot in self._slots if slot.worker is None]
        # Checked often enough to notice a missing heartbeat soon after its timeout.
        return max(0.0, min([*starts, self._timings.silence_s / 10]))

    def _replace_silent(self) -> None:
        now_s = time.monotonic()
        for slot, worker in self._living():
            if worker.is_silent(now_s, self._timings) and worker.process.is_alive():
                self._log.error(f"{slot.name} does not respond, killing it", worker=slot.number, pid=worker.process.pid)
                # A blocked loop does not get to handle SIGTERM.
                worker.process.kill()
                worker.process.join()

    def _reap_dead(self) -> None:
        now_s = time.monotonic()
        for slot, worker in self._living():
            self._has_served = self._has_served or (slot.number != OWNER and worker.heartbeat_s is not None)
            if worker.process.is_alive():
                continue
            lived_s = now_s - worker.started_s
            self._log.warning(f"{slot.name} died", worker=slot.number, exit_code=worker.process.exitcode)
            worker.release()
            slot.worker = None
            self._deaths += slot.number != OWNER
            slot.early_deaths = 0 if lived_s >= self._timings.steady_s else slot.early_deaths + 1
            slot.start_at_s = now_s + self._delay_s(slot.early_deaths)

    def _delay_s(self, early_deaths: int) -> float:
        # The first death causes no delay; a process that dies again and again would only use up the processor.
        if early_deaths <= 1:
            return 0.0
        return min(self._timings.first_delay_s * 2.0 ** min(early_deaths - 2, 16), self._timings.longest_delay_s)

    def _is_crash_loop(self) -> bool:
        # Only at the start: once it has served, it keeps trying, because the cause may be temporary (an unavailable
        # store).
        return not self._has_served and self._deaths >= self._timings.crash_loop_deaths

    def _stop(self, wakeup: socket.socket) -> None:
        """Let the workers drain; kill what is left after the deadline, or at once when told to stop a second time."""
        # The workers close their copies when they stop accepting; this copy would keep taking connections that no
        # worker serves.
        _close(self._sockets)
        workers = [worker for slot, worker in self._living() if slot.number != OWNER]
        for worker in workers:
            worker.process.terminate()
        signals_before = self._stop_signals
        deadline_s = time.monotonic() + self._drain_seconds + self._timings.close_s
        while self._stop_signals == signals_before and time.monotonic() < deadline_s:
            sentinels = [worker.process.sentinel for worker in workers if worker.process.is_alive()]
            if not sentinels:
                break
            wait([wakeup, *sentinels], timeout=max(0.0, deadline_s - time.monotonic()))
            with contextlib.suppress(BlockingIOError):
                wakeup.recv(4096)
        for slot, worker in self._living():
            if worker.process.is_alive():
                # The owner of the shared cache has nothing to finish, and had to serve the draining workers.
                if slot.number != OWNER:
                    self._log.warning("worker did not drain in time, killing it", worker=slot.number)
                worker.process.kill()
            worker.release()
            slot.worker = None
