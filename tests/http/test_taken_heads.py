"""Heads that a hot function takes as they arrive: handled before they are parsed, else like all others."""

import asyncio
import time

from agentgate.http.connection.fast_functions import HotReply, Pending
from tests.http.corpus import request
from tests.http.taking import READ, Taking
from tests.http.wire import EchoApp, connected, listening, run, until


def test_a_taken_request_gets_date_and_length():
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
            listening(EchoApp(), hot_paths=hot_paths, keep_alive_s=1.0) as listener,
            connected(listener) as client,
        ):
            # Each one puts the end off.
            for _ in range(4):
                await asyncio.sleep(0.35)
                await client.send(request(b"/hot"))
                assert (await client.response()).status == 200
            began = time.monotonic()
            await until(lambda: client.is_gone)

            assert 0.9 < time.monotonic() - began < 4

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


def test_what_is_not_taken_is_parsed_and_handled_anyway():
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


def test_a_function_that_fails_gets_an_error_and_a_log_line(caplog):
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


def test_a_response_that_comes_later_is_waited_for_in_order():
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


POST = b"POST /later HTTP/1.1\r\nHost: gate.example\r\nContent-Length: 1\r\n\r\n%b"
WRITTEN = b"HTTP/1.1 200 OK\r\n", b"content-length: 1\r\n\r\n%b"


class TakingLater:
    """A hot function for POST that takes every request in one piece, and responds when the test lets it."""

    def __init__(self):
        self.taken = []

    def __call__(self, request):
        return HotReply(200, [], b"parsed " + request.body)

    def take(self, data):
        self.taken.append((data[-1:], Pending()))
        return self.taken[-1][1]

    def give(self, number):
        body, pending = self.taken[number]
        pending.resolve((WRITTEN[0], WRITTEN[1] % body))

    async def until(self, count):
        await until(lambda: len(self.taken) >= count)


def test_a_post_is_taken_and_handled_later_and_the_connection_continues():
    async def work():
        later = TakingLater()
        async with listening(EchoApp(), hot_paths={b"POST /later": later}) as listener, connected(listener) as client:
            for number in range(3):
                await client.send(POST % b"%d" % number)
                await later.until(number + 1)
                assert listener.in_flight == 1
                later.give(number)
                response = await client.response()
                assert (response.body, listener.in_flight) == (b"%d" % number, 0)
                assert response.headers[b"date"].endswith(b" GMT")

    run(work())


def test_what_comes_while_a_taken_post_is_handled_waits_for_it():
    async def work():
        later = TakingLater()
        async with listening(EchoApp(), hot_paths={b"POST /later": later}) as listener, connected(listener) as client:
            await client.send(POST % b"a")
            await later.until(1)
            await client.send(request(b"/echo") + POST % b"b")
            await asyncio.sleep(0.01)
            later.give(0)

            assert [(await client.response()).body for _ in range(3)] == [b"a", b"/echo|", b"parsed b"]

    run(work())


def test_a_connection_that_drains_ends_after_the_response_to_a_taken_post():
    async def work():
        later = TakingLater()
        async with listening(EchoApp(), hot_paths={b"POST /later": later}) as listener, connected(listener) as client:
            await client.send(POST % b"a")
            await later.until(1)
            (connection,) = listener._state.connections
            connection.shutdown()
            later.give(0)
            response = await client.response()

            assert response.headers[b"connection"] == b"close"
            assert await client.rest() == b""

    run(work())


def test_a_client_that_left_before_the_response_harms_no_one():
    async def work():
        later = TakingLater()
        async with listening(EchoApp(), hot_paths={b"POST /later": later}) as listener, connected(listener) as other:
            async with connected(listener) as client:
                await client.send(POST % b"a")
                await later.until(1)
                client.reset()
            await until(lambda: len(listener._state.connections) == 1)
            later.give(0)
            await other.send(POST % b"b")
            await later.until(2)
            later.give(1)

            assert (await other.response()).body == b"b"
            assert listener.in_flight == 0

    run(work())


def test_a_post_is_not_taken_where_there_is_no_room():
    async def work():
        later = TakingLater()
        hot = {b"POST /later": later}
        async with (
            listening(EchoApp(), hot_paths=hot, max_in_flight=1) as listener,
            connected(listener) as first,
            connected(listener) as second,
        ):
            await first.send(POST % b"a")
            await later.until(1)
            await second.send(POST % b"b")
            assert (await second.response()).status == 503
            later.give(0)
            assert (await first.response()).body == b"a"
            assert len(later.taken) == 1

    run(work())
