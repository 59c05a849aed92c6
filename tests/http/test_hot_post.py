"""A small body reaches the hot function whole; a long one, or one with `Expect`, takes the slow path."""

import asyncio

import pytest

from agentgate.http.connection.fast_functions import HOT_BODY_BYTES, HotReply
from tests.http.wire import EchoApp, connected, listening, run

HEAD = b"POST /echo HTTP/1.1\r\nHost: gate.example\r\n"


class Seen:
    """A hot function that responds later and records bodies."""

    def __init__(self):
        self.bodies = []

    def __call__(self, request):
        self.bodies.append(request.body)
        return self._later(request)

    async def _later(self, request):
        await asyncio.sleep(0)
        return HotReply(200, [], b"hot " + request.body)


def ask(*pieces):
    """Send pieces to a hot POST /echo; return the hot bodies, the app's requests, and the response."""
    hot, app = Seen(), EchoApp()
    answers = []

    async def work():
        async with listening(app, hot_paths={b"POST /echo": hot}) as listener, connected(listener) as client:
            for piece in pieces:
                await client.send(piece)
                await asyncio.sleep(0.01)
            answers.append(await client.response())

    run(work())
    return hot.bodies, [seen.body for seen in app.seen], answers[0].body


def test_a_small_body_reaches_the_hot_function_whole_in_however_many_pieces():
    head = HEAD + b"Content-Length: 6\r\n\r\n"

    assert ask(head + b"abcdef") == ([b"abcdef"], [], b"hot abcdef")
    assert ask(head, b"ab", b"cd", b"ef") == ([b"abcdef"], [], b"hot abcdef")


@pytest.mark.parametrize(
    "rest",
    [
        b"Transfer-Encoding: chunked\r\n\r\n6\r\nabcdef\r\n0\r\n\r\n",
        b"Content-Length: 6\r\nExpect: 200-ok\r\n\r\nabcdef",
    ],
)
def test_a_body_of_unknown_length_or_with_an_expectation_goes_the_slow_path(rest):
    assert ask(HEAD + rest) == ([], [b"abcdef"], b"/echo|abcdef")


def test_a_body_over_the_bound_goes_the_slow_path():
    body = b"x" * (HOT_BODY_BYTES + 1)

    assert ask(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body) == ([], [body], b"/echo|" + body)
    assert ask(HEAD + b"Content-Length: %d\r\n\r\n" % HOT_BODY_BYTES + body[1:])[0] == [body[1:]]


def test_another_method_on_the_path_goes_the_slow_path():
    put = HEAD.replace(b"POST", b"PUT")

    assert ask(put + b"Content-Length: 2\r\n\r\nab") == ([], [b"ab"], b"/echo|ab")
