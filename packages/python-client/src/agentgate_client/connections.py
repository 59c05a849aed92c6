"""Keep-alive connections to one address, for many threads, with a deadline that holds for a whole exchange.

A request may be sent twice when a kept connection turns out to be closed: only such may be sent that may be repeated.
"""

import contextlib
import http.client
import io
import os
import socket
import ssl
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit

KEPT_CONNECTIONS = 16
ANSWER_BYTES = 256 * 1024


class Unreachable(Exception):  # noqa: N818 - says what it is
    """No response arrived. It is unknown whether the request had an effect."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete response."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    # All of them, those that came twice too.
    fields: tuple[tuple[str, str], ...] = ()


class Connections:
    """A small pool. Thread-safe, and safe over a fork: a child never uses its parent's connections."""

    def __init__(self, base_url: str) -> None:
        parts = urlsplit(base_url)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.username:
            raise ValueError(f"{base_url!r} is not the address of a service; give one such as https://gate.example.com")
        self._tls = parts.scheme == "https"
        self._host = parts.hostname
        self._port = parts.port or (443 if self._tls else 80)
        self._host_header = parts.netloc
        self._prefix = parts.path.rstrip("/")
        self._lock = threading.Lock()
        self._kept: list[socket.socket] = []
        self._process_id = os.getpid()
        self._context: ssl.SSLContext | None = None

    def request(
        self, method: str, path: str, *, body: bytes = b"", headers: Mapping[str, str] | None = None, deadline_s: float
    ) -> Answer:
        """Send a request that is safe to repeat and return its response; `deadline_s` is on the monotonic clock."""
        return self.exchange(method, self._message(method, path, body=body, headers=headers or {}), deadline_s)

    def forward(
        self, method: str, path: str, *, headers: Sequence[tuple[str, str]], body: bytes, deadline_s: float
    ) -> Answer:
        """Send a request with only these headers, the host, and the length of the body."""
        length = [("Content-Length", str(len(body)))] if body or method == "POST" else []
        lines = [f"{name}: {value}" for name, value in (("Host", self._host_header), *headers, *length)]
        head = "\r\n".join([f"{method} {self._prefix}{path} HTTP/1.1", *lines, "", ""])
        return self.exchange(method, head.encode("latin-1") + body, deadline_s)

    def exchange(self, method: str, message: bytes, deadline_s: float) -> Answer:
        """Send a whole message, on a kept connection if there is one, and return its response."""
        try:
            kept = self._take()
            if kept is not None:
                # The service closes connections that were idle for long; that is expected, and a new one is tried.
                with contextlib.suppress(ConnectionError):
                    return self._exchange(kept, method, message, deadline_s=deadline_s)
            return self._exchange(self._connect(deadline_s), method, message, deadline_s=deadline_s)
        except (OSError, http.client.HTTPException) as problem:
            raise Unreachable(f"{type(problem).__name__}: {problem}") from None

    def close(self) -> None:
        """Close what is kept. The next request opens a new connection."""
        with self._lock:
            kept, self._kept = self._kept, []
        for connection in kept:
            connection.close()

    def _message(self, method: str, path: str, *, body: bytes, headers: Mapping[str, str]) -> bytes:
        fields = {"Host": self._host_header, "Accept": "application/json", **headers}
        if method == "POST":
            fields |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
        lines = [f"{method} {self._prefix}{path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + body

    def _take(self) -> socket.socket | None:
        with self._lock:
            if self._process_id != os.getpid():
                # Two processes on one connection would read each other's responses.
                self._kept, self._process_id = [], os.getpid()
            return self._kept.pop() if self._kept else None

    def _keep(self, connection: socket.socket) -> None:
        with self._lock:
            if len(self._kept) < KEPT_CONNECTIONS and self._process_id == os.getpid():
                self._kept.append(connection)
                return
        connection.close()

    def _connect(self, deadline_s: float) -> socket.socket:
        connection = socket.create_connection((self._host, self._port), timeout=_left_s(deadline_s))
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if not self._tls:
                return connection
            if self._context is None:
                self._context = ssl.create_default_context()
            connection.settimeout(_left_s(deadline_s))
            return self._context.wrap_socket(connection, server_hostname=self._host)
        except BaseException:
            connection.close()
            raise

    def _exchange(self, connection: socket.socket, method: str, message: bytes, *, deadline_s: float) -> Answer:
        try:
            connection.settimeout(_left_s(deadline_s))
            connection.sendall(message)
            reader = cast("socket.socket", _Reader(connection, deadline_s))
            response = http.client.HTTPResponse(reader, method=method)
            with contextlib.closing(response):
                response.begin()
                answer = _read(response)
                reusable = not response.will_close
        except BaseException:
            connection.close()
            raise
        if reusable:
            self._keep(connection)
        else:
            connection.close()
        return answer


def _read(response: http.client.HTTPResponse) -> Answer:
    content = response.read(ANSWER_BYTES)
    # A body that is incomplete or too long is not a valid response.
    if not response.isclosed():
        raise http.client.IncompleteRead(content)
    fields = tuple((name.lower(), value) for name, value in response.getheaders())
    return Answer(response.status, dict(fields), content, fields)


class _Reader(io.RawIOBase):
    """Reads from a socket, each time with what is left until the deadline, so that a trickle cannot outlast it."""

    def __init__(self, connection: socket.socket, deadline_s: float) -> None:
        self._connection = connection
        self._deadline_s = deadline_s

    def makefile(self, _mode: str) -> io.BufferedReader:
        """Return the stream, as `http.client` asks a socket for it."""
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._connection.settimeout(_left_s(self._deadline_s))
        return self._connection.recv_into(buffer)


def _left_s(deadline_s: float) -> float:
    left_s = deadline_s - time.monotonic()
    if left_s <= 0:
        raise TimeoutError("the deadline has passed")
    return left_s
