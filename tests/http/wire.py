"""A raw HTTP client and a small application, for tests that look at bytes and not at libraries."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import uvloop

from agentgate.http.connection.fast_functions import HotPaths
from agentgate.http.connection.listener import Listener, ListenerOptions
from agentgate.http.connection.state import ConnectionLimits
from agentgate.lib.clock import SystemClock

PATIENCE_S = 5.0
GET = b"GET %b HTTP/1.1\r\nHost: gate.example\r\n\r\n"


def run(work: Coroutine[Any, Any, None]) -> None:
    """Run a test on the event loop that the service uses."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(asyncio.wait_for(work, 20))


@dataclass
class Seen:
    """One request that reached the application."""

    method: str
    path: str
    headers: list[tuple[bytes, bytes]]
    client: tuple[str, int] | None
    body: bytes = b""
    is_complete: bool = False


@dataclass
class EchoApp:
    """Returns path and body for `/echo`, waits for `gate` at `/wait...`, else returns 404; records every request."""

    seen: list[Seen] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: int = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        seen = Seen(scope["method"], scope["path"], scope["headers"], scope["client"])
        self.seen.append(seen)
        if seen.path.startswith("/wait"):
            try:
                await self.gate.wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
        if seen.path == "/early":
            await answer(send, 413, b"too much")
            return
        while not seen.is_complete:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            seen.body += message["body"]
            seen.is_complete = not message["more_body"]
        is_known = seen.path == "/echo" or seen.path.startswith("/wait")
        await answer(send, 200 if is_known else 404, seen.path.encode() + b"|" + seen.body)

    @property
    def paths(self) -> list[str]:
        """The paths of all requests that arrived, in order."""
        return [seen.path for seen in self.seen]


async def answer(send: Callable[[Any], Awaitable[None]], status: int, body: bytes) -> None:
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def listening(
    app: Any, *, hot_paths: HotPaths | None = None, options: ListenerOptions | None = None, **limits: Any
) -> AsyncIterator[Listener]:
    """Listen on loopback with these limits; end all of it afterwards."""
    options = options or ListenerOptions(limits=ConnectionLimits(**limits))
    listener = Listener(app, options, clock=SystemClock(), hot_paths=hot_paths or {})
    await listener.start()
    try:
        yield listener
    finally:
        await listener.drain(0)


@dataclass(frozen=True)
class Response:
    """A parsed response. Interim responses are separate objects."""

    status: int
    headers: dict[bytes, bytes]
    body: bytes


class Client:
    """One connection, on which a test sends bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def connect(cls, listener: Listener) -> "Client":
        """Connect to a listener on loopback."""
        host, port = listener.address
        return cls(*await asyncio.open_connection(host, port))

    async def send(self, data: bytes) -> None:
        """Send bytes; that the other side no longer takes them is for the reader to find."""
        if self.is_gone:
            return
        try:
            self.writer.write(data)
            await self.writer.drain()
        except ConnectionError:
            return

    @property
    def is_gone(self) -> bool:
        """Whether the connection has ended, with bytes left to read or not."""
        return self.reader.at_eof() or self.writer.is_closing()

    async def response(self, *, to_head: bool = False) -> Response:
        """Read one response."""
        head = await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), PATIENCE_S)
        status_line, *lines = head[:-4].split(b"\r\n")
        headers = dict(line.split(b": ", 1) for line in lines)
        length = 0 if to_head else int(headers.get(b"content-length", b"0"))
        body = await asyncio.wait_for(self.reader.readexactly(length), PATIENCE_S)
        return Response(int(status_line.split()[1]), headers, body)

    async def rest(self) -> bytes:
        """Read until the other side closes; a test fails if it does not."""
        try:
            return await asyncio.wait_for(self.reader.read(-1), PATIENCE_S)
        except ConnectionError:
            return b""

    def reset(self) -> None:
        """Reset the connection without waiting for a response."""
        self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    async def close(self) -> None:
        """Let go of the connection."""
        self.writer.close()
        try:
            await self.writer.wait_closed()
        except ConnectionError:
            return


@asynccontextmanager
async def connected(listener: Listener) -> AsyncIterator[Client]:
    """Connect for the length of a block."""
    client = await Client.connect(listener)
    try:
        yield client
    finally:
        await client.close()


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something to become true; the test's own time limit ends a wait in vain."""
    while not condition():  # noqa: ASYNC110  # what is waited for has no event
        await asyncio.sleep(0.005)
