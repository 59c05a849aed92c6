"""A request that is taken as it arrives, with a body that comes after its head: held until it is complete."""

import asyncio
import time

import pytest

from agentgate.http.connection.fast_functions import INCOMPLETE, HotReply, Pending
from tests.http.corpus import request
from tests.http.wire import GET, EchoApp, connected, listening, run, until

HEAD = b"POST /hot HTTP/1.1\r\nHost: gate.example\r\nContent-Length: 6\r\n\r\n"
WHOLE = HEAD + b"abcdef"


class Holding:
    """A hot function that takes requests whose body is all there, and asks again where it is not."""

    def __init__(self):
        self.taken, self.parsed = [], []
        self.pending = None

    def __call__(self, read):
        self.parsed.append(read.body)
        return HotReply(200, [], b"parsed")

    def take(self, data):
        if len(data) < len(WHOLE) or b"999" in data:
            return INCOMPLETE
        if len(data) > len(WHOLE):
            return None
        self.taken.append(data)
        return self.pending or (b"HTTP/1.1 200 OK\r\n", b"content-length: 5\r\n\r\ntaken")


@pytest.fixture
def hot():
    return Holding()


def serving(hot, **limits):
    return listening(EchoApp(), hot_paths={b"POST /hot": hot}, **limits)


@pytest.mark.parametrize("cuts", [(len(HEAD),), (len(HEAD), len(HEAD) + 3), range(len(HEAD), len(WHOLE))])
def test_a_body_that_comes_later_is_taken_whole(hot, cuts):
    async def work():
        async with serving(hot) as listener, connected(listener) as client:
            for _ in range(2):
                for start, end in zip((0, *cuts), (*cuts, len(WHOLE)), strict=True):
                    await client.send(WHOLE[start:end])
                    await asyncio.sleep(0.01)
                assert (await client.response()).body == b"taken"
            await client.send(GET % b"/echo")
            assert (await client.response()).body == b"/echo|"

    run(work())
    assert (hot.taken, hot.parsed) == ([WHOLE] * 2, [])


def test_what_follows_the_body_is_the_next_request(hot):
    async def work():
        async with serving(hot) as listener, connected(listener) as client:
            await client.send(HEAD)
            await asyncio.sleep(0.01)
            await client.send(b"abcdef" + WHOLE.replace(b"abcdef", b"second") + GET % b"/echo")
            assert [(await client.response()).body for _ in range(3)] == [b"parsed", b"parsed", b"/echo|"]

    run(work())
    assert (hot.taken, hot.parsed) == ([], [b"abcdef", b"second"])


@pytest.mark.parametrize("before", [b"", request(b"/echo"), WHOLE], ids=["first", "after the cold way", "after one"])
def test_one_byte_at_a_time_does_not_extend_the_deadline_of_a_body(hot, before):
    async def work():
        limits = {"body_deadline_s": 0.3, "keep_alive_s": 5.0, "linger_s": 0.2}
        async with serving(hot, **limits) as listener, connected(listener) as client:
            await client.send(before)
            if before:
                await client.response()
            began = time.monotonic()
            await client.send(HEAD.replace(b"6", b"999"))
            while not client.reader._buffer and time.monotonic() - began < 3:
                await client.send(b"a")
                await asyncio.sleep(0.05)
            response = await client.response()
            await client.rest()

            assert response.status == 400
            assert time.monotonic() - began < 2
            assert listener.refused == {"body_timeout": 1}

    run(work())
    assert (len(hot.taken), hot.parsed) == (before == WHOLE, [])


def test_draining_waits_for_the_body_and_closes_behind_it(hot):
    async def work():
        async with serving(hot) as listener, connected(listener) as client, connected(listener) as idle:
            await client.send(HEAD)
            await until(lambda: listener.connections == 2)
            await asyncio.sleep(0.01)
            draining = asyncio.create_task(listener.drain(5))
            assert await idle.rest() == b""
            await client.send(b"abcdef")

            assert (await client.response()).headers[b"connection"] == b"close"
            assert await client.rest() == b""
            assert await draining == 0

    run(work())
    assert hot.taken == [WHOLE]


def test_a_client_that_goes_before_its_body_leaves_nothing(hot):
    async def work():
        async with serving(hot) as listener:
            async with connected(listener) as client:
                await client.send(HEAD + b"abc")
                await asyncio.sleep(0.01)
            await until(lambda: listener.connections == 0)
            assert listener.in_flight == 0

    run(work())
    assert (hot.taken, hot.parsed) == ([], [])


def test_where_too_many_wait_when_the_body_comes_it_is_rejected(hot):
    async def work():
        async with (
            serving(hot, max_in_flight=1) as listener,
            connected(listener) as client,
            connected(listener) as other,
        ):
            await other.send(HEAD)
            await asyncio.sleep(0.01)
            hot.pending = Pending()
            await client.send(WHOLE)
            await until(lambda: listener.in_flight == 1)
            await other.send(b"abcdef")
            assert (await other.response()).status == 503
            hot.pending.resolve((b"HTTP/1.1 200 OK\r\n", b"content-length: 0\r\n\r\n"))
            assert (await client.response()).status == 200

    run(work())
    assert (hot.taken, hot.parsed) == ([WHOLE], [])
