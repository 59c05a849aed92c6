"""Time limits for a client: for headers, for a body, between requests, and to read its response."""

import asyncio
import time

import pytest

from tests.http.corpus import post, request
from tests.http.wire import EchoApp, answer, connected, listening, run, until

QUICK = {"header_deadline_s": 0.3, "body_deadline_s": 0.3, "keep_alive_s": 0.3, "linger_s": 0.2}
# A deadline of 0.3 s plus a tick plus the linger, and room for a busy machine.
SOON_S = 2.0


async def drip(client):
    while not client.is_gone:
        await client.send(b"a")
        await asyncio.sleep(0.02)


@pytest.mark.parametrize("sent", [b"", b"GET /echo", b"GET /echo HTTP/1.1\r\nHost: gate.example\r\nX-A: "])
def test_a_head_that_does_not_come_is_not_waited_for(sent):
    async def work():
        app = EchoApp()
        async with listening(app, **QUICK) as listener, connected(listener) as client:
            began = time.monotonic()
            await client.send(sent)
            await client.rest()

            assert 0.25 < time.monotonic() - began < SOON_S
            assert app.seen == []

    run(work())


@pytest.mark.parametrize("before", [b"", request()], ids=["first request", "later request"])
def test_one_byte_at_a_time_does_not_extend_the_deadline_of_a_head(before):
    async def work():
        app = EchoApp()
        async with listening(app, **QUICK | {"keep_alive_s": 5.0}) as listener, connected(listener) as client:
            await client.send(before)
            if before:
                await client.response()
            began = time.monotonic()
            for byte in request(b"/" + b"a" * 400):
                await client.send(bytes([byte]))
                await asyncio.sleep(0.02)
                if client.is_gone or time.monotonic() - began > SOON_S:
                    break

            assert time.monotonic() - began < SOON_S
            assert len(app.seen) == bool(before)
            assert listener.refused == {"head_timeout": 1}

    run(work())


def test_the_first_head_is_timed_from_the_start_of_the_connection():
    async def work():
        began = time.monotonic()
        async with (
            listening(EchoApp(), **QUICK | {"header_deadline_s": 0.8}) as listener,
            connected(listener) as client,
        ):
            await asyncio.sleep(0.6)
            await client.send(b"GET /echo")
            await client.response()

            assert 0.7 < time.monotonic() - began < 1.3

    run(work())


def test_a_slow_body_is_cut_off_and_its_handler_told():
    async def work():
        app = EchoApp()
        async with listening(app, **QUICK) as listener, connected(listener) as client:
            await client.send(post(b"Content-Length: 1000"))
            began = time.monotonic()
            dripping = asyncio.create_task(drip(client))
            response = await client.response()
            await dripping
            await until(lambda: listener.in_flight == 0)

            assert time.monotonic() - began < SOON_S
            assert response.status == 400
            assert [seen.is_complete for seen in app.seen] == [False]

    run(work())


def test_a_body_that_no_one_wants_is_read_to_the_end_and_the_connection_continues():
    async def work():
        app = EchoApp()
        async with listening(app, **QUICK) as listener, connected(listener) as client:
            await client.send(request(b"/early", b"Content-Length: 100000", method=b"POST"))
            early = await client.response()
            await client.send(b"a" * 100_000 + request())
            later = await client.response()

            assert (early.status, later.status) == (413, 200)

    run(work())


CLOSING = request(b"/early", b"Content-Length: 300000", b"Connection: close", method=b"POST")


@pytest.mark.parametrize("limits", [{}, {"max_in_flight": 0}], ids=["answered", "shed"])
def test_a_last_response_is_not_lost_when_the_body_still_comes(limits):
    async def work():
        async with listening(EchoApp(), **QUICK, **limits) as listener, connected(listener) as client:
            await client.send(CLOSING)
            await asyncio.sleep(0.05)
            # A connection that is closed by now is reset by this, and what the client has not read is lost.
            for _ in range(3):
                await client.send(b"a" * 100_000)
                await asyncio.sleep(0.01)
            response = await client.response()

            assert (response.status, response.headers[b"connection"]) == (503 if limits else 413, b"close")
            assert await client.rest() == b""
            await until(lambda: listener.connections == 0)

    run(work())


def test_a_long_last_response_is_written_to_its_end_though_the_client_reads_late():
    async def large(scope, receive, send):
        await answer(send, 200, b"a" * 20_000_000)

    async def work():
        async with listening(large, **QUICK, write_stall_s=5.0) as listener, connected(listener) as client:
            client.writer.transport.pause_reading()
            await client.send(CLOSING)
            # Longer than is waited for a client that reads.
            await asyncio.sleep(1.0)
            client.writer.transport.resume_reading()

            assert len((await client.response()).body) == 20_000_000

    run(work())


def test_a_client_that_continues_sending_behind_the_last_response_is_cut_off():
    async def work():
        async with listening(EchoApp(), **QUICK) as listener, connected(listener) as client:
            await client.send(CLOSING)
            began = time.monotonic()
            dripping = asyncio.create_task(drip(client))
            await until(lambda: listener.connections == 0)

            assert 0.15 < time.monotonic() - began < SOON_S
            dripping.cancel()

    run(work())


@pytest.mark.parametrize("sent", [b"", b"\r\n"], ids=["silent", "line ends only"])
def test_an_idle_connection_is_closed(sent):
    async def work():
        async with listening(EchoApp(), **QUICK) as listener, connected(listener) as client:
            await client.send(request())
            await client.response()
            began = time.monotonic()
            while not client.is_gone and time.monotonic() - began < SOON_S:
                await client.send(sent)
                await asyncio.sleep(0.02)

            assert 0.25 < time.monotonic() - began < SOON_S

    run(work())


@pytest.mark.parametrize(
    "raw",
    [
        request(b"/wait", b"Content-Length: 2", method=b"POST", body=b"hi"),
        request(b"/wait", b"Connection: close"),
        b"GET /wait HTTP/1.0\r\nHost: gate.example\r\nConnection: keep-alive\r\n\r\n" + request(),
    ],
    ids=["with a body", "the last request", "behind which nothing may run"],
)
def test_a_handler_may_take_longer_than_any_deadline_of_the_client(raw):
    async def work():
        app = EchoApp()
        async with listening(app, **QUICK) as listener, connected(listener) as client:
            await client.send(raw)
            await asyncio.sleep(0.8)
            app.gate.set()
            response = await client.response()

            assert response.status == 200

    run(work())


def test_a_pipelined_request_that_waits_for_its_turn_is_not_late():
    async def work():
        app = EchoApp()
        async with listening(app, **QUICK) as listener, connected(listener) as client:
            await client.send(request(b"/wait") + request(b"/echo") + b"GET /echo HT")
            await asyncio.sleep(0.8)
            app.gate.set()
            first, second = await client.response(), await client.response()
            await client.send(b"TP/1.1\r\nHost: gate.example\r\n\r\n")
            third = await client.response()

            assert [first.status, second.status, third.status] == [200, 200, 200]

    run(work())


def test_a_client_that_does_not_read_its_response_is_dropped():
    async def large(scope, receive, send):
        await answer(send, 200, b"a" * 20_000_000)

    async def work():
        async with listening(large, **QUICK, write_stall_s=0.3) as listener, connected(listener) as client:
            client.writer.transport.pause_reading()
            await client.send(request())
            await until(lambda: listener.connections == 1)
            began = time.monotonic()
            await until(lambda: listener.connections == 0)

            assert time.monotonic() - began < SOON_S

    run(work())
