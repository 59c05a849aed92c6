"""RawBody: the bytes of a body as they came, for handlers whose callers send more than JSON records."""

from typing import Any

from agentgate.http.decode import Disconnected, Receive
from agentgate.lib.records import Input

# What is too large is read up to here and thrown away, so that a proxy that is still sending hears the answer.
MOST_DISCARDED_BYTES = 1024 * 1024


class RawBody(Input, frozen=True, kw_only=True):
    """A body. `content` is None when it was larger than the route takes."""

    content: bytes | None
    content_type: str


async def read_raw(receive: Receive, *, content_type: str | None, limit: int) -> RawBody:
    """Read a body of any type."""
    content: bytearray | None = bytearray()
    count = 0
    while True:
        message: dict[str, Any] = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        piece = message.get("body", b"")
        count += len(piece)
        if content is not None:
            content += piece
            if count > limit:
                content = None
        if not message.get("more_body", False) or count > MOST_DISCARDED_BYTES:
            return RawBody(content=None if content is None else bytes(content), content_type=content_type or "")
