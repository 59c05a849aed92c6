"""Hot paths: handled before any ASGI scope exists, and otherwise like every other request."""

import asyncio

import pytest

from agentgate.http.connection.fast_functions import HotReply, HotRequest
from tests.http.corpus import post, request
from tests.http.wire import EchoApp, connected, listening, run, until


class Hot:
    """A hot function that returns prepared responses and records its requests."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.seen: list[HotRequest] = []

    def __call__(self, hot_request):
        self.seen.append(hot_request)
        answer = self.answers[0] if len(self.answers) == 1 else self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


OK = HotReply(200, [(b"x-service-decision", b"allow")], b"hot")


def test_a_hot_path_is_handled_without_the_application():
    async def work():
        app, hot = EchoApp(), Hot(OK)
        async with listening(app, hot_paths={b"/hot": hot}) as listener, connected(listener) as client:
            await client.send(request(b"/hot?a=%2f&b", b"X-A: b"))
            response = await client.response()

            assert (response.status, response.body) == (200, b"hot")
            assert response.headers.keys() == {b"date", b"x-service-decision", b"content-length"}
            assert app.seen == []
            (seen,) = hot.seen
            assert (seen.method, seen.path, seen.query) == (b"GET", b"/hot", b"a=%2f&b")
            assert seen.headers == {b"host": b"gate.example", b"x-a": b"b"}
            assert seen.peer == client.writer.get_extra_info("sockname")

    run(work())


def test_a_connection_is_kept_after_a_hot_response():
    async def work():
        async with listening(EchoApp(), hot_paths={b"/hot": Hot(OK)}) as listener, connected(listener) as client:
            for path in (b"/hot", b"/hot", b"/echo", b"/hot"):
                await client.send(request(path))
                assert (await client.response()).status == 200

            assert listener.answered == 4

    run(work())


def test_connection_close_is_kept_on_a_hot_path():
    async def work():
        hot = Hot(OK)
        async with listening(EchoApp(), hot_paths={b"/hot": hot}) as listener, connected(listener) as client:
            await client.send(request(b"/hot", b"Connection: close") + request(b"/hot"))
            response = await client.response()

            assert response.headers[b"connection"] == b"close"
            assert await client.rest() == b""
            assert len(hot.seen) == 1

    run(work())


def test_a_hot_request_behind_an_http_1_0_request_does_not_run():
    async def work():
        hot = Hot(OK)
        old = b"GET /hot HTTP/1.0\r\nHost: gate.example\r\nConnection: keep-alive\r\n\r\n"
        async with listening(EchoApp(), hot_paths={b"/hot": hot}) as listener, connected(listener) as client:
            await client.send(old + request(b"/hot"))
            await client.rest()

            assert len(hot.seen) == 1

    run(work())


def test_trailers_do_not_join_the_headers_of_a_hot_request():
    async def work():
        hot = Hot(OK)
        raw = request(b"/hot", b"Transfer-Encoding: chunked", body=b"0\r\nX-Original-URI: /a\r\n\r\n")
        async with listening(EchoApp(), hot_paths={b"/hot": hot}) as listener, connected(listener) as client:
            await client.send(raw)
            await client.response()

            assert list(hot.seen[0].headers) == [b"host", b"transfer-encoding"]

    run(work())


def test_head_on_a_hot_path_has_the_length_but_no_body():
    async def work():
        async with listening(EchoApp(), hot_paths={b"/hot": Hot(OK)}) as listener, connected(listener) as client:
            await client.send(request(b"/hot", method=b"HEAD") + request(b"/hot"))
            first, second = await client.response(to_head=True), await client.response()

            assert first.headers[b"content-length"] == b"3"
            assert second.body == b"hot"

    run(work())


def test_a_204_has_neither_body_nor_length():
    async def work():
        hot = Hot(HotReply(204, [], b""))
        async with listening(EchoApp(), hot_paths={b"/hot": hot}) as listener, connected(listener) as client:
            await client.send(request(b"/hot"))
            response = await client.response()

            assert response.status == 204
            assert response.headers.keys() == {b"date"}

    run(work())


def test_a_hot_function_can_leave_a_request_to_the_application():
    async def work():
        app = EchoApp()
        async with listening(app, hot_paths={b"/echo": Hot(None)}) as listener, connected(listener) as client:
            await client.send(request(b"/echo") * 2)
            bodies = [(await client.response()).body for _ in range(2)]

            assert bodies == [b"/echo|", b"/echo|"]
            assert [seen.is_complete for seen in app.seen] == [True, True]

    run(work())


@pytest.mark.parametrize("method", [b"POST", b"PUT", b"DELETE", b"OPTIONS"])
def test_other_methods_of_a_hot_path_go_the_slow_path(method):
    async def work():
        app, hot = EchoApp(), Hot(OK)
        async with listening(app, hot_paths={b"/echo": hot}) as listener, connected(listener) as client:
            await client.send(request(b"/echo", b"Content-Length: 0", method=method))
            await client.response()

            assert hot.seen == []
            assert app.paths == ["/echo"]

    run(work())


@pytest.mark.parametrize(
    "raw",
    [
        request(b"/echo", b"Content-Length: 2", body=b"hi"),
        request(b"/echo", b"Transfer-Encoding: chunked", body=b"2\r\nhi\r\n0\r\n\r\n"),
    ],
    ids=["length", "chunked"],
)
def test_a_get_with_a_body_goes_the_slow_path(raw):
    async def work():
        app, hot = EchoApp(), Hot(OK)
        async with listening(app, hot_paths={b"/echo": hot}) as listener, connected(listener) as client:
            await client.send(raw + request(b"/echo"))
            cold, hot_answer = await client.response(), await client.response()

            assert cold.body == b"/echo|hi"
            assert hot_answer.body == b"hot"

    run(work())


@pytest.mark.parametrize("path", [b"/hot/", b"/ho%74", b"//hot", b"/HOT", b"/hot;a"])
def test_only_the_exact_bytes_of_a_path_are_hot(path):
    async def work():
        app, hot = EchoApp(), Hot(OK)
        async with listening(app, hot_paths={b"/hot": hot}) as listener, connected(listener) as client:
            await client.send(request(path))

            assert (await client.response()).status == 404
            assert hot.seen == []

    run(work())


def test_a_hot_response_that_waits_keeps_the_order_of_pipelined_requests():
    gate = asyncio.Event()

    async def later():
        await gate.wait()
        return HotReply(200, [], b"late")

    async def work():
        app, hot = EchoApp(), Hot(later(), OK, OK)
        async with listening(app, hot_paths={b"/hot": hot}) as listener, connected(listener) as client:
            await client.send(request(b"/hot") + request(b"/hot") + request(b"/echo") + request(b"/hot"))
            await until(lambda: listener.in_flight == 1)
            assert len(hot.seen) == 1
            gate.set()
            bodies = [(await client.response()).body for _ in range(4)]

            assert bodies == [b"late", b"hot", b"/echo|", b"hot"]

    run(work())


def test_a_hot_request_behind_a_running_cold_one_waits_for_it():
    async def work():
        app, hot = EchoApp(), Hot(OK)
        async with listening(app, hot_paths={b"/hot": hot}) as listener, connected(listener) as client:
            await client.send(request(b"/wait") + request(b"/hot"))
            await until(lambda: listener.in_flight == 1)
            assert hot.seen == []
            app.gate.set()
            bodies = [(await client.response()).body for _ in range(2)]

            assert bodies == [b"/wait|", b"hot"]

    run(work())


def test_many_pipelined_hot_requests_are_handled_in_order():
    async def work():
        hot_paths = {b"/hot": lambda hot_request: HotReply(200, [], hot_request.query)}
        async with listening(EchoApp(), hot_paths=hot_paths) as listener, connected(listener) as client:
            await client.send(b"".join(request(b"/hot?%d" % number) for number in range(500)))
            bodies = [(await client.response()).body for _ in range(500)]

            assert bodies == [b"%d" % number for number in range(500)]

    run(work())


def test_a_client_that_does_not_read_stops_being_read():
    async def work():
        hot = Hot(HotReply(200, [], b"a" * 60_000))
        limits = {"write_stall_s": 0.5, "max_pipelined": 1000}
        async with listening(EchoApp(), hot_paths={b"/hot": hot}, **limits) as listener, connected(listener) as client:
            client.writer.transport.pause_reading()
            client.writer.write(request(b"/hot") * 5000)
            await until(lambda: bool(hot.seen))
            await until(lambda: listener.connections == 0)

            # The kernel takes a few MB on loopback; 5,000 responses would be 300 MB.
            assert len(hot.seen) < 1000

    run(work())


@pytest.mark.parametrize(
    "answer",
    [LookupError("detail"), HotReply(200, [(b"x-a", b"b\r\nset-cookie: c=d")], b""), HotReply(999, [], b"")],
    ids=["exception", "response splitting", "unknown status"],
)
def test_a_hot_function_that_fails_is_a_500_without_detail(answer):
    async def work():
        async with listening(EchoApp(), hot_paths={b"/hot": Hot(answer)}) as listener, connected(listener) as client:
            await client.send(request(b"/hot"))
            response = await client.response()

            assert response.status == 500
            assert response.headers.keys() == {b"date", b"content-type", b"content-length"}
            assert b"detail" not in response.body

    run(work())


def test_a_hot_response_that_fails_later_is_a_500():
    async def fails():
        await asyncio.sleep(0)
        raise LookupError("detail")

    async def work():
        hot_paths = {b"/hot": lambda _request: fails()}
        async with listening(EchoApp(), hot_paths=hot_paths) as listener, connected(listener) as client:
            await client.send(request(b"/hot") + request(b"/echo"))
            statuses = [(await client.response()).status for _ in range(2)]

            assert statuses == [500, 200]

    run(work())


def test_a_hot_path_is_guarded_like_every_other():
    async def work():
        hot = Hot(OK)
        async with listening(EchoApp(), hot_paths={b"/hot": hot}) as listener, connected(listener) as client:
            await client.send(request(b"/hot", b"Host: other.example"))

            assert (await client.response()).status == 400
            assert hot.seen == []

    run(work())


def test_hot_paths_response_when_there_is_no_room_for_others():
    async def work():
        hot_paths = {b"/hot": Hot(OK)}
        async with (
            listening(EchoApp(), hot_paths=hot_paths, max_in_flight=0) as listener,
            connected(listener) as client,
        ):
            await client.send(post(b"Content-Length: 2", body=b"hi") + request(b"/hot"))
            statuses = [(await client.response()).status for _ in range(2)]

            assert statuses == [503, 200]

    run(work())
