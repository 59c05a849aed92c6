"""Many raw requests through a proxy at once, and a backend that notes which of them it ran."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from tests.proxies.mutations import Request

CONNECTIONS = 24
ANSWER_S = 8.0
# One address sends no more than the gateway's budget for a visitor.
REQUESTS_OF_AN_ADDRESS = 400
CASE_HEADER = b"x-case"

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@dataclass(frozen=True, slots=True)
class Ran:
    """A request that the backend ran."""

    method: bytes
    target: bytes
    headers: dict[bytes, bytes]
    # The whole of it, as it came.
    message: bytes = b""


# Returns the headers that a visitor adds to a request, given the visitor's address.
ClientHeaders = Callable[[Request, str], Sequence[tuple[bytes, bytes]]]
USUAL = ((b"User-Agent", b"Mozilla/5.0"), (b"Accept", b"*/*"))


def usual_headers(request: Request, address: str) -> Sequence[tuple[bytes, bytes]]:
    """Return what a visitor without anything to show sends."""
    return USUAL


class Backend:
    """Responds to every request, and records it."""

    def __init__(self) -> None:
        self.port = 0
        self.ran: list[Ran] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def start(self) -> None:
        """Listen on a free port."""
        self._thread.start()
        serving = asyncio.run_coroutine_threadsafe(asyncio.start_server(self._serve, "127.0.0.1", 0), self._loop)
        self._server = serving.result(10)
        self.port = self._server.sockets[0].getsockname()[1]

    def stop(self) -> None:
        """Stop listening."""
        self._loop.call_soon_threadsafe(self._server.close)
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _end(self) -> None:
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await _read_head(reader):
                ran = _read(head)
                body = await _read_body(reader, ran.headers)
                self.ran.append(replace(ran, message=head + body))
                writer.write(OK if ran.method.upper() != b"HEAD" else OK[:-2])
        except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()


async def _read_head(reader: asyncio.StreamReader) -> bytes:
    with contextlib.suppress(asyncio.IncompleteReadError):
        return await reader.readuntil(b"\r\n\r\n")
    return b""


def _read(head: bytes) -> Ran:
    first, *lines = head[:-4].split(b"\r\n")
    method, _, rest = first.partition(b" ")
    pairs = (line.partition(b":") for line in lines)
    return Ran(method, rest.rpartition(b" ")[0], {name.lower(): value.strip() for name, _, value in pairs})


async def _read_body(reader: asyncio.StreamReader, headers: dict[bytes, bytes]) -> bytes:
    """Read a body, and return it as it came."""
    if b"transfer-encoding" not in headers:
        return await reader.readexactly(int(headers.get(b"content-length", b"0")))
    body = b""
    while size := int(line := await reader.readline(), 16):
        body += line + await reader.readexactly(size + 2)
    return body + line + await reader.readline()


@dataclass
class Flood:
    """The responses to a set of requests."""

    # Responses per status; 0 if the proxy closed the connection without a response.
    statuses: dict[int, int] = field(default_factory=dict)

    def count(self, status: int) -> None:
        """Count a response."""
        self.statuses[status] = self.statuses.get(status, 0) + 1


def send_all(port: int, requests: Sequence[Request], *, network: int, client: ClientHeaders = usual_headers) -> Flood:
    """Send every request to a proxy and count the responses; `network` gives each proxy different visitors."""
    return asyncio.run(_send_all(port, requests, network=network, client=client))


async def _send_all(port: int, requests: Sequence[Request], *, network: int, client: ClientHeaders) -> Flood:
    flood = Flood()
    waiting = iter(enumerate(requests))
    visitors = (_visitor(port, waiting, flood, (network, each), client) for each in range(CONNECTIONS))
    await asyncio.gather(*visitors)
    return flood


async def _visitor(
    port: int,
    waiting: Iterator[tuple[int, Request]],
    flood: Flood,
    place: tuple[int, int],
    client: ClientHeaders,
) -> None:
    source = ""
    streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
    for sent, (number, request) in enumerate(waiting):
        if streams is None or sent % REQUESTS_OF_AN_ADDRESS == 0:
            _close(streams)
            address = sent // REQUESTS_OF_AN_ADDRESS + 1
            source = f"127.{place[0]}.{place[1] + 1}.{address}"
            streams = await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0))
        message = _message(number, request, client(request, source))
        status, is_open = await _exchange(*streams, message, request.method)
        flood.count(status)
        if not is_open:
            _close(streams)
            streams = None
    _close(streams)


def _close(streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None) -> None:
    if streams is not None:
        streams[1].close()


def _message(number: int, request: Request, client: Sequence[tuple[bytes, bytes]]) -> bytes:
    headers = [
        (b"Host", b"shop.example"),
        *client,
        (CASE_HEADER, b"%d" % number),
        *request.headers,
    ]
    if request.body:
        headers.append((b"Content-Length", b"%d" % len(request.body)))
    lines = [name + b": " + value for name, value in headers]
    return b"\r\n".join([request.method.encode() + b" " + request.target + b" HTTP/1.1", *lines, b"", request.body])


async def _exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, message: bytes, method: str
) -> tuple[int, bool]:
    """Send a request; return its status and whether the connection can be used again."""
    try:
        async with asyncio.timeout(ANSWER_S):
            writer.write(message)
            head = await _read_head(reader)
            while head.startswith(b"HTTP/1.1 100"):
                head = await _read_head(reader)
            if not head:
                return 0, False
            ran = _read(head)
            status = int(head.split(b" ", 2)[1])
            if method.upper() != "HEAD" and status not in {204, 304}:
                await _read_body(reader, ran.headers)
            is_open = ran.headers.get(b"connection", b"").lower() != b"close" and status not in {101, 400}
            # If a response does not declare where it ends, do not reuse the connection.
            return status, is_open and (b"content-length" in ran.headers or b"transfer-encoding" in ran.headers)
    except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return 0, False
