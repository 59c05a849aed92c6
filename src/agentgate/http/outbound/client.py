"""Requests that the service itself makes to addresses which customers or agents name.

Such an address must not lead to the service's own neighbors: a name is resolved once, every address it has must be
public, and the connection goes to an address that was checked. No redirect is followed; time and size are bounded.
"""

import asyncio
import re
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Executor
from functools import cached_property, partial
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

import h11
from msgspec import Struct, structs

from agentgate.http.outbound.public_address import is_public

CONNECT_S = 5.0
WHOLE_S = 10.0
MOST_BODY_BYTES = 64 * 1024
# The response headers, and the overhead of chunks in a body: more than this is treated as a flood.
MOST_READ_BYTES = 4 * MOST_BODY_BYTES
URL_CHARACTERS = 2048
MOST_ADDRESSES = 4
USER_AGENT = "AgentGate"

_READ_BYTES = 16 * 1024
# Data that the kernel buffers before it is read counts too, so the buffer is small.
_RECEIVE_BUFFER_BYTES = 16 * 1024
_VISIBLE = re.compile(r"[\x21-\x7e]+\Z")
_LABEL = r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(\.{_LABEL})*\.?\Z")
_PORTS = {"https": 443, "http": 80}

# From a host and a port to addresses.
Resolve = Callable[[str, int], Awaitable[list[str]]]
Headers = Sequence[tuple[str, str]]
# From an address and a port to a socket that is connected to it.
Dial = Callable[[str, int], Awaitable[socket.socket]]


class OutboundFailed(Exception):  # noqa: N818 - says what happened
    """No response. The reason may be shown to the user who entered the address."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Target(Struct, frozen=True, kw_only=True):
    """The target of a request. `host` is as in the settings: lower case, IPv6 in brackets."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def name(self) -> str:
        """The host without brackets."""
        return self.host.strip("[]")

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        return self.host if self.port == _PORTS[self.scheme] else f"{self.host}:{self.port}"


class OutboundAnswer(Struct, frozen=True, kw_only=True):
    """A response. `complete` is false if the body was longer than the limit."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    complete: bool
    # The address of the server, and its verified certificate; empty without TLS.
    peer: str = ""
    certificate: Mapping[str, Any] = {}


class Outbound:
    """Makes such requests. `private_hosts` may have any address; others need https."""

    _has_port_80 = False

    def __init__(
        self,
        private_hosts: frozenset[str] = frozenset(),
        *,
        resolve: Resolve | None = None,
        dial: Dial | None = None,
        connect_s: float = CONNECT_S,
        whole_s: float = WHOLE_S,
        most_read_bytes: int = MOST_READ_BYTES,
    ) -> None:
        self._private_hosts = private_hosts
        self._resolve = resolve or look_up
        self._dial = dial or connect
        self._most_read_bytes = most_read_bytes
        self._most_body_bytes = max(MOST_BODY_BYTES, most_read_bytes // 4)
        self._connect_s = connect_s
        self._whole_s = whole_s

    def check(self, url: str) -> Target:
        """Return where a URL leads; raise OutboundFailed for one that is never asked, whatever its name resolves to."""
        target = read_target(url)
        if target.host in self._private_hosts:
            return target
        if target.scheme != "https" and not (self._has_port_80 and target.port == _PORTS["http"]):
            raise OutboundFailed("must start with https://")
        if _is_literal(target.name) and not is_public(target.name):
            raise OutboundFailed("must resolve to a public address")
        return target

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> OutboundAnswer:
        """Send a body and return the response, whatever its status; raise OutboundFailed if there is none."""
        return await self.ask("POST", url, _usual(headers, body), body)

    async def get(self, url: str, headers: Mapping[str, str]) -> OutboundAnswer:
        """Fetch a URL and return the response, whatever its status; raise OutboundFailed if there is none."""
        return await self.ask("GET", url, _usual(headers))

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        # Made with the first request: reading the machine's certificates takes longer than the rest of a start.
        context = ssl.create_default_context()
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        return context

    async def ask(self, method: str, url: str, headers: Headers, body: bytes = b"") -> OutboundAnswer:
        """Send exactly these headers after `Host`; raise OutboundFailed without a response."""
        target = self.check(url)
        try:
            async with asyncio.timeout(self._whole_s):
                reader, writer = await self._connect(target)
                try:
                    connection = h11.Connection(h11.CLIENT)
                    request = h11.Request(
                        method=method, target=target.path, headers=[("Host", target.authority), *headers]
                    )
                    writer.write(_written(connection, request, body))
                    # Not drained first: a server may respond, for example with 413, without reading the whole body.
                    answer = await _read_answer(
                        reader, connection, most_bytes=self._most_read_bytes, most_body=self._most_body_bytes
                    )
                    tls = writer.get_extra_info("ssl_object")
                    return structs.replace(
                        answer,
                        peer=str(writer.get_extra_info("peername")[0]),
                        certificate=tls.getpeercert() if tls else {},
                    )
                finally:
                    # An orderly close would wait for the server, which may never respond.
                    writer.transport.abort()
        except TimeoutError:
            raise OutboundFailed(f"no response within {self._whole_s:g} seconds") from None
        except (OSError, EOFError):
            raise OutboundFailed("the connection was lost before the response") from None
        except h11.ProtocolError:
            raise OutboundFailed("the response is not HTTP") from None

    async def _connect(self, target: Target) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            async with asyncio.timeout(self._connect_s):
                return await self._connect_to_any(target, await self._addresses(target))
        except TimeoutError:
            raise OutboundFailed(f"no connection within {self._connect_s:g} seconds") from None

    async def _addresses(self, target: Target) -> list[str]:
        try:
            found = await self._resolve(target.name, target.port)
        except (OSError, UnicodeError):
            found = []
        # One private address rejects all: DNS rebinding mixes them with public ones. A private name looks like one
        # that does not exist, so that trying finds no names inside the operator's network.
        if not found or not (target.host in self._private_hosts or all(map(is_public, found))):
            raise OutboundFailed("the name does not resolve to a public address")
        return found

    async def _connect_to_any(
        self, target: Target, addresses: list[str]
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        for address in addresses[:MOST_ADDRESSES]:
            try:
                return await self._open(address, target)
            except ssl.SSLCertVerificationError as failure:
                raise OutboundFailed(f"the certificate is not accepted: {failure.verify_message}") from None
            except ssl.SSLError:
                raise OutboundFailed("the TLS handshake failed") from None
            except OSError:
                continue
        raise OutboundFailed("connection refused")

    async def _open(self, address: str, target: Target) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        tls = self._tls if target.scheme == "https" else None
        name = target.name.rstrip(".") if tls else None
        connected = await self._dial(address, target.port)
        try:
            return await asyncio.open_connection(sock=connected, ssl=tls, server_hostname=name, limit=_READ_BYTES)
        except BaseException:
            connected.close()
            raise


class SiteOutbound(Outbound):
    """Makes requests to sites, which may also use HTTP on port 80."""

    _has_port_80 = True


def read_target(url: str) -> Target:
    """Read a URL; reject every form that two parsers could read as two hosts."""
    if len(url) > URL_CHARACTERS or not _VISIBLE.match(url) or "\\" in url:
        raise OutboundFailed(f"must be a URL of at most {URL_CHARACTERS} visible ASCII characters")
    try:
        parts = urlsplit(url)
        name, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        raise OutboundFailed("must be a URL such as https://example.com/path") from None
    if parts.scheme not in _PORTS or port == 0:
        raise OutboundFailed("must be a URL such as https://example.com/path")
    if "@" in parts.netloc or "#" in url:
        raise OutboundFailed("must have no user name, password or fragment")
    if ":" in name and _is_literal(name):
        host = f"[{ip_address(name)}]"
    elif _HOST.match(name):
        host = name
    else:
        raise OutboundFailed("must have a host name or an address")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(scheme=parts.scheme, host=host, port=port or _PORTS[parts.scheme], path=path)


def _is_literal(name: str) -> bool:
    try:
        # A zone is of this machine only, and nothing that a stranger should choose.
        return "%" not in name and bool(ip_address(name))
    except ValueError:
        return False


async def look_up(name: str, port: int, *, threads: Executor | None = None) -> list[str]:
    """Return the addresses of a name as this machine knows them. The threads may be held up by slow name servers."""
    # RFC 6761: such a name cannot exist, so a lookup would be useless.
    if name.rstrip(".").endswith(".invalid"):
        return []
    ask = partial(socket.getaddrinfo, name, port, type=socket.SOCK_STREAM)
    found = await asyncio.get_running_loop().run_in_executor(threads, ask)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


async def connect(address: str, port: int) -> socket.socket:
    """Return a connection to exactly this address, without a look-up."""
    made = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.settimeout(0)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER_BYTES)
        await asyncio.get_running_loop().sock_connect(made, (address, port))
    except BaseException:
        made.close()
        raise
    return made


def _usual(headers: Mapping[str, str], body: bytes | None = None) -> Headers:
    sent = {"user-agent": USER_AGENT, **headers}
    # One request, one connection, no encoding: a few compressed bytes could expand to gigabytes.
    sent |= {"accept-encoding": "identity", "connection": "close"}
    if body is not None:
        sent["content-length"] = str(len(body))
    return list(sent.items())


def _written(connection: h11.Connection, request: h11.Request, body: bytes) -> bytes:
    head = connection.send(request) or b""
    sent = (connection.send(h11.Data(data=body)) or b"") if body else b""
    end = connection.send(h11.EndOfMessage()) or b""
    return head + sent + end


async def _read_answer(
    reader: asyncio.StreamReader, connection: h11.Connection, *, most_bytes: int, most_body: int
) -> OutboundAnswer:
    head: h11.Response | None = None
    body = bytearray()
    read = 0
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            if read == most_bytes:
                raise OutboundFailed(f"the response is longer than {most_bytes} bytes")
            received = await reader.read(min(_READ_BYTES, most_bytes - read))
            if not received and head is None:
                raise EOFError
            read += len(received)
            connection.receive_data(received)
        elif isinstance(event, h11.Response):
            head = event
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage):
            return _answer(head, bytes(body), complete=True)
        elif isinstance(event, h11.ConnectionClosed):
            raise EOFError
        if len(body) > most_body:
            return _answer(head, bytes(body[:most_body]), complete=False)


def _answer(head: h11.Response | None, body: bytes, *, complete: bool) -> OutboundAnswer:
    assert head is not None  # h11 gives no data before a head
    headers = {name.decode("ascii").lower(): value.decode("latin-1") for name, value in head.headers}
    return OutboundAnswer(status=head.status_code, headers=headers, body=body, complete=complete)


SHORTEST_S = 60
LONGEST_S = 86_400
USUAL_S = 3_600
_MAX_AGE = re.compile(r'(?:^|[\s,])max-age\s*=\s*"?([0-9]{1,10})', re.ASCII | re.IGNORECASE)
_NOT_KEPT = re.compile(r"(?:^|[\s,])no-(?:store|cache)\b", re.ASCII | re.IGNORECASE)


def kept_s(headers: Mapping[str, str]) -> int:
    """Return for how many seconds a response may be cached, within our own bounds."""
    control = headers.get("cache-control", "")
    if _NOT_KEPT.search(control):
        return SHORTEST_S
    match = _MAX_AGE.search(control)
    age = headers.get("age", "")
    spent_s = int(age) if age.isascii() and age.isdigit() and len(age) < 10 else 0
    return min(max((int(match[1]) if match else USUAL_S) - spent_s, SHORTEST_S), LONGEST_S)
