"""Heads that a hot function takes as they arrive: answered before they are parsed, else like all others."""

import asyncio
import time

from agentgate.http.connection.fast_functions import HotReply
from tests.http.corpus import request
from tests.http.taking import READ, Taking
from tests.http.wire import EchoApp, connected, listening, run, until


def test_a_taken_request_is_answered_with_date_and_length():
    async def work():
        async with listening(EchoApp(), hot_paths={b"/hot": Taking()}) as listener, connected(listener) as client:
            before = listener.answered
            await client.send(request(b"/hot"))
            response = await client.response()

            assert (response.status, response.body) == (200, b"hot")
            assert response.headers.keys() == {b"date", b"x-how", b"content-length"}
            assert response.headers[b"x-how"] == b"taken"
            assert response.headers[b"date"].endswith(b" GMT")
            assert listener.answered == before + 1

    run(work())


def test_a_taken_204_has_neither_body_nor_length():
    async def work():
        hot = Taking(HotReply(204, [], b"", b"x-how: taken\r\n"))
        async with listening(EchoApp(), hot_paths={b"/hot": hot}) as listener, connected(listener) as client:
            await client.send(request(b"/hot"))
            response = await client.response()

            assert (response.status, response.headers.keys()) == (204, {b"date", b"x-how"})
            await client.send(request(b"/echo"))
            assert (await client.response()).status == 200

    run(work())


def test_a_connection_is_closed_when_nothing_comes_after_a_taken_request():
    async def work():
        hot_paths = {b"/hot": Taking()}
        async with (
            listening(EchoApp(), hot_paths=hot_paths, keep_alive_s=0.3) as listener,
            connected(listener) as client,
        ):
            # Each one puts the end off.
            for _ in range(5):
                await asyncio.sleep(0.1)
                await client.send(request(b"/hot"))
                assert (await client.response()).status == 200
            began = time.monotonic()
            await until(lambda: client.is_gone)

            assert 0.25 < time.monotonic() - began < 2

    run(work())


def test_a_draining_connection_is_closed_after_a_request_that_would_be_taken():
    async def work():
        async with listening(EchoApp(), hot_paths={b"/hot": Taking()}) as listener, connected(listener) as client:
            await client.send(request(b"/hot"))
            assert (await client.response()).headers[b"x-how"] == b"taken"
            (connection,) = listener._state.connections
            # As when draining begins while the request is on its way.
            connection._is_draining = True
            await client.send(request(b"/hot"))
            response = await client.response()

            assert response.headers[b"connection"] == b"close"
            assert await client.rest() == b""

    run(work())


def test_what_is_not_taken_is_parsed_and_answered_all_the_same():
    async def work():
        async with listening(EchoApp(), hot_paths={b"/hot": Taking()}) as listener, connected(listener) as client:
            await client.send(request(b"/hot", b"x-parse-me: 1"))
            assert (await client.response()).headers[b"x-how"] == b"read"
            # Longer paths are others.
            await client.send(request(b"/hotter"))
            assert b"x-how" not in (await client.response()).headers
            await client.send(request(b"/hot?query"))
            assert (await client.response()).headers[b"x-how"] == b"taken"

    run(work())


def test_a_function_that_fails_is_answered_with_an_error_and_logged(caplog):
    async def work():
        hot = Taking()
        hot.take = lambda _: 1 / 0
        async with listening(EchoApp(), hot_paths={b"/hot": hot}) as listener, connected(listener) as client:
            await client.send(request(b"/hot"))
            assert (await client.response()).status == 500
            await client.send(request(b"/echo"))
            assert (await client.response()).status == 200

    run(work())
    assert "a hot function failed" in caplog.text


def test_an_answer_that_comes_later_is_waited_for_in_order():
    async def later():
        await asyncio.sleep(0.05)
        return READ

    async def work():
        hot = Taking()
        hot.take = lambda _: later()
        async with listening(EchoApp(), hot_paths={b"/hot": hot}) as listener, connected(listener) as client:
            await client.send(request(b"/hot"))
            await asyncio.sleep(0.01)
            await client.send(request(b"/echo"))
            assert (await client.response()).headers[b"x-how"] == b"read"
            assert b"x-how" not in (await client.response()).headers
            await client.send(request(b"/hot"))
            assert (await client.response()).headers[b"x-how"] == b"read"

    run(work())
