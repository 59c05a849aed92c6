"""The site behind a proxy: it returns the request it received, byte for byte, and records it.

Also a tap between a proxy and the service: it records the requests to the service, and can delay, drop or replace the
responses.
"""

import contextlib
import hashlib
import json
import socket
import threading
import time
from base64 import b64encode
from typing import Any, NamedTuple

ENDED = b"\r\n\r\n"


class Asked(NamedTuple):
    """A request as it arrived."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def body_as_sent(self) -> bytes:
        """The body, in one chunk if it came in chunks."""
        if not self.all("transfer-encoding"):
            return self.body
        return b"%x\r\n%b\r\n0\r\n\r\n" % (len(self.body), self.body) if self.body else b"0\r\n\r\n"

    def all(self, name: str) -> list[str]:
        """Return every value of a header."""
        return [value for found, value in self.headers if found.lower() == name.lower()]

    def one(self, name: str) -> str | None:
        """Return a header that came at most once."""
        values = self.all(name)
        assert len(values) <= 1, f"{name} came {len(values)} times: {values}"
        return values[0] if values else None

    @property
    def original(self) -> tuple[str | None, str, str | None]:
        """Return method, URL and address of the visitor's request, as the adapter describes it."""
        if "request=forwarded" in self.target:
            # The service takes the origin from the site, by the name of the host.
            method, uri, address = (self.one(f"x-forwarded-{name}") for name in ("method", "uri", "for"))
            return method, f"https://shop.example{uri}", address
        method, address, *_, url = (self.one("x-agentgate-request") or "").split(" ")
        return method, url, address

    @property
    def described_host(self) -> str | None:
        """The host that the proxy routes by."""
        if "request=forwarded" in self.target:
            return self.one("x-forwarded-host")
        _, _, *named, _ = (self.one("x-agentgate-request") or "").split(" ")
        return dict(each.split("=", 1) for each in named).get("host")


class _Listening:
    """A listener on a free port of the loopback, with a thread for each connection."""

    def __init__(self) -> None:
        self.port = 0
        self.accepted = 0
        self._listener: socket.socket | None = None
        self._connections: list[socket.socket] = []

    def open(self) -> None:
        """Listen, on the port of before if there was one."""
        self._listener = socket.create_server(("127.0.0.1", self.port), backlog=128)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def close(self) -> None:
        """Stop listening, and close the open connections."""
        if self._listener is not None:
            # A thread that waits in accept would keep it open.
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._connections.clear()

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                connection.settimeout(60)
                self.accepted += 1
                self._connections.append(connection)
                threading.Thread(target=self._run, args=(connection,), daemon=True).start()

    def _run(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            self._serve(connection)

    def _serve(self, connection: socket.socket) -> None:
        raise NotImplementedError


class EchoSite(_Listening):
    """A site whose every page is the request that asked for it, as JSON."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Asked] = []
        self.status = b"200 OK"
        # Header lines added to each response.
        self.more_headers = b""
        # If set, sent instead of the request.
        self.page = b""
        self.media_type = b"application/json"
        # Number of connections upgraded to HTTP/2, on which any further request would get a response.
        self.tunnels = 0

    def _serve(self, connection: socket.socket) -> None:
        stream = connection.makefile("rb")
        while head := _read_head(stream):
            asked = _read_request(head, stream)
            self.asked.append(asked)
            # As lenient as a server can be: it asks for neither Connection nor HTTP2-Settings.
            if "h2c" in ",".join(asked.all("upgrade")).lower():
                self.tunnels += 1
                connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n")
                return
            if (asked.one("upgrade") or "").lower() == "websocket":
                connection.sendall(_switched(asked.one("sec-websocket-key") or ""))
                while data := stream.read1(4096):
                    connection.sendall(data)
                return
            page = self.page or json.dumps([*asked[:3], asked.body.decode("latin-1")]).encode()
            head = b"HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s\r\n" % (
                self.status,
                self.media_type,
                len(page),
                self.more_headers,
            )
            connection.sendall(head if asked.method == "HEAD" else head + page)


class Tap(_Listening):
    """A tap between a proxy and the service."""

    def __init__(self, service_port: int) -> None:
        super().__init__()
        self._service_port = service_port
        self.heard: list[Asked] = []
        self.hangs = False
        # How long a check takes to reach the service.
        self.delay_s = 0.0
        # If set, sent instead of the service's response. With `only_checks`, only checks get it, and connections with
        # other requests are closed.
        self.answer: bytes | None = None
        self.only_checks = False

    def checks(self) -> list[Asked]:
        """Return the checks."""
        return [asked for asked in self.heard if asked.target.startswith("/v1/gateway/check")]

    def _serve(self, connection: socket.socket) -> None:
        with socket.create_connection(("127.0.0.1", self._service_port), timeout=60) as onward:
            threading.Thread(target=self._return, args=(onward, connection), daemon=True).start()
            stream = connection.makefile("rb")
            while head := _read_head(stream):
                asked = _read_request(head, stream)
                self.heard.append(asked)
                if self.hangs:
                    continue
                time.sleep(self.delay_s)
                if self.only_checks and not asked.target.startswith("/v1/gateway/check"):
                    return
                if self.answer is not None:
                    connection.sendall(self.answer)
                else:
                    onward.sendall(head + asked.body_as_sent)

    def _return(self, onward: socket.socket, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := onward.recv(65536):
                connection.sendall(data)
            connection.shutdown(socket.SHUT_RDWR)


def _switched(key: str) -> bytes:
    # HAProxy waits for the accept value that belongs to the key (RFC 6455 4.2.2).
    accepted = hashlib.sha1(f"{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11".encode(), usedforsecurity=False).digest()
    lines = ["HTTP/1.1 101 Switching Protocols", "Connection: Upgrade", "Upgrade: websocket"]
    return "\r\n".join([*lines, f"Sec-WebSocket-Accept: {b64encode(accepted).decode()}", "", ""]).encode()


def _read_head(stream: Any) -> bytes:
    lines = []
    while (line := stream.readline()) not in (b"\r\n", b""):
        lines.append(line)
    return b"".join(lines) + b"\r\n" if lines else b""


def _read_request(head: bytes, stream: Any) -> Asked:
    first, *lines = head.decode("latin-1").split("\r\n")[:-2]
    method, target, _ = first.split(" ")
    # A byte of raw UTF-8 may be a blank in Latin-1, and belongs to the value.
    headers = [(name, value.strip(" \t")) for name, _, value in (line.partition(":") for line in lines)]
    asked = Asked(method, target, headers, b"")
    if asked.one("transfer-encoding") is not None:
        body = b""
        while size := int(stream.readline(), 16):
            body += stream.read(size)
            stream.readline()
        stream.readline()
        return asked._replace(body=body)
    return asked._replace(body=stream.read(int(asked.one("content-length") or 0)))
