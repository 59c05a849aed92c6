"""Requests that a hot function recognises by their head: answered before they are read, else like all others."""

import asyncio
import time

from agentgate.http.connection.fast_functions import HotReply, HotRequest, write_around
from tests.http.corpus import request
from tests.http.wire import EchoApp, connected, listening, run, until

READ = HotReply(200, [(b"x-how", b"read")], b"hot")
WRITTEN = HotReply(200, [], b"hot", b"x-how: recognised\r\n")


class Recognising:
    """A hot function that recognises every head that it can."""

    def __init__(self, reply: HotReply = WRITTEN) -> None:
        start, end = write_around(reply)
        self.reply = start, reply.written + end

    def __call__(self, _: HotRequest) -> HotReply:
        return READ

    def recognise(self, *_: object) -> tuple[bytes, bytes]:
        return self.reply


async def until_recognised(client) -> None:
    for _ in range(8):
        await client.send(request(b"/hot"))
        if (await client.response()).headers[b"x-how"] == b"recognised":
            return
    raise AssertionError("a head that comes again and again should be known")


def test_a_recognised_request_is_answered_with_date_and_length():
    async def work():
        async with listening(EchoApp(), hot_paths={b"/hot": Recognising()}) as listener, connected(listener) as client:
            await until_recognised(client)
            before = listener.answered
            await client.send(request(b"/hot"))
            response = await client.response()

            assert (response.status, response.body) == (200, b"hot")
            assert response.headers.keys() == {b"date", b"x-how", b"content-length"}
            assert response.headers[b"x-how"] == b"recognised"
            assert response.headers[b"date"].endswith(b" GMT")
            assert listener.answered == before + 1

    run(work())


def test_a_recognised_204_has_neither_body_nor_length():
    async def work():
        hot = Recognising(HotReply(204, [], b"", b"x-how: recognised\r\n"))
        async with listening(EchoApp(), hot_paths={b"/hot": hot}) as listener, connected(listener) as client:
            await until_recognised(client)
            await client.send(request(b"/hot"))
            response = await client.response()

            assert (response.status, response.headers.keys()) == (204, {b"date", b"x-how"})
            await client.send(request(b"/echo"))
            assert (await client.response()).status == 200

    run(work())


def test_a_connection_is_closed_when_nothing_comes_after_a_recognised_request():
    async def work():
        hot_paths = {b"/hot": Recognising()}
        async with (
            listening(EchoApp(), hot_paths=hot_paths, keep_alive_s=0.3) as listener,
            connected(listener) as client,
        ):
            await until_recognised(client)
            # Each one puts the end off.
            for _ in range(5):
                await asyncio.sleep(0.1)
                await client.send(request(b"/hot"))
                assert (await client.response()).status == 200
            began = time.monotonic()
            await until(lambda: client.is_gone)

            assert 0.25 < time.monotonic() - began < 2

    run(work())


def test_a_draining_connection_is_closed_after_a_request_that_would_be_recognised():
    async def work():
        async with listening(EchoApp(), hot_paths={b"/hot": Recognising()}) as listener, connected(listener) as client:
            await until_recognised(client)
            (connection,) = listener._state.connections
            # As when draining begins while the request is on its way.
            connection._is_draining = True
            await client.send(request(b"/hot"))
            response = await client.response()

            assert response.headers[b"connection"] == b"close"
            assert await client.rest() == b""

    run(work())
