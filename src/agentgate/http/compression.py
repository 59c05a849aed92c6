"""Responses compressed with gzip, for surfaces that enable it.

An attacker who makes a browser send requests, controls a part of the response and sees its length can guess a secret in
it (BREACH). So only responses to GET are compressed, and none of a route that declares secrets.
"""

import asyncio
import gzip
import re
import zlib
from collections.abc import AsyncIterator

from agentgate.http.call import Call
from agentgate.http.endpoint import Endpoint
from agentgate.http.replies import HttpAnswer

# Smaller responses fit into one packet anyway.
LEAST_BYTES = 1_024
LEVEL = 5
GZIP_FORMAT = 16 + zlib.MAX_WBITS
# Compressing a larger response would block the event loop for too long.
INLINE_BYTES = 64 * 1024

_ACCEPTS_GZIP = re.compile(
    r"(?:^|,)\s*(?:gzip|\*)\s*(?:;\s*q=(?!0(?:\.0*)?\s*(?:,|$))[\d.]+\s*)?(?:,|$)", re.IGNORECASE
)


async def compress(reply: HttpAnswer, call: Call, endpoint: Endpoint) -> HttpAnswer:
    """Return the response compressed if the client accepts gzip and it is safe, else unchanged."""
    if call.request.method not in {"GET", "HEAD"} or endpoint.holds_secret:
        return reply
    if reply.parts is None and len(reply.body) < LEAST_BYTES:
        return reply
    if any(name == b"content-encoding" for name, _ in reply.headers):
        return reply
    headers = _varying(reply.headers)
    if not _ACCEPTS_GZIP.search(call.request.header("accept-encoding") or ""):
        return HttpAnswer(reply.status, headers, reply.body, reply.parts)
    encoded = [*headers, (b"content-encoding", b"gzip")]
    if reply.parts is not None:
        return HttpAnswer(reply.status, encoded, b"", _gzip_parts(reply.parts))
    if len(reply.body) <= INLINE_BYTES:
        body = _gzip(reply.body)
    else:
        body = await asyncio.to_thread(_gzip, reply.body)
    return HttpAnswer(reply.status, encoded, body)


async def _gzip_parts(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    packer = zlib.compressobj(LEVEL, wbits=GZIP_FORMAT)
    async for part in parts:
        yield await asyncio.to_thread(packer.compress, part)
    yield packer.flush()


def _gzip(body: bytes) -> bytes:
    return gzip.compress(body, LEVEL, mtime=0)


def _varying(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return the headers with `Vary: Accept-Encoding`: a cache must not send gzip to clients without it."""
    if any(name == b"vary" and b"accept-encoding" in value.lower() for name, value in headers):
        return headers
    kept = [(name, value) for name, value in headers if name != b"vary"]
    varies = [value for name, value in headers if name == b"vary"]
    return [*kept, (b"vary", b", ".join([*varies, b"Accept-Encoding"]))]
