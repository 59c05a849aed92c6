"""NameLookup: the names of an address and the addresses of a name, asked of DNS servers over UDP without a thread.

The library's own look-ups take a thread each for as long as a server likes; these give a server less than a second.
"""

import asyncio
import secrets
import socket
import struct
from ipaddress import ip_address
from pathlib import Path

RESOLV_CONF = Path("/etc/resolv.conf")
DNS_PORT = 53
# Twice for each server: now and then a packet is lost.
TRY_S = 0.8
ROUNDS = 2
# What passes every network in one piece; announced to the server, so that answers are not cut at 512.
ANSWER_BYTES = 1232
MOST_RECORDS = 64
MOST_POINTERS = 32

PTR, A, AAAA, OPT = 12, 1, 28, 41
_IN = 1
_HEAD = struct.Struct("!6H")
_RECORD = struct.Struct("!HHIH")
_NO_SUCH_NAME = 3

Server = tuple[str, int]


class LookupFailed(Exception):  # noqa: N818 - says what happened
    """No server gave an answer that says anything."""


class NameLookup:
    """Asks the servers one after the other, and all of them once more."""

    def __init__(self, servers: tuple[Server, ...]) -> None:
        self._servers = servers

    async def names_of(self, address: str) -> tuple[str, ...]:
        """Return the names that an address's owner gave it, in lower case; none when there are none."""
        found = await self._ask(ip_address(address).reverse_pointer, PTR)
        return tuple(name.lower() for name in found)

    async def addresses_of(self, name: str, version: int) -> tuple[str, ...]:
        """Return the addresses of a name in IP version 4 or 6."""
        return await self._ask(name, A if version == 4 else AAAA)

    async def _ask(self, name: str, kind: int) -> tuple[str, ...]:
        for server in self._servers * ROUNDS:
            try:
                async with asyncio.timeout(TRY_S):
                    return await _exchange(server, name, kind)
            except (OSError, LookupFailed):
                # TimeoutError is an OSError; the next server may know.
                continue
        raise LookupFailed(f"no DNS server answered for {name}")


def system_servers(path: Path = RESOLV_CONF) -> tuple[Server, ...]:
    """Return the DNS servers that the machine is set to use."""
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return ()
    fields = [line.split() for line in lines]
    return tuple((field[1], DNS_PORT) for field in fields if len(field) > 1 and field[0] == "nameserver")


async def _exchange(server: Server, name: str, kind: int) -> tuple[str, ...]:
    # A socket and a number of its own for each question: whoever wants to answer in the server's place must guess both.
    question_id = secrets.randbelow(2**16)
    question = _question(name, kind)
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[tuple[str, ...]] = loop.create_future()
    transport, _ = await loop.create_datagram_endpoint(
        lambda: _Listener(question_id, question, kind=kind, answered=answered), remote_addr=server
    )
    try:
        head = _HEAD.pack(question_id, 0x0100, 1, 0, 0, 1)
        transport.sendto(head + question + b"\0" + _RECORD.pack(OPT, ANSWER_BYTES, 0, 0))
        return await answered
    finally:
        transport.close()


class _Listener(asyncio.DatagramProtocol):
    def __init__(
        self, question_id: int, question: bytes, *, kind: int, answered: "asyncio.Future[tuple[str, ...]]"
    ) -> None:
        self._question_id = question_id
        self._question = question
        self._kind = kind
        self._answered = answered

    def datagram_received(self, data: bytes, _address: object) -> None:
        if self._answered.done() or not self._is_ours(data):
            return
        try:
            self._answered.set_result(_read_answer(data, len(_HEAD.pack(*[0] * 6)) + len(self._question), self._kind))
        except (LookupFailed, struct.error, IndexError, ValueError) as wrong:
            self._answered.set_exception(LookupFailed(str(wrong)))

    def error_received(self, problem: Exception) -> None:
        if not self._answered.done():
            self._answered.set_exception(LookupFailed(str(problem)))

    def _is_ours(self, data: bytes) -> bool:
        """Say whether this answers our question; anything else is not worth giving up for."""
        if len(data) < _HEAD.size:
            return False
        question_id, flags, questions, *_ = _HEAD.unpack_from(data)
        asked = data[_HEAD.size : _HEAD.size + len(self._question)]
        is_answer = bool(flags & 0x8000)
        return is_answer and question_id == self._question_id and questions == 1 and _same(asked, self._question)


def _same(asked: bytes, question: bytes) -> bool:
    # Servers may change the case of names.
    return asked.lower() == question.lower()


def _question(name: str, kind: int) -> bytes:
    labels = name.rstrip(".").encode("ascii", "strict").split(b".")
    if any(not 0 < len(label) < 64 for label in labels) or len(name) > 253:
        raise LookupFailed(f"{name[:80]!r} is no name")
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0" + struct.pack("!HH", kind, _IN)


def _read_answer(data: bytes, place: int, kind: int) -> tuple[str, ...]:
    _, flags, _, count, _, _ = _HEAD.unpack_from(data)
    code = flags & 0xF
    if code == _NO_SUCH_NAME:
        return ()
    if code or flags & 0x0200:
        raise LookupFailed("the answer is an error" if code else "the answer was cut")
    found: list[str] = []
    for _ in range(min(count, MOST_RECORDS)):
        _, place = _read_name(data, place)
        record, _, _, length = _RECORD.unpack_from(data, place)
        place += _RECORD.size
        if record == kind:
            found.append(_read_value(data, place, length, kind))
        place += length
    return tuple(found)


def _read_value(data: bytes, place: int, length: int, kind: int) -> str:
    if kind == PTR:
        return _read_name(data, place)[0]
    packed = data[place : place + length]
    return str(ip_address(socket.inet_ntop(socket.AF_INET if kind == A else socket.AF_INET6, packed)))


def _read_name(data: bytes, place: int) -> tuple[str, int]:
    """Return a name, and where what follows it begins."""
    labels: list[str] = []
    end = -1
    for _ in range(MOST_POINTERS + 128):
        length = data[place]
        if length & 0xC0 == 0xC0:
            end = place + 2 if end < 0 else end
            place = (length & 0x3F) << 8 | data[place + 1]
        elif length == 0:
            return ".".join(labels), place + 1 if end < 0 else end
        else:
            labels.append(data[place + 1 : place + 1 + length].decode("ascii"))
            place += 1 + length
    raise LookupFailed("a name in the answer never ends")
