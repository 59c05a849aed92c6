"""One listening socket that serves an ASGI application and hot paths through `GateProtocol`.

It opens and closes, keeps the date and the deadlines ticking, and drains. Signals, workers and lifespan are elsewhere.
"""

import asyncio
import logging
import os
import socket
import sys
from dataclasses import dataclass, field
from email.utils import formatdate
from types import MappingProxyType
from typing import Any

import uvicorn

from agentgate.http.connection.fast_functions import HotPaths
from agentgate.http.connection.protocol import GateProtocol
from agentgate.http.connection.state import ConnectionLimits, GateState
from agentgate.lib.clock import Clock

_NO_HOT_PATHS: HotPaths = MappingProxyType({})
_DRAIN_STEP_S = 0.01
# While draining, so long may a request be on its way over a connection that looks idle.
IDLE_GRACE_S = 2.0
# The loop takes one new connection in a turn from each descriptor that it listens on. A turn at full load takes tens of
# milliseconds, and a proxy that needs more connections then needs all of them at once.
_ACCEPTORS = 16
# After this long a canceled request that still runs is left behind, because the process has to end.
_CANCEL_GRACE_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerOptions:
    """Where to listen: an inherited socket if there is one, else host and port; and a Unix socket besides."""

    host: str = "127.0.0.1"
    port: int = 0
    inherited: socket.socket | None = None
    local: socket.socket | None = None
    backlog: int = 2048
    limits: ConnectionLimits = field(default_factory=ConnectionLimits)


class Listener:
    """Listens once: `start`, then `drain`."""

    def __init__(
        self, app: Any, options: ListenerOptions, *, clock: Clock, hot_paths: HotPaths = _NO_HOT_PATHS
    ) -> None:
        self._options = options
        self._clock = clock
        self._hot_paths = hot_paths
        self._state = GateState(hot_paths)
        self._config = _config(app, options)
        self._servers: list[asyncio.Server] = []
        self._ticking: asyncio.Task[None] | None = None
        self._address: tuple[str, int] | None = None

    @property
    def address(self) -> tuple[str, int]:
        """The host and port really bound."""
        if self._address is None:
            raise RuntimeError("the listener has not been started")
        return self._address

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self._state.connections)

    @property
    def in_flight(self) -> int:
        """The number of requests that run in a task, or wait for a response without one."""
        return len(self._state.tasks) + self._state.pending

    @property
    def deferred(self) -> int:
        """How many requests wait until there is time for them."""
        return self._state.budget.waiting

    @property
    def answered(self) -> int:
        """The number of requests with a response, without rejected ones."""
        return self._state.total_requests

    @property
    def shed(self) -> int:
        """How many requests found no room."""
        return self._state.shed

    @property
    def refused(self) -> dict[str, int]:
        """The number of requests that the guard or a deadline rejected, by code."""
        return dict(self._state.refused)

    async def start(self) -> None:
        """Bind, listen and accept from now on."""
        if self._servers:
            raise RuntimeError("a listener starts once")
        self._set_date()
        server = await self._open()
        self._servers.append(server)
        self._address = _bound_address(server.sockets[0])
        for _ in range(1, _ACCEPTORS):
            self._servers.append(await self._open_again(server.sockets[0]))
            if self._options.local is not None:
                self._servers.append(await self._open_again(self._options.local))
        self._ticking = asyncio.create_task(self._tick())

    def stop_accepting(self) -> None:
        """Close the listening socket. Open connections continue."""
        if not self._servers or not self._servers[0].is_serving():
            return
        for server in self._servers:
            server.close()
        if self._options.local is not None:
            self._options.local.close()

    def announce_close(self) -> None:
        """Close each connection after its next response, which has `Connection: close`."""
        self._state.is_draining = True
        for connection in self._connections():
            connection.announce_close()

    async def drain(self, timeout_s: float) -> int:
        """Stop accepting, let what runs finish, close the rest; return how many requests had to be canceled.

        An idle connection stays open for a while: a request may be on its way, and closing would lose it.
        """
        self.stop_accepting()
        self.announce_close()
        idle_until = asyncio.get_running_loop().time() + min(timeout_s, IDLE_GRACE_S)
        for connection in self._connections():
            connection.limit_idle(idle_until)
        deadline = asyncio.get_running_loop().time() + timeout_s
        # Connections and tasks leave from many places; looking again is simpler than telling an event from each.
        while self._is_open() and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(_DRAIN_STEP_S)
        cancelled = await self._cancel_rest()
        if self._ticking is not None:
            self._ticking.cancel()
            await asyncio.wait([self._ticking])
        return cancelled

    def _connections(self) -> list[Any]:
        return list(self._state.connections)

    def _is_open(self) -> bool:
        return bool(self._state.connections or self._state.tasks)

    async def _cancel_rest(self) -> int:
        tasks = list(self._state.tasks)
        for task in tasks:
            task.cancel("the drain timeout has expired")
        if tasks:
            await asyncio.wait(tasks, timeout=_CANCEL_GRACE_S)
        for connection in self._connections():
            connection.transport.abort()
        # Transports report their end in the next loop iteration.
        await asyncio.sleep(0)
        return len(tasks)

    async def _open(self) -> asyncio.Server:
        loop = asyncio.get_running_loop()
        options = self._options
        if options.inherited is not None:
            return await loop.create_server(self._new_connection, sock=options.inherited, backlog=options.backlog)
        return await loop.create_server(
            self._new_connection, host=options.host, port=options.port, backlog=options.backlog
        )

    async def _open_again(self, listening: Any) -> asyncio.Server:
        """Listen on the same socket through one more descriptor."""
        loop = asyncio.get_running_loop()
        same = socket.socket(fileno=os.dup(listening.fileno()))
        if same.family != socket.AF_UNIX:
            return await loop.create_server(self._new_connection, sock=same, backlog=self._options.backlog)
        # Since Python 3.13 a server deletes the file of its socket when it closes. Other descriptors and a successor
        # listen on the same socket.
        kept: dict[str, Any] = {} if sys.version_info < (3, 13) else {"cleanup_socket": False}
        return await loop.create_unix_server(self._new_connection, sock=same, backlog=self._options.backlog, **kept)

    def _new_connection(self) -> GateProtocol:
        return GateProtocol(self._config, self._state, limits=self._options.limits, hot_paths=self._hot_paths)

    async def _tick(self) -> None:
        loop = asyncio.get_running_loop()
        interval_s = _tick_interval_s(self._options.limits)
        while True:
            await asyncio.sleep(interval_s)
            self._set_date()
            now = loop.time()
            for connection in self._connections():
                _check(connection, now)

    def _set_date(self) -> None:
        self._state.set_date(formatdate(self._clock.now_ms() / 1000, usegmt=True).encode("ascii"))


def _check(connection: Any, now: float) -> None:
    try:
        connection.check_deadlines(now)
    except Exception:
        # One bad connection must not end the deadlines of all others.
        logging.getLogger("agentgate.http").exception("a deadline could not be kept")
        connection.transport.abort()


def _tick_interval_s(limits: ConnectionLimits) -> float:
    """Return once a second, or oftener if a deadline is so short that a second more would matter."""
    shortest_s = min(limits.header_deadline_s, limits.body_deadline_s, limits.keep_alive_s, limits.write_stall_s)
    return max(0.02, min(1.0, shortest_s / 4))


def _bound_address(bound: Any) -> tuple[str, int]:
    host, port, *_ = bound.getsockname()
    return str(host), int(port)


def _config(app: Any, options: ListenerOptions) -> uvicorn.Config:
    config = uvicorn.Config(
        app=app,
        interface="asgi3",
        http=GateProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=True,
        backlog=options.backlog,
    )
    config.load()
    return config
