"""Very many connections that ask again at once: each rests until all that arrived was handled, and goes on then."""

import asyncio
import resource
import socket
from collections import Counter
from collections.abc import Sequence

import pytest

from agentgate.web.connection import AT_ONCE
from agentgate.web.head_reader import KnownHead
from agentgate.web.hot_path import HotReply, HotRequest
from agentgate.web.timed_connection import TimedConnection
from tests.http.corpus import request
from tests.http.test_known_gets import Recognising
from tests.http.wire import EchoApp, connected, listening, run, until

OK = HotReply(200, [], b"hot")
WRITTEN = Recognising().reply
HOT_PATHS = {b"/hot": lambda _: OK, b"/known": Recognising()}
# From 1,024 connections on, the loop looks for more data again and again before anything else has its turn.
MANY = 1_200
TIMES = 20


class AskedAgain:
    """Connections to a listener, each of which asks again while it is answered, so that more data is there at once."""

    def __init__(self, listener, path: bytes) -> None:
        self.left: Counter[int] = Counter()
        self.sockets: dict[int, socket.socket] = {}
        self.path = path
        for _ in range(MANY):
            each = socket.create_connection(listener.address)
            self.sockets[each.getsockname()[1]] = each

    def ask(self, port: int) -> None:
        self.sockets[port].sendall(request(self.path, b"X-Port: %d" % port))

    def ask_again(self, port: int) -> None:
        self.left[port] += 1
        if self.left[port] < TIMES:
            self.ask(port)


class Hot:
    """A hot function that lets its client ask again, and may know it by its head."""

    asked: AskedAgain

    def __init__(self, *, recognises: bool) -> None:
        self.recognises = recognises
        self.recognised = 0

    def __call__(self, hot_request: HotRequest) -> HotReply:
        self.asked.ask_again(int(hot_request.headers[b"x-port"]))
        return OK

    def recognise(self, _: KnownHead, values: Sequence[bytes]) -> tuple[bytes, bytes] | None:
        if not self.recognises or not values:
            return None
        self.recognised += 1
        self.asked.ask_again(int(values[0]))
        return WRITTEN


def make_long(listener) -> None:
    """Let the present turn of the loop count as a long one."""
    state = listener._state
    state.rest_from = 0
    state.is_turn_long()
    state.rest_from = 0


@pytest.mark.parametrize("path", [b"/hot", b"/known", b"/echo"])
def test_a_connection_rests_in_a_long_turn_and_goes_on_in_the_next(path):
    async def work():
        async with listening(EchoApp(), hot_paths=HOT_PATHS) as listener, connected(listener) as client:
            for _ in range(20):
                make_long(listener)
                await client.send(request(path))
                assert (await client.response()).status == 200
            assert listener._state.resting == []

    run(work())


def test_what_came_with_it_is_answered_in_order():
    async def work():
        async with listening(EchoApp(), hot_paths=HOT_PATHS) as listener, connected(listener) as client:
            make_long(listener)
            await client.send(b"".join(map(request, (b"/hot", b"/echo", b"/hot", b"/none", b"/known"))))

            assert [(await client.response()).status for _ in range(5)] == [200, 200, 200, 404, 200]

    run(work())


def test_nothing_is_read_while_it_rests_and_a_closed_one_is_left_alone():
    async def work():
        async with listening(EchoApp(), hot_paths=HOT_PATHS) as listener:
            async with connected(listener) as client:
                await client.send(request(b"/hot"))
                await client.response()
                (connection,) = listener._state.connections
                make_long(listener)
                connection._rest()
                assert connection.flow.read_paused
                await asyncio.sleep(0)
                assert not connection.flow.read_paused
                make_long(listener)
                connection._rest()
                connection.transport.abort()
            await asyncio.sleep(0.05)
            assert listener.connections == 0

    run(work())


def test_turns_with_few_answers_are_not_long(monkeypatch):
    woken = []
    monkeypatch.setattr(TimedConnection, "wake", woken.append)

    async def work():
        async with listening(EchoApp(), hot_paths=HOT_PATHS) as listener, connected(listener) as client:
            for _ in range(3 * AT_ONCE):
                await client.send(request(b"/hot"))
                await client.response()
            assert listener.answered == 3 * AT_ONCE
            assert (woken, listener._state.resting) == ([], [])

    run(work())


@pytest.mark.parametrize("recognises", [False, True])
def test_many_who_ask_again_at_once_do_not_keep_the_loop_from_the_rest(recognises):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most_files = 3 * MANY
    if hard != resource.RLIM_INFINITY and hard < most_files:
        pytest.skip(f"only {hard} files may be open")

    async def work():
        hot, most = Hot(recognises=recognises), 0
        async with listening(EchoApp(), hot_paths={b"/hot": hot}) as listener:
            hot.asked = AskedAgain(listener, b"/hot")
            await until(lambda: listener.connections == MANY)
            for port in hot.asked.sockets:
                hot.asked.ask(port)
            while listener.answered < TIMES * MANY:
                before = listener.answered
                await asyncio.sleep(0)
                most = max(most, listener.answered - before)
            for each in hot.asked.sockets.values():
                each.close()
        assert (hot.recognised > 0) == recognises
        # As many as come before a turn is found to be long, and then each of them once.
        assert MANY <= most <= 2 * AT_ONCE + MANY

    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most_files), hard))
    try:
        run(work())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
