"""Going away: no new connection, idle ones closed, what runs finishes, what does not finish is canceled."""

import asyncio
import json
import time

import pytest

from agentgate.http.connection.fast_functions import HotReply
from agentgate.http.connection.listener import IDLE_GRACE_S
from tests.http.corpus import post, request
from tests.http.wire import EchoApp, connected, listening, run, until


def test_draining_lets_a_running_request_finish_and_closes():
    async def work():
        app = EchoApp()
        async with listening(app) as listener, connected(listener) as client:
            await client.send(request(b"/wait"))
            await until(lambda: listener.in_flight == 1)
            draining = asyncio.create_task(listener.drain(5))
            await asyncio.sleep(0.05)
            app.gate.set()
            response = await client.response()

            assert response.status == 200
            assert response.headers[b"connection"] == b"close"
            assert await client.rest() == b""
            assert await draining == 0
            assert (listener.connections, listener.in_flight) == (0, 0)

    run(work())


def test_draining_closes_idle_connections_soon():
    async def work():
        async with listening(EchoApp()) as listener, connected(listener) as used, connected(listener) as unused:
            await used.send(request())
            await used.response()
            await until(lambda: listener.connections == 2)
            began = time.monotonic()
            await listener.drain(10)

            assert time.monotonic() - began < IDLE_GRACE_S + 2
            assert (await used.rest(), await unused.rest()) == (b"", b"")

    run(work())


def test_draining_handles_what_was_on_its_way_over_an_idle_connection():
    async def work():
        async with listening(EchoApp()) as listener, connected(listener) as used, connected(listener) as unused:
            await used.send(request())
            await used.response()
            await until(lambda: listener.connections == 2)
            draining = asyncio.create_task(listener.drain(5))
            await asyncio.sleep(0.05)
            for client in (used, unused):
                await client.send(request())
                response = await client.response()
                assert (response.status, response.headers[b"connection"]) == (200, b"close")

            assert await draining == 0

    run(work())


def test_while_it_still_accepts_a_draining_listener_asks_its_clients_to_reconnect():
    hot_paths = {b"/hot": lambda _request: HotReply(200, [], b"hot")}

    async def work():
        async with listening(EchoApp(), hot_paths=hot_paths) as listener, connected(listener) as before:
            await before.send(request())
            await before.response()
            listener.announce_close()
            async with connected(listener) as after:
                for client, path in ((before, b"/echo"), (after, b"/hot")):
                    await client.send(request(path))
                    response = await client.response()
                    assert (response.status, response.headers[b"connection"]) == (200, b"close")
                    assert await client.rest() == b""

    run(work())


def test_a_draining_listener_takes_no_new_connection():
    async def work():
        async with listening(EchoApp()) as listener:
            await listener.drain(1)

            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection(*listener.address)

    run(work())


def test_stopping_to_accept_leaves_open_connections_alone():
    async def work():
        async with listening(EchoApp()) as listener, connected(listener) as client:
            await client.send(request())
            await client.response()
            listener.stop_accepting()
            await client.send(request())

            assert (await client.response()).status == 200
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection(*listener.address)

    run(work())


def test_draining_waits_for_a_body_that_is_arriving():
    async def work():
        app = EchoApp()
        async with listening(app) as listener, connected(listener) as client:
            await client.send(post(b"Content-Length: 4", body=b"he"))
            await until(lambda: listener.in_flight == 1)
            draining = asyncio.create_task(listener.drain(5))
            await asyncio.sleep(0.05)
            await client.send(b"re")

            assert (await client.response()).body == b"/echo|here"
            assert await draining == 0

    run(work())


def test_draining_waits_for_a_head_that_is_arriving():
    async def work():
        async with listening(EchoApp()) as listener, connected(listener) as client:
            await client.send(request()[:20])
            await until(lambda: listener.connections == 1)
            await asyncio.sleep(0.05)
            draining = asyncio.create_task(listener.drain(5))
            await asyncio.sleep(0.05)
            await client.send(request()[20:])

            assert (await client.response()).headers[b"connection"] == b"close"
            assert await draining == 0

    run(work())


def test_draining_runs_nothing_behind_its_last_response():
    seen = []

    def hot(hot_request):
        seen.append(hot_request.path)
        return HotReply(200, [], b"hot")

    async def work():
        async with listening(EchoApp(), hot_paths={b"/hot": hot}) as listener, connected(listener) as client:
            await client.send(request(b"/hot")[:20])
            await until(lambda: listener.connections == 1)
            await asyncio.sleep(0.05)
            draining = asyncio.create_task(listener.drain(5))
            await asyncio.sleep(0.05)
            await client.send(request(b"/hot")[20:] + request(b"/hot"))

            assert (await client.response()).headers[b"connection"] == b"close"
            assert await draining == 0
            assert seen == [b"/hot"]

    run(work())


def test_draining_closes_when_a_body_that_no_one_wanted_has_come():
    async def work():
        async with listening(EchoApp()) as listener, connected(listener) as client:
            await client.send(request(b"/early", b"Content-Length: 2", method=b"POST"))
            await client.response()
            draining = asyncio.create_task(listener.drain(5))
            await asyncio.sleep(0.05)
            assert listener.connections == 1
            await client.send(b"hi")
            began = time.monotonic()
            await draining

            assert time.monotonic() - began < 1

    run(work())


def test_draining_handles_what_was_pipelined():
    async def work():
        app = EchoApp()
        async with listening(app) as listener, connected(listener) as client:
            await client.send(request(b"/wait/1") + request(b"/wait/2"))
            await until(lambda: listener.in_flight == 1)
            draining = asyncio.create_task(listener.drain(5))
            await asyncio.sleep(0.05)
            app.gate.set()
            first, second = await client.response(), await client.response()

            assert (first.body, second.body) == (b"/wait/1|", b"/wait/2|")
            assert second.headers[b"connection"] == b"close"
            assert await draining == 0

    run(work())


def test_draining_finishes_a_hot_response_that_is_delayed():
    gate = asyncio.Event()

    async def later():
        await gate.wait()
        return HotReply(200, [], b"late")

    async def work():
        hot_paths = {b"/hot": lambda _request: later()}
        async with listening(EchoApp(), hot_paths=hot_paths) as listener, connected(listener) as client:
            await client.send(request(b"/hot"))
            await until(lambda: listener.in_flight == 1)
            draining = asyncio.create_task(listener.drain(5))
            await asyncio.sleep(0.05)
            gate.set()
            response = await client.response()

            assert response.body == b"late"
            assert response.headers[b"connection"] == b"close"
            assert await draining == 0

    run(work())


def test_what_does_not_finish_in_time_is_cancelled():
    async def work():
        app = EchoApp()
        async with listening(app) as listener, connected(listener) as client:
            await client.send(request(b"/wait"))
            await until(lambda: listener.in_flight == 1)
            cancelled = await listener.drain(0.1)

            assert cancelled == 1
            assert app.cancelled == 1
            head, _, body = (await client.rest()).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 503")
            assert b"\r\nconnection: close" in head
            assert b"\r\ncontent-type: application/json" in head
            assert json.loads(body)["error"] == "unavailable"
            assert (listener.connections, listener.in_flight) == (0, 0)

    run(work())
