"""A request over HTTP/2 (RFC 9113) with headers as they are given, in the few frames that it takes, uncompressed."""

import socket
import struct
from collections.abc import Sequence

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RESET, SETTINGS, GOAWAY = 0, 1, 3, 4, 7
END_STREAM, END_HEADERS, ACKNOWLEDGED = 1, 4, 1
STREAM = 1


def visit(connection: socket.socket, headers: Sequence[tuple[str, str]]) -> bool:
    """Send a request without a body and wait for its end; return whether any response arrived."""
    block = b"".join(b"\0" + _text(name) + _text(value) for name, value in headers)
    connection.sendall(PREFACE + _frame(SETTINGS, 0, 0) + _frame(HEADERS, END_STREAM | END_HEADERS, STREAM, block))
    stream = connection.makefile("rb")
    is_answered = False
    while head := stream.read(9):
        kind, flags, number = head[3], head[4], struct.unpack(">I", head[5:9])[0]
        stream.read(int.from_bytes(head[:3]))
        if kind == SETTINGS and not flags & ACKNOWLEDGED:
            connection.sendall(_frame(SETTINGS, ACKNOWLEDGED, 0))
        is_answered = is_answered or (kind == HEADERS and number == STREAM)
        is_ended = kind in {DATA, HEADERS} and bool(flags & END_STREAM) and number == STREAM
        if is_ended or kind in {RESET, GOAWAY}:
            break
    return is_answered


def _frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return len(payload).to_bytes(3) + bytes((kind, flags)) + struct.pack(">I", stream) + payload


def _text(text: str) -> bytes:
    # Shorter than 127 bytes, and not Huffman-coded: the length is one byte (RFC 7541 5.2).
    raw = text.encode("latin-1")
    assert len(raw) < 127
    return bytes((len(raw),)) + raw
