"""A client that costs little: it sends prepared bytes and reads one response, on a connection that remains open."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from tests.support.processes import ADMIN_KEY


def request(method: str, path: str, body: Any = None) -> bytes:
    """Return a request of the operator as bytes."""
    payload = b"" if body is None else json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"X-Admin-Key: {ADMIN_KEY}"]
    if method != "GET":
        lines.append(f"Content-Length: {len(payload)}")
    if payload:
        lines.append("Content-Type: application/json")
    return "\r\n".join([*lines, "", ""]).encode() + payload


class Wire:
    """One keep-alive connection."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._socket = socket.create_connection((parts.hostname, parts.port), timeout=20)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, data: bytes) -> None:
        """Send a prepared request."""
        self._socket.sendall(data)

    def receive(self) -> tuple[int, bytes]:
        """Read one response; return its status and body."""
        received = self._socket.recv(65536)
        while (end := received.find(b"\r\n\r\n")) < 0:
            received += self._more()
        head, body = received[:end].lower(), received[end + 4 :]
        _, _, rest = head.partition(b"content-length: ")
        length = int(rest.partition(b"\r\n")[0]) if rest else 0
        while len(body) < length:
            body += self._more()
        return int(head[9:12]), body

    def ask(self, data: bytes) -> tuple[int, bytes]:
        """Send a prepared request and read its response."""
        self.send(data)
        return self.receive()

    def close(self) -> None:
        """Let go of the connection."""
        self._socket.close()

    def _more(self) -> bytes:
        piece = self._socket.recv(65536)
        if not piece:
            raise ConnectionError("the other side closed in the middle of an answer")
        return piece


@contextmanager
def connected(url: str) -> Iterator[Wire]:
    """Connect for the length of a block."""
    wire = Wire(url)
    try:
        yield wire
    finally:
        wire.close()
