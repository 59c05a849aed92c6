"""A test world for key sets: a real TLS server on loopback, names that resolve as a test chooses, and a list of
every address to which a connection was made. Every such connection reaches the server, also one that should never be
made."""

import asyncio
import contextlib
import json
import os
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from agentgate.agents.signing.directories import FETCH_S, MOST_READ_BYTES, KeyDirectories
from agentgate.http.outbound.client import Outbound, connect
from tests.support.http_receiver import make_certificate

PUBLIC = "93.184.215.14"
PIECE = b"x" * 8192

Serve = Callable[["Peer"], Awaitable[None]]


@dataclass
class Peer:
    """A client: its request, and methods that send the response."""

    host: str
    path: str
    head: bytes
    writer: asyncio.StreamWriter
    sent: int = 0

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()
        self.sent += len(data)

    async def answer(self, body: bytes, *, status: str = "200 OK", headers: str = "") -> None:
        await self.send(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode() + body)


@dataclass
class World:
    """The server's hosts and responses, and the requests it got."""

    port: int = 0
    is_over: bool = False
    addresses: dict[str, list[str]] = field(default_factory=dict)
    serve: dict[str, Serve] = field(default_factory=dict)
    asked_names: list[str] = field(default_factory=list)
    dialled: list[tuple[str, int]] = field(default_factory=list)
    peers: list[Peer] = field(default_factory=list)
    tasks: set[asyncio.Task[None] | None] = field(default_factory=set)

    async def resolve(self, name: str, _port: int) -> list[str]:
        self.asked_names.append(name)
        return self.addresses.get(name, [PUBLIC])

    async def dial(self, address: str, port: int) -> socket.socket:
        self.dialled.append((address, port))
        return await connect("127.0.0.1", self.port)

    def outbound(self) -> Outbound:
        return Outbound(
            resolve=self.resolve, dial=self.dial, connect_s=FETCH_S, whole_s=FETCH_S, most_read_bytes=MOST_READ_BYTES
        )

    def directories(self, *hosts: str) -> KeyDirectories:
        return KeyDirectories(self.outbound(), hosts=hosts or ("*",))

    def serves(self, host: str, document: object, *, headers: str = "", status: str = "200 OK") -> None:
        """Let a host return a document from now on."""
        body = document if isinstance(document, bytes) else json.dumps(document).encode()

        async def answer(peer: Peer) -> None:
            await peer.answer(body, status=status, headers=headers)

        self.serve[host] = answer

    def fails(self, host: str) -> None:
        """Let a host return 503 from now on."""
        self.serves(host, b"", status="503 Service Unavailable")

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.tasks.add(asyncio.current_task())
        writer.transport.set_write_buffer_limits(0)
        # The task is canceled when the test ends.
        with contextlib.suppress(OSError, EOFError, asyncio.IncompleteReadError, asyncio.CancelledError):
            head = await reader.readuntil(b"\r\n\r\n")
            host = head.lower().partition(b"host: ")[2].partition(b"\r\n")[0].decode()
            peer = Peer(host, head.split()[1].decode(), head, writer)
            self.peers.append(peer)
            await self.serve[host](peer)
        if self.is_over:
            writer.transport.abort()
        writer.close()
        # Until the other side has said goodbye as well: a connection that outlives the test fails the next one.
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await writer.wait_closed()
        # Python 3.11.2 does not expect this on a connection that is closed.
        with contextlib.suppress(AttributeError):
            writer.transport.abort()


@contextlib.asynccontextmanager
async def world(folder: Path, *names: str) -> AsyncIterator[World]:
    """Run the server with a certificate for these names; everything in this process trusts it while the server runs."""
    authority, certificate = make_certificate(folder, *names)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    listening = socket.create_server(("127.0.0.1", 0))
    # With a small send buffer, data that a peer does not read cannot count as read.
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)
    state = World(port=listening.getsockname()[1])
    server = await asyncio.start_server(state.handle, sock=listening, ssl=context)
    trusted = os.environ.get("SSL_CERT_FILE")
    os.environ["SSL_CERT_FILE"] = str(authority)
    try:
        yield state
    finally:
        os.environ.pop("SSL_CERT_FILE")
        if trusted is not None:
            os.environ["SSL_CERT_FILE"] = trusted
        server.close()
        state.is_over = True
        for task in state.tasks:
            task.cancel()
        await asyncio.gather(*state.tasks)
