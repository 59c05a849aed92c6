"""One connection in ordinary use: keep-alive, pipelining, bodies, shedding, sockets of other kinds."""

import asyncio
import re
import socket
import struct

import pytest

from agentgate.http.connection.listener import ListenerOptions
from agentgate.server.unix_socket import open_unix_socket
from tests.http.corpus import post, request
from tests.http.wire import Client, EchoApp, answer, connected, listening, run, until

CHUNKED = b"Transfer-Encoding: chunked"


def test_a_connection_serves_one_request_after_another():
    async def work():
        app = EchoApp()
        async with listening(app) as listener, connected(listener) as client:
            for number in range(3):
                await client.send(post(b"Content-Length: 1", body=b"%d" % number))
                response = await client.response()
                assert response.body == b"/echo|%d" % number

            assert listener.connections == 1
            assert listener.answered == 3

    run(work())


def test_a_response_carries_the_date_and_no_server():
    async def work():
        async with listening(EchoApp()) as listener, connected(listener) as client:
            await client.send(request())
            response = await client.response()

            assert re.fullmatch(rb"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT", response.headers[b"date"])
            assert b"server" not in response.headers

    run(work())


def test_a_chunked_body_arrives_whole():
    async def work():
        app = EchoApp()
        async with listening(app) as listener, connected(listener) as client:
            await client.send(post(CHUNKED, body=b"5;a=b\r\nhello\r\n"))
            await client.send(b"6\r\n world\r\n0\r\n\r\n")
            response = await client.response()

            assert response.body == b"/echo|hello world"

    run(work())


def test_a_large_body_arrives_whole():
    async def work():
        app = EchoApp()
        body = bytes(range(256)) * 2000
        async with listening(app) as listener, connected(listener) as client:
            await client.send(post(b"Content-Length: %d" % len(body), body=body))
            response = await client.response()

            assert response.body == b"/echo|" + body

    run(work())


def test_a_client_that_expects_100_continue_is_instructed_to():
    async def work():
        async with listening(EchoApp()) as listener, connected(listener) as client:
            await client.send(post(b"Content-Length: 2", b"Expect: 100-continue"))
            interim = await client.response()
            await client.send(b"hi")
            response = await client.response()

            assert interim.status == 100
            assert response.body == b"/echo|hi"

    run(work())


def test_a_client_that_gets_its_response_before_it_may_continue_is_closed():
    async def work():
        async with listening(EchoApp()) as listener, connected(listener) as client:
            await client.send(request(b"/early", b"Content-Length: 2", b"Expect: 100-continue", method=b"POST"))
            response = await client.response()
            # It did not send the body, and takes the connection for free.
            await client.send(request())

            assert (response.status, response.headers[b"connection"]) == (413, b"close")
            assert await client.rest() == b""

    run(work())


def test_a_client_that_does_not_wait_for_100_continue_is_handled_anyway():
    async def work():
        async with listening(EchoApp()) as listener, connected(listener) as client:
            await client.send(request(b"/early", b"Content-Length: 2", b"Expect: 100-continue", method=b"POST") + b"hi")
            await client.send(request())
            answers = [await client.response() for _ in range(2)]

            assert [each.status for each in answers] == [413, 200]

    run(work())


def test_pipelined_requests_are_handled_in_order():
    async def work():
        app = EchoApp()
        async with listening(app) as listener, connected(listener) as client:
            await client.send(request(b"/wait/1") + post(b"Content-Length: 2", body=b"hi") + request(b"/wait/3"))
            await asyncio.sleep(0.05)
            running = list(app.paths)
            app.gate.set()
            bodies = [(await client.response()).body for _ in range(3)]

            assert running == ["/wait/1"]
            assert bodies == [b"/wait/1|", b"/echo|hi", b"/wait/3|"]

    run(work())


def test_too_many_pipelined_requests_are_rejected():
    async def work():
        app = EchoApp()
        async with listening(app, max_pipelined=4) as listener, connected(listener) as client:
            await client.send(request(b"/wait") * 50)
            await until(lambda: bool(app.seen))
            app.gate.set()
            received = await client.rest()

            assert received.count(b"HTTP/1.1 200 ") == 5
            assert received.count(b"too_many_pipelined") == 1
            assert len(app.seen) == 5

    run(work())


def test_a_repeated_header_that_may_be_a_list_arrives_as_one():
    async def work():
        app = EchoApp()
        async with listening(app) as listener, connected(listener) as client:
            await client.send(request(b"/echo", b"Via: a", b"Accept: b", b"VIA: c"))
            await client.response()

            assert app.seen[0].headers == [(b"host", b"gate.example"), (b"via", b"a, c"), (b"accept", b"b")]

    run(work())


def test_a_request_without_room_is_shed_and_the_connection_remains():
    async def work():
        app = EchoApp()
        async with (
            listening(app, max_in_flight=1) as listener,
            connected(listener) as busy,
            connected(listener) as shed,
        ):
            await busy.send(request(b"/wait"))
            await until(lambda: listener.in_flight == 1)
            await shed.send(post(b"Content-Length: 300000", body=b"a" * 300_000))
            refused = await shed.response()
            app.gate.set()
            await busy.response()
            await until(lambda: listener.in_flight == 0)
            await shed.send(request())
            served = await shed.response()

            assert refused.status == 503
            assert refused.headers[b"retry-after"] == b"5"
            assert refused.body.startswith(b'{"error":"unavailable",')
            assert b"connection" not in refused.headers
            assert served.status == 200
            assert app.paths == ["/wait", "/echo"]
            assert listener.shed == 1

    run(work())


def test_a_shed_client_that_waits_for_100_continue_is_closed():
    async def work():
        app = EchoApp()
        async with listening(app, max_in_flight=0) as listener, connected(listener) as client:
            await client.send(post(b"Content-Length: 2", b"Expect: 100-continue"))
            response = await client.response()

            assert response.status == 503
            assert response.headers[b"connection"] == b"close"
            assert await client.rest() == b""

    run(work())


def test_a_handler_is_shown_when_its_client_has_gone():
    ended = asyncio.Event()

    async def waits(scope, receive, send):
        await receive()
        message = await receive()
        if message["type"] == "http.disconnect":
            ended.set()

    async def work():
        async with listening(waits) as listener:
            async with connected(listener) as client:
                # The second request is why the first is not the newest on its connection.
                await client.send(request(b"/a") + request(b"/b"))
                await until(lambda: listener.in_flight == 1)
                client.reset()
            await asyncio.wait_for(ended.wait(), 2)

    run(work())


def test_a_client_that_has_finished_sending_gets_all_its_responses():
    async def work():
        app = EchoApp()
        async with listening(app) as listener, connected(listener) as client:
            await client.send(request(b"/wait/1") + post(b"Content-Length: 2", body=b"hi") + request(b"/wait/3"))
            client.writer.write_eof()
            await until(lambda: listener.in_flight == 1)
            await asyncio.sleep(0.05)
            app.gate.set()
            answers = [await client.response() for _ in range(3)]

            assert [each.body for each in answers] == [b"/wait/1|", b"/echo|hi", b"/wait/3|"]
            assert [each.headers.get(b"connection") for each in answers] == [None, None, b"close"]
            assert await client.rest() == b""
            assert listener.connections == 0

    run(work())


@pytest.mark.parametrize("begun", [b"", b"GET /echo HT", post(b"Content-Length: 5", body=b"he")])
def test_a_client_that_finishes_in_the_middle_is_closed(begun):
    async def work():
        app = EchoApp()
        async with listening(app) as listener, connected(listener) as client:
            await client.send(begun)
            await until(lambda: listener.connections == 1)
            client.writer.write_eof()

            assert await client.rest() == b""
            await until(lambda: listener.connections + listener.in_flight == 0)
            assert not any(seen.is_complete for seen in app.seen)

    run(work())


def test_a_handler_that_fails_is_a_500():
    async def fails(scope, receive, send):
        raise LookupError("a detail that must not leave")

    async def work():
        async with listening(fails) as listener, connected(listener) as client:
            await client.send(request())
            received = await client.rest()

            assert received.startswith(b"HTTP/1.1 500 ")
            assert b"detail" not in received

    run(work())


def test_a_unix_socket_besides_has_no_peer(tmp_path):
    async def work():
        app = EchoApp()
        path = tmp_path / "gate.sock"
        local = open_unix_socket(path, mode=0o600, group="", backlog=16)
        async with listening(app, options=ListenerOptions(local=local)) as listener, connected(listener) as over_tcp:
            over_socket = Client(*await asyncio.open_unix_connection(str(path)))
            for client in (over_socket, over_tcp):
                await client.send(request())
                response = await client.response()
                assert response.status == 200
            await over_socket.close()

            assert [seen.client is None for seen in app.seen] == [True, False]
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_unix_connection(str(path))

    run(work())


def test_a_connection_reset_before_it_is_accepted_does_not_pass_for_a_unix_socket():
    async def work():
        app = EchoApp()
        async with listening(app) as listener:
            for _ in range(20):
                client = socket.create_connection(listener.address)
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                client.sendall(request())
                client.close()
            async with connected(listener) as later:
                await later.send(request())
                response = await later.response()

            assert response.status == 200
            assert [seen.client is None for seen in app.seen] == [False]

    run(work())


def test_a_listener_can_use_a_socket_that_is_already_bound():
    async def work():
        inherited = socket.create_server(("127.0.0.1", 0))
        bound = inherited.getsockname()
        app = EchoApp()
        async with (
            listening(app, options=ListenerOptions(inherited=inherited)) as listener,
            connected(listener) as client,
        ):
            await client.send(request())
            response = await client.response()

            assert response.status == 200
            assert listener.address == bound
            assert app.seen[0].client == client.writer.get_extra_info("sockname")

    run(work())


def test_head_has_no_body_the_slow_path():
    async def app(scope, receive, send):
        await answer(send, 200, b"hello")

    async def work():
        async with listening(app) as listener, connected(listener) as client:
            await client.send(request(method=b"HEAD") + request())
            without, with_body = await client.response(to_head=True), await client.response()

            assert without.headers[b"content-length"] == b"5"
            assert with_body.body == b"hello"

    run(work())


def test_connections_that_come_at_once_are_taken_within_a_few_turns_of_a_busy_loop():
    async def work():
        turns, loop = 0, asyncio.get_running_loop()

        def count() -> None:
            nonlocal turns
            turns += 1
            loop.call_soon(count)

        async with listening(EchoApp()) as listener:
            clients = [socket.create_connection(listener.address) for _ in range(64)]
            count()
            # The test counts event-loop iterations, so it cannot wait for anything else.
            while listener.connections < len(clients):  # noqa: ASYNC110
                await asyncio.sleep(0)
            for client in clients:
                client.close()

        assert turns < len(clients) / 4

    run(work())
