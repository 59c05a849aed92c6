"""The corpus of malformed requests against a real listener: rejected or closed, and nothing hidden ever runs."""

import asyncio
import re

import pytest

from tests.http.corpus import CASES, CHUNKS, HIDDEN, Case, post, request
from tests.http.wire import EchoApp, connected, listening, run

QUICK = {"header_deadline_s": 0.3, "body_deadline_s": 0.3, "keep_alive_s": 0.3, "linger_s": 0.2}
NAMES = [case.name for case in CASES]
STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")


def statuses(raw: bytes) -> list[int]:
    return [int(status) for status in STATUS.findall(raw)]


def assert_nothing_hidden(app: EchoApp) -> None:
    assert [path for path in app.paths if path.startswith("/v1/admin")] == []
    assert len(app.seen) <= 1


async def outcome(case: Case, *, tail: bytes = b"", piece_bytes: int | None = None) -> tuple[EchoApp, bytes]:
    app = EchoApp()
    data = case.raw + tail
    async with listening(app, **QUICK) as listener, connected(listener) as client:
        size = piece_bytes or len(data)
        for start in range(0, len(data), size):
            await client.send(data[start : start + size])
            await asyncio.sleep(0)
        received = await client.rest()
    return app, received


def test_the_corpus_has_no_name_twice():
    assert len(set(NAMES)) == len(NAMES)
    assert len(CASES) >= 45


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_a_malformed_request_is_rejected_or_closed(case):
    async def work():
        app, received = await outcome(case)

        assert set(statuses(received)) <= case.statuses
        assert len(statuses(received)) <= 1
        assert_nothing_hidden(app)

    run(work())


@pytest.mark.parametrize("case", [case for case in CASES if 404 not in case.statuses], ids=lambda case: case.name)
def test_nothing_smuggled_behind_a_rejected_request_runs(case):
    async def work():
        app, received = await outcome(case, tail=HIDDEN)

        assert set(statuses(received)) <= case.statuses
        assert len(statuses(received)) <= 1
        assert_nothing_hidden(app)

    run(work())


@pytest.mark.parametrize("case", [case for case in CASES if len(case.raw) < 600], ids=lambda case: case.name)
def test_a_malformed_request_in_small_pieces_is_rejected_or_closed(case):
    async def work():
        app, received = await outcome(case, tail=HIDDEN if 404 not in case.statuses else b"", piece_bytes=7)

        assert set(statuses(received)) <= case.statuses
        assert_nothing_hidden(app)

    run(work())


@pytest.mark.parametrize("case", CHUNKS, ids=lambda case: case.name)
def test_a_body_with_broken_chunks_is_never_complete(case):
    async def work():
        app, _ = await outcome(case)

        assert [seen.is_complete for seen in app.seen] in ([], [False])

    run(work())


def test_a_rejection_is_small_json_and_closes():
    async def work():
        app = EchoApp()
        async with listening(app) as listener, connected(listener) as client:
            await client.send(b"GET /echo HTTP/1.1\r\n\r\n")
            response = await client.response()

            assert response.status == 400
            assert response.headers[b"connection"] == b"close"
            assert response.headers[b"content-type"] == b"application/json"
            assert response.body == b'{"error":"host_missing","message":"The request is not valid HTTP."}'
            assert await client.rest() == b""
            assert listener.refused == {"host_missing": 1}

    run(work())


@pytest.mark.parametrize(
    "raw",
    [
        request(b"/echo", b"X-A: " + b"a" * 140_000),
        request(b"/echo", *(b"X-%d: a" % number for number in range(2000))),
        request(b"/" + b"a" * 100_000),
    ],
    ids=["long header", "many headers", "long target"],
)
def test_a_head_that_is_too_large_is_rejected_before_it_ends(raw):
    async def work():
        async with (
            listening(EchoApp(), **QUICK | {"header_deadline_s": 4.0}) as listener,
            connected(listener) as client,
        ):
            await client.send(raw[:-4])
            response = await client.response()

            assert response.status == 431

    run(work())


def test_a_client_that_continues_sending_can_still_read_its_rejection():
    async def work():
        async with listening(EchoApp()) as listener, connected(listener) as client:
            sending = asyncio.create_task(client.send(b"GET /echo HTTP/1.1\r\n\r\n" + b"a" * 3_000_000))
            response = await client.response()
            await sending

            assert response.status == 400

    run(work())


def test_the_rejection_of_a_pipelined_request_waits_for_the_response_before_it():
    async def work():
        app = EchoApp()
        async with listening(app) as listener, connected(listener) as client:
            await client.send(request(b"/wait") + request(b"http://evil/v1/admin/x") + HIDDEN)
            await asyncio.sleep(0.05)
            app.gate.set()
            received = await client.rest()

            assert statuses(received) == [200, 400]
            assert app.paths == ["/wait"]

    run(work())


def test_a_request_behind_connection_close_does_not_run():
    async def work():
        app = EchoApp()
        async with listening(app) as listener, connected(listener) as client:
            await client.send(request(b"/echo", b"Connection: close") + HIDDEN)

            assert statuses(await client.rest()) == [200]
            assert app.paths == ["/echo"]

    run(work())


def test_a_request_behind_an_http_1_0_request_does_not_run():
    async def work():
        app = EchoApp()
        async with listening(app) as listener, connected(listener) as client:
            await client.send(b"GET /echo HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n" + HIDDEN)

            assert statuses(await client.rest()) == [200]
            assert app.paths == ["/echo"]

    run(work())


def test_trailers_join_neither_this_request_nor_the_next():
    async def work():
        app = EchoApp()
        async with listening(app) as listener, connected(listener) as client:
            await client.send(post(b"Transfer-Encoding: chunked", body=b"2\r\nhi\r\n0\r\nX-Admin-Key: a\r\n\r\n"))
            await client.response()
            await client.send(request())
            await client.response()

            assert [seen.body for seen in app.seen] == [b"hi", b""]
            assert [name for seen in app.seen for name, _ in seen.headers] == [b"host", b"transfer-encoding", b"host"]

    run(work())


def test_an_upgrade_is_ignored_and_the_connection_continues():
    async def work():
        app = EchoApp()
        upgrade = request(b"/echo", b"Connection: Upgrade", b"Upgrade: websocket")
        async with listening(app) as listener, connected(listener) as client:
            await client.send(upgrade + upgrade + request(b"/nowhere"))

            assert [(await client.response()).status for _ in range(3)] == [200, 200, 404]

    run(work())


def test_the_path_is_routed_as_it_was_sent():
    async def work():
        app = EchoApp()
        async with listening(app) as listener, connected(listener) as client:
            await client.send(request(b"/v1%2fadmin/sites?a=%2f"))
            await client.response()

            assert app.paths == ["/v1%2fadmin/sites"]

    run(work())
