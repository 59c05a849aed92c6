"""Bodies of any kind: whole up to the limit, thrown away beyond it."""

from typing import Any

import pytest

from agentgate.http.decode import MOST_DISCARDED_BYTES, Disconnected, read_raw

pytestmark = pytest.mark.anyio


class Client:
    """Sends a body in pieces."""

    def __init__(self, *pieces: bytes | None) -> None:
        self.left = list(pieces)

    async def receive(self) -> dict[str, Any]:
        piece = self.left.pop(0)
        if piece is None:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": piece, "more_body": bool(self.left)}


async def test_a_body_within_the_limit_is_whole() -> None:
    body = await read_raw(Client(b"ab", b"", b"cd").receive, content_type="x/y; z", limit=4)

    assert (body.content, body.content_type) == (b"abcd", "x/y; z")


async def test_no_body_is_an_empty_one() -> None:
    assert (await read_raw(Client(b"").receive, content_type=None, limit=4)).content == b""


async def test_a_body_beyond_the_limit_is_read_to_its_end_and_discarded() -> None:
    client = Client(b"abc", b"de", b"f")

    assert (await read_raw(client.receive, content_type="", limit=4)).content is None
    assert client.left == []


async def test_a_body_without_end_is_not_read_to_its_end() -> None:
    client = Client(*[b"x" * 100_000] * 100)

    assert (await read_raw(client.receive, content_type="", limit=4)).content is None
    assert (100 - len(client.left)) * 100_000 < MOST_DISCARDED_BYTES + 200_000


async def test_who_leaves_in_the_middle_is_gone() -> None:
    with pytest.raises(Disconnected):
        await read_raw(Client(b"a", None).receive, content_type="", limit=4)
