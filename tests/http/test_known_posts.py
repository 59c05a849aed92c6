"""A POST whose head came before is begun with at once; everything unusual about it goes the usual way."""

import asyncio

import pytest

from agentgate.http.connection.fast_functions import HotReply, Pending
from agentgate.http.connection.head_reader import PATTERN_FROM
from tests.http.wire import EchoApp, connected, listening, run

HEAD = b"POST /echo HTTP/1.1\r\nHost: gate.example\r\nAuthorization: %b\r\nContent-Length: %b\r\n\r\n"
# After so many requests a head is known.
LEARNING = 2


def post(body, *, secret=b"s", length=None):
    return HEAD % (secret, length or b"%d" % len(body)) + body


class Knows:
    """A hot function that begins with what it knows; the test says what becomes of that."""

    def __init__(self):
        self.begun = []
        self.asked = []
        self.pending = []
        self.begins = self.answer_at_once

    def begin(self, head, values, body):
        self.begun.append((head.names, tuple(values), body))
        return self.begins(body)

    def __call__(self, request):
        self.asked.append(request.body)
        return HotReply(200, [], b"usual " + request.body)

    def answer_at_once(self, body):
        pending = self.answer_later(body)
        pending.resolve(HotReply(200, [], b"begun " + body))
        return pending

    def answer_later(self, _body):
        self.pending.append(Pending())
        return self.pending[-1]

    async def until(self, count):
        while len(self.pending) < count:  # noqa: ASYNC110 - the listener tells nobody
            await asyncio.sleep(0.001)


def knowing(work, **limits):
    """Run work with a hot function, a listener, and a client whose head is known."""

    async def whole():
        knows = Knows()
        async with (
            listening(EchoApp(), hot_paths={b"POST /echo": knows}, **limits) as listener,
            connected(listener) as client,
        ):
            for _ in range(LEARNING):
                await client.send(post(b"x"))
                assert (await client.response()).body == b"usual x"
            await work(knows, listener, client)

    run(whole())


def test_a_head_that_came_before_is_begun_with_and_values_and_body_are_its_own():
    async def work(knows, listener, client):
        # Enough for the head to be expected, and compared first.
        bodies = [b"%d\r\n\r\n." % number for number in range(PATTERN_FROM * 2)]
        for body in bodies:
            await client.send(post(body, secret=b"of " + body[:-5]))
            assert (await client.response()).body == b"begun " + body
        names = (b"authorization", b"content-length")
        assert knows.begun == [(names, (b"of " + body[:-5], b"%d" % len(body)), body) for body in bodies]
        assert knows.asked == [b"x"] * LEARNING
        assert (listener.in_flight, listener.answered) == (0, LEARNING + len(bodies))

    knowing(work)


def test_what_the_hot_function_does_not_begin_with_goes_the_usual_way():
    async def work(knows, _listener, client):
        knows.begins = lambda _body: None
        await client.send(post(b"abc"))

        assert (await client.response()).body == b"usual abc"
        assert len(knows.begun) == 1

    knowing(work)


def test_a_hot_function_that_fails_is_told_to_its_caller_only(caplog):
    async def work(knows, listener, client):
        knows.begins = lambda _body: 1 // 0
        await client.send(post(b"abc"))
        assert (await client.response()).status == 500
        knows.begins = knows.answer_at_once
        await client.send(post(b"def"))

        assert (await client.response()).body == b"begun def"
        assert listener.in_flight == 0

    knowing(work)
    assert "a hot function failed" in caplog.text


@pytest.mark.parametrize("length", [b"03", b"+3"])
def test_a_length_in_another_spelling_is_left_to_the_usual_way(length):
    async def work(knows, _listener, client):
        await client.send(post(b"abc", length=length))
        # It may be refused or answered, but nobody has begun with it.
        assert (await client.response()).status in (200, 400)
        assert knows.begun == []

    knowing(work)


def test_a_body_that_comes_in_pieces_is_whole_before_anybody_sees_it():
    async def work(knows, _listener, client):
        whole = post(b"abcdef")
        await client.send(whole[:-3])
        await asyncio.sleep(0.01)
        await client.send(whole[-3:])

        assert (await client.response()).body == b"usual abcdef"
        assert knows.begun == []

    knowing(work)


def test_two_requests_at_once_are_answered_in_their_order():
    async def work(_knows, _listener, client):
        await client.send(post(b"first") + post(b"second"))

        assert [(await client.response()).body[-6:] for _ in range(2)] == [b" first", b"second"]

    knowing(work)


def test_a_request_behind_one_that_is_begun_with_waits_for_it():
    async def work(knows, listener, client):
        knows.begins = knows.answer_later
        await client.send(post(b"first"))
        await knows.until(1)
        await client.send(post(b"second"))
        await asyncio.sleep(0.01)
        assert (len(knows.asked), listener.in_flight) == (LEARNING, 1)
        knows.pending[0].resolve(HotReply(200, [], b"begun first"))

        assert [(await client.response()).body for _ in range(2)] == [b"begun first", b"usual second"]

    knowing(work)


def test_where_there_is_no_room_nobody_begins():
    async def work(knows, listener, client):
        knows.begins = knows.answer_later
        await client.send(post(b"first"))
        await knows.until(1)
        async with connected(listener) as other:
            await other.send(post(b"second"))
            assert (await other.response()).status == 503
        knows.pending[0].resolve(HotReply(200, [], b"begun first"))

        assert (await client.response()).body == b"begun first"
        assert (len(knows.begun), listener.shed) == (1, 1)

    knowing(work, max_in_flight=1)


def test_an_answer_that_comes_while_the_listener_drains_closes_the_connection():
    async def work(knows, listener, client):
        knows.begins = knows.answer_later
        await client.send(post(b"first"))
        await knows.until(1)
        draining = asyncio.create_task(listener.drain(5))
        await asyncio.sleep(0.01)
        knows.pending[0].resolve(HotReply(200, [], b"begun first"))

        assert (await client.response()).headers[b"connection"] == b"close"
        assert await client.rest() == b""
        assert await draining == 0

    knowing(work)


def test_a_connection_whose_answer_was_written_has_its_time_for_the_next_request():
    async def work(knows, _listener, client):
        knows.begins = knows.answer_later
        await client.send(post(b"first"))
        await knows.until(1)
        # Longer than a connection may rest; but it does not rest.
        await asyncio.sleep(0.3)
        knows.pending[0].resolve(HotReply(200, [], b"begun first"))

        assert (await client.response()).body == b"begun first"
        assert await client.rest() == b""

    knowing(work, keep_alive_s=0.1)
