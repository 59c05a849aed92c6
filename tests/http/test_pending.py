"""Responses that are given later without a task, and room for connections."""

import asyncio
import contextlib

import pytest

from agentgate.http.connection.fast_functions import HotReply, Pending
from tests.http.wire import GET, Client, EchoApp, connected, listening, run


class Later:
    """A hot function whose responses the test supplies."""

    def __init__(self):
        self.pending = []

    def __call__(self, _request):
        self.pending.append(Pending())
        return self.pending[-1]

    async def until(self, count):
        while len(self.pending) < count:  # noqa: ASYNC110 - the listener tells nobody
            await asyncio.sleep(0.001)

    def give(self, number):
        self.pending[number].resolve(HotReply(200, [], b"%d" % number))


def test_requests_of_one_connection_are_queried_one_after_the_other():
    async def work():
        later = Later()
        async with listening(EchoApp(), hot_paths={b"/later": later}) as listener, connected(listener) as client:
            await client.send(GET % b"/later" + GET % b"/later")
            await later.until(1)
            await asyncio.sleep(0.01)
            assert (len(later.pending), listener.in_flight) == (1, 1)
            later.give(0)
            await later.until(2)
            later.give(1)

            assert [(await client.response()).body for _ in range(2)] == [b"0", b"1"]
            assert listener.in_flight == 0

    run(work())


def test_connections_do_not_wait_for_each_other():
    async def work():
        later = Later()
        hot = {b"/later": later}
        async with (
            listening(EchoApp(), hot_paths=hot) as listener,
            connected(listener) as first,
            connected(listener) as second,
        ):
            await first.send(GET % b"/later")
            await later.until(1)
            await second.send(GET % b"/later")
            await later.until(2)
            later.give(1)
            assert (await second.response()).body == b"1"
            later.give(0)
            assert (await first.response()).body == b"0"

    run(work())


def test_a_response_for_a_client_that_is_gone_goes_nowhere():
    async def work():
        later = Later()
        async with listening(EchoApp(), hot_paths={b"/later": later}) as listener:
            async with connected(listener) as client:
                await client.send(GET % b"/later")
                await later.until(1)
                client.reset()
            while listener.connections:  # noqa: ASYNC110 - likewise
                await asyncio.sleep(0.001)
            later.give(0)
            later.give(0)

            assert listener.in_flight == 0

    run(work())


def test_a_client_that_has_finished_sending_gets_its_response():
    async def work():
        later = Later()
        async with listening(EchoApp(), hot_paths={b"/later": later}) as listener, connected(listener) as client:
            await client.send(GET % b"/later")
            client.writer.write_eof()
            await later.until(1)
            await asyncio.sleep(0.02)
            later.give(0)
            response = await client.response()

            assert (response.body, response.headers[b"connection"]) == (b"0", b"close")
            assert await client.rest() == b""

    run(work())


POST = b"POST /later HTTP/1.1\r\nHost: gate.example\r\nContent-Length: 1\r\n\r\nx"


def test_where_too_many_wait_the_next_one_is_rejected():
    async def work():
        later = Later()
        async with (
            listening(EchoApp(), hot_paths={b"POST /later": later}, max_in_flight=1) as listener,
            connected(listener) as client,
            connected(listener) as other,
        ):
            await client.send(POST)
            await later.until(1)
            await other.send(POST)
            assert (await other.response()).status == 503
            later.give(0)

            assert (await client.response()).body == b"0"
            assert (len(later.pending), listener.shed) == (1, 1)

    run(work())


def test_a_response_that_comes_while_the_listener_drains_closes_the_connection():
    async def work():
        later = Later()
        async with (
            listening(EchoApp(), hot_paths={b"POST /later": later}) as listener,
            connected(listener) as client,
        ):
            await client.send(POST)
            await later.until(1)
            draining = asyncio.create_task(listener.drain(5))
            await asyncio.sleep(0.01)
            later.give(0)

            assert (await client.response()).headers[b"connection"] == b"close"
            assert await client.rest() == b""
            assert await draining == 0

    run(work())


def test_a_connection_that_waits_for_its_response_does_not_rest():
    async def work():
        later = Later()
        async with (
            listening(EchoApp(), hot_paths={b"POST /later": later}, keep_alive_s=0.1) as listener,
            connected(listener) as client,
        ):
            await client.send(POST)
            await later.until(1)
            # Longer than a connection may rest.
            await asyncio.sleep(0.3)
            later.give(0)

            assert (await client.response()).body == b"0"
            assert await client.rest() == b""

    run(work())


def test_past_the_greatest_number_a_new_connection_is_closed_while_all_others_have_a_request():
    async def work():
        app = EchoApp()
        async with listening(app, max_connections=2) as listener:
            async with connected(listener) as first, connected(listener) as second:
                for client in (first, second):
                    await client.send(GET % b"/wait")
                while len(app.seen) < 2:  # noqa: ASYNC110 - likewise
                    await asyncio.sleep(0.001)
                third = await Client.connect(listener)
                await third.send(GET % b"/echo")
                with contextlib.suppress(ConnectionResetError):
                    assert await third.reader.read() == b""
                third.writer.close()
                assert listener.refused == {"too_many_connections": 1}
                app.gate.set()
                for client in (first, second):
                    assert (await client.response()).status == 200
            async with connected(listener) as fourth:
                await fourth.send(GET % b"/echo")
                assert (await fourth.response()).status == 200

    run(work())


@pytest.mark.parametrize("sent", [b"", GET % b"/echo", b"GET /ec"])
def test_past_the_greatest_number_the_idlest_connections_are_closed_first(sent):
    """Connections that are idle, were used once, or never finish their headers do not block new clients."""

    async def work():
        app = EchoApp()
        async with listening(app, max_connections=20) as listener, connected(listener) as busy:
            await busy.send(GET % b"/wait")
            while not app.seen:  # noqa: ASYNC110 - likewise
                await asyncio.sleep(0.001)
            idle = [await Client.connect(listener) for _ in range(19)]
            for client in idle:
                await client.send(sent)
                if sent.endswith(b"\r\n\r\n"):
                    await client.response()
            for _ in range(30):
                async with connected(listener) as client:
                    await client.send(GET % b"/echo")
                    assert (await client.response()).status == 200
            assert listener.refused["idle_closed"] >= 1
            assert "too_many_connections" not in listener.refused
            app.gate.set()
            assert (await busy.response()).status == 200
            for client in idle:
                client.writer.close()

    run(work())
