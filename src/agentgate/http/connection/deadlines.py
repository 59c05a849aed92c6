"""Deadlines of a connection and of its client, stalled writing, and the number of connections.

Requests are read and handled in `protocol.py`.
"""

import asyncio
import socket
from abc import abstractmethod
from collections import deque
from collections.abc import Callable
from heapq import nsmallest
from math import inf
from operator import itemgetter
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from agentgate.http import request_guard
from agentgate.http.connection.state import BETWEEN, BODY, HEAD, ConnectionLimits, GateState
from agentgate.http.request_guard import RequestRefusal

TOO_MANY = "too_many_connections"
IDLE_CLOSED = "idle_closed"
# The idlest connections are looked up together: a look at each of thousands takes milliseconds.
CLOSED_AT_MOST = 256
LOOKED_UP_EVERY_S = 0.1


class TimedConnection(HttpToolsProtocol):
    """A connection with a deadline. At most one of its requests runs; the others are queued."""

    # Read several times for each request. In the dictionary of uvicorn's class there would be too many for fast access.
    __slots__ = (
        "_deadline", "_deferred_data", "_is_busy", "_is_draining", "_is_first", "_is_lingering", "_is_stopped",
        "_limits", "_phase", "_stall_deadline", "_state", "_timed_phase", "_waiting",
    )  # fmt: skip

    def __init__(
        self,
        config: Config,
        server_state: GateState,
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        limits: ConnectionLimits,
    ) -> None:
        super().__init__(config, server_state, app_state={}, _loop=_loop)
        self._state = server_state
        self._limits = limits
        self._phase: int = BETWEEN
        self._timed_phase: int | None = BETWEEN
        self._deadline = inf
        self._stall_deadline = inf
        self._is_first = True
        self._is_stopped = False
        self._is_lingering = False
        self._is_draining = server_state.is_draining
        self._is_busy = False
        self._waiting: deque[Callable[[], None]] = deque()
        # Data that arrived and is not parsed yet.
        self._deferred_data = b""

    @abstractmethod
    def _advance(self) -> None:
        """Start the next queued request."""

    @abstractmethod
    def _refuse(self, refusal: RequestRefusal) -> None:
        """Respond that this request is not run, and stop reading."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        if self.client is None and transport.get_extra_info("socket").family != socket.AF_UNIX:
            # The client reset the connection before it was accepted. Without a peer, its request would look like one
            # over a Unix socket, which only trusted proxies can open.
            self._is_stopped = True
            transport.abort()
        elif len(self._state.connections) > self._limits.max_connections and not self._make_room():
            # Every other connection has a request.
            self._state.count_refusal(TOO_MANY)
            self._is_stopped = True
            transport.abort()
        self._deadline = self.loop.time() + self._limits.header_deadline_s

    def _make_room(self) -> bool:
        """Close the idlest connection; False if none is idle."""
        state, now_s = self._state, self.loop.time()
        if not state.idlest and now_s - state.idlest_s > LOOKED_UP_EVERY_S:
            state.idlest_s = now_s
            others: list[Any] = [each for each in state.connections if each is not self]
            found = [(each.idleness, each) for each in others]
            idle = [(idleness, each) for idleness, each in found if idleness is not None]
            state.idlest = nsmallest(CLOSED_AT_MOST, idle, key=itemgetter(0))[::-1]
        while state.idlest:
            idleness, connection = state.idlest.pop()
            # It may have been used, or have ended, since it was looked up.
            if connection.idleness == idleness:
                state.count_refusal(IDLE_CLOSED)
                connection.transport.close()
                return True
        return False

    @property
    def idleness(self) -> tuple[bool, bool, float] | None:
        """A key that orders connections, the idlest first; None if a request is complete, running or waiting.

        Connections that never sent anything come first, then used ones, then those with a part of a request.
        """
        if self._is_busy or self._waiting or self._deferred_data or self._is_lingering or self._phase == BODY:
            return None
        if self.transport.is_closing():
            return None
        return self._phase != BETWEEN, not self._is_first, self._deadline

    def limit_idle(self, until: float) -> None:
        """Let the connection be idle until then at most."""
        if self._phase == BETWEEN and not (self._is_busy or self._waiting):
            self._deadline = min(self._deadline, until)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stall_deadline = self.loop.time() + self._limits.write_stall_s

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stall_deadline = inf
        self._advance()

    def check_deadlines(self, now: float) -> None:
        """End the connection if its client had its time. Called about once a second: a request sets no timer."""
        is_closing = self.transport.is_closing()
        if is_closing and self._stall_deadline == inf:
            # Closing waits for the last bytes to be taken, which may be never.
            self._stall_deadline = now + self._limits.write_stall_s
        if now >= self._stall_deadline:
            self.transport.abort()
        elif is_closing or now < self._deadline:
            return
        elif self._is_lingering:
            # After the response, if it is not written completely yet.
            self.transport.close()
        elif self._deferred_data or self.flow.read_paused:
            # We stopped reading, so the client is not the one who is late.
            self._deadline = now + self._limits.header_deadline_s
        elif self._phase == BETWEEN:
            self.transport.close()
        else:
            self._refuse(request_guard.HEAD_LATE if self._phase == HEAD else request_guard.BODY_LATE)

    def _close_behind_answer(self) -> None:
        """Close at once, or, while a body arrives, when the client has read the response."""
        if self._phase == BODY and not self.transport.is_closing():
            self._waiting.clear()
            self._linger()
        else:
            self.transport.close()

    def _linger(self) -> None:
        """Send and parse nothing more, but receive data in transit for a while.

        Closing at once would reset the connection and discard a response that the client has not read yet.
        """
        self._is_stopped = self._is_lingering = True
        self.transport.write_eof()
        self.flow.resume_reading()
        self._deadline = self.loop.time() + self._limits.linger_s

    def _set_deadline(self) -> None:
        self._timed_phase = phase = self._phase
        if phase == HEAD:
            # The first head of a connection is timed from the moment the connection was made.
            if not self._is_first:
                self._deadline = self.loop.time() + self._limits.header_deadline_s
            return
        self._is_first = False
        if phase == BODY:
            self._deadline = self.loop.time() + self._limits.body_deadline_s
        elif self._is_busy or self._waiting:
            self._deadline = inf
        elif self._is_draining:
            self.transport.close()
        else:
            self._deadline = self.loop.time() + self._limits.keep_alive_s
