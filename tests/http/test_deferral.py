"""More than an event-loop iteration has time for: deferred as it arrived, and handled later, or shed."""

import asyncio
import resource
import socket
import time
from collections import Counter

import pytest
import structlog

from agentgate.http.connection.deferral import MOST_BYTES
from agentgate.http.connection.fast_functions import HotReply, HotRequest
from agentgate.http.connection.loop_budget import LONG_S, LoopBudget
from tests.http.corpus import request
from tests.http.taking import Taking
from tests.http.wire import EchoApp, connected, listening, run, until

OK, NO = HotReply(200, [], b"hot"), HotReply(503, [], b"no")
WRITTEN = Taking().reply
# From 1,024 connections on, the loop looks for more data again and again before anything else has its turn.
MANY = 1_200
TIMES = 20


class BusyBudget(LoopBudget):
    """A budget of event-loop iterations that have no time while a test requests this."""

    has_time = True

    def is_over(self) -> bool:
        return not self.has_time or super().is_over()

    def _resume_newest(self) -> None:
        if self.has_time:
            super()._resume_newest()


class Refusing:
    """A hot function that sheds requests that waited for too long."""

    def __init__(self, deadline_s: float) -> None:
        self.budget = BusyBudget(LONG_S, deadline_s)

    def __call__(self, _: HotRequest) -> HotReply:
        return NO if self.budget.is_refusing else OK


def hot_paths(deadline_s: float = 10.0) -> dict[bytes, object]:
    return {b"/hot": lambda _: OK, b"/known": Taking(), b"/check": Refusing(deadline_s)}


def keep_busy(listener) -> BusyBudget:
    """Give no event-loop iteration time, as under overload."""
    budget: BusyBudget = listener._state.budget
    budget.has_time = False
    return budget


async def deferred(listener, client, data: bytes) -> None:
    """Send what there is no time for at first."""
    budget = keep_busy(listener)
    await client.send(data)
    await asyncio.sleep(0.01)
    budget.has_time = True


@pytest.mark.parametrize("path", [b"/hot", b"/known", b"/echo", b"/check", b"/check?ok=200", b"/checked"])
def test_what_is_deferred_is_handled_in_a_turn_with_time(path):
    async def work():
        async with listening(EchoApp(), hot_paths=hot_paths()) as listener, connected(listener) as client:
            await client.send(request(path))
            expected = await client.response()
            for _ in range(20):
                await deferred(listener, client, request(path))
                assert (await client.response()).body == expected.body
            assert listener.deferred == 0

    run(work())


@pytest.mark.parametrize("length", [0, 10, 3_000])
def test_a_body_is_deferred_with_its_head(length):
    async def work():
        app, body = EchoApp(), b"x" * length
        whole = b"POST /echo HTTP/1.1\r\nHost: gate.example\r\nContent-Length: %d\r\n\r\n%b" % (length, body)
        async with listening(app, hot_paths=hot_paths()) as listener, connected(listener) as client:
            await deferred(listener, client, whole)

            assert (await client.response()).body == b"/echo|" + body

    run(work())


@pytest.mark.parametrize("path", [b"/hot", b"/check"])
@pytest.mark.parametrize("cut", [1, 4, 20, -3, -1])
def test_what_follows_stays_behind_what_was_deferred(path, cut):
    async def work():
        async with listening(EchoApp(), hot_paths=hot_paths()) as listener, connected(listener) as client:
            budget = keep_busy(listener)
            data = b"".join(map(request, (path, b"/echo", b"/hot", b"/none", b"/known", path)))
            await client.send(data[:cut])
            await asyncio.sleep(0.02)
            await client.send(data[cut:])
            await asyncio.sleep(0.02)
            budget.has_time = True

            assert [(await client.response()).status for _ in range(6)] == [200, 200, 200, 404, 200, 200]

    run(work())


def test_nothing_more_is_read_behind_it():
    async def work():
        async with listening(EchoApp(), hot_paths=hot_paths()) as listener, connected(listener) as client:
            budget = keep_busy(listener)
            await client.send(request(b"/check"))
            await asyncio.sleep(0.02)
            (connection,) = listener._state.connections
            assert not connection.flow.read_paused
            await client.send(request(b"/check"))
            await until(lambda: connection.flow.read_paused)
            budget.has_time = True
            assert [(await client.response()).status for _ in range(2)] == [200, 200]
            assert not connection.flow.read_paused

    run(work())


def test_what_is_too_long_for_a_head_is_not_kept():
    async def work():
        async with listening(EchoApp(), hot_paths=hot_paths()) as listener, connected(listener) as client:
            keep_busy(listener)
            long_line = b"X-Long: %b" % (b"x" * (MOST_BYTES + 1))
            await client.send(request(b"/check", long_line))

            assert (await client.response()).status == 431
            assert listener.deferred <= 1

    run(work())


@pytest.mark.parametrize("path", [b"/hot", b"/known", b"/echo", b"/none"])
def test_what_cannot_be_rejected_waits_for_the_end_of_the_turn_only(path):
    async def work():
        async with listening(EchoApp(), hot_paths=hot_paths()) as listener, connected(listener) as client:
            keep_busy(listener)
            await client.send(request(path))

            assert (await client.response()).status in (200, 404)

    run(work())


def test_what_waited_for_too_long_is_rejected():
    async def work():
        async with listening(EchoApp(), hot_paths=hot_paths(0.1)) as listener, connected(listener) as client:
            budget, began_s = keep_busy(listener), time.monotonic()
            await client.send(request(b"/check"))
            response = await client.response()

            assert (response.status, response.body) == (503, b"no")
            assert 0.1 <= time.monotonic() - began_s < 1.0
            budget.has_time = True
            await client.send(request(b"/check"))
            assert (await client.response()).status == 200

    run(work())


def test_no_one_whose_request_is_deferred_is_late_themselves():
    async def work():
        limits = {"header_deadline_s": 0.1, "keep_alive_s": 0.1}
        async with listening(EchoApp(), hot_paths=hot_paths(0.5), **limits) as listener, connected(listener) as client:
            keep_busy(listener)
            await client.send(request(b"/check"))

            assert (await client.response()).status == 503

    run(work())


def test_what_is_deferred_is_handled_before_the_service_stops():
    async def work():
        async with listening(EchoApp(), hot_paths=hot_paths(0.2)) as listener, connected(listener) as client:
            keep_busy(listener)
            await client.send(request(b"/check"))
            await until(lambda: listener.deferred)
            assert await listener.drain(2.0) == 0
            response = await client.response()

            assert response.status == 503
            assert response.headers[b"connection"] == b"close"
            assert await client.rest() == b""

    run(work())


def test_anyone_who_leaves_is_not_handled():
    async def work():
        asked = []

        class Asked(Refusing):
            def __call__(self, hot_request: HotRequest) -> HotReply:
                asked.append(hot_request)
                return OK

        async with listening(EchoApp(), hot_paths={b"/check": Asked(0.1)}) as listener:
            budget = keep_busy(listener)
            async with connected(listener) as client:
                await client.send(request(b"/check"))
                await until(lambda: budget.waiting)
            await until(lambda: not listener.connections)
            await until(lambda: not budget.waiting)
            assert asked == []

    run(work())


def test_a_connection_that_was_ended_does_not_continue():
    async def work():
        async with listening(EchoApp(), hot_paths=hot_paths(0.1)) as listener, connected(listener) as client:
            budget = keep_busy(listener)
            for _ in range(2):
                await client.send(request(b"/check"))
                await asyncio.sleep(0.02)
            (connection,) = listener._state.connections
            connection.transport.abort()
            with structlog.testing.capture_logs() as logged:
                await until(lambda: not budget.waiting)
            assert logged == []

    run(work())


class AskedAgain:
    """Connections that send a request again during each response, so that more data is always available."""

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
    """A hot function that lets its client ask again, and may take its head as it arrives."""

    asked: AskedAgain

    def __init__(self, *, takes: bool) -> None:
        self.takes = takes
        self.taken = 0

    def __call__(self, hot_request: HotRequest) -> HotReply:
        self.asked.ask_again(int(hot_request.headers[b"x-port"]))
        return OK

    def take(self, data: bytes) -> tuple[bytes, bytes] | None:
        if not self.takes:
            return None
        self.taken += 1
        self.asked.ask_again(int(data.partition(b"X-Port: ")[2].partition(b"\r")[0]))
        return WRITTEN


class HotRefusing(Hot, Refusing):
    """The same, which may shed requests."""

    def __init__(self, *, takes: bool) -> None:
        Hot.__init__(self, takes=takes)
        Refusing.__init__(self, 10.0)


@pytest.mark.parametrize("kind", [Hot, HotRefusing])
@pytest.mark.parametrize("takes", [False, True])
def test_many_who_ask_again_at_once_do_not_keep_the_loop_from_the_rest(kind, takes):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most_files = 3 * MANY
    if hard != resource.RLIM_INFINITY and hard < most_files:
        pytest.skip(f"only {hard} files may be open")

    async def work():
        hot, most = kind(takes=takes), 0
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
        assert (hot.taken > 0) == takes
        # As many as there is time for, and each of the others once.
        assert most < TIMES * MANY / 4

    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most_files), hard))
    try:
        run(work())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


# Connections that send thousands of requests at once, each of which takes 0.2 ms: 8 s of CPU time.
PIPELINED, PIPELINING = 5_000, 8
COST_S, MOST_WAIT_S = 0.0002, 0.5


def busy(_: HotRequest) -> HotReply:
    until = time.thread_time() + COST_S
    while time.thread_time() < until:
        pass
    return OK


def test_pipelined_requests_of_some_connections_delay_others_by_a_few_slices():
    async def work():
        async with listening(EchoApp(), hot_paths={b"/busy": busy, b"/hot": lambda _: OK}) as listener:
            floods = [await asyncio.open_connection(*listener.address) for _ in range(PIPELINING)]
            for _, writer in floods:
                writer.write(request(b"/busy") * PIPELINED)
            readers = [asyncio.create_task(reader.readuntil(b"never")) for reader, _ in floods]
            waits = []
            async with connected(listener) as client:
                for _ in range(20):
                    started = time.perf_counter()
                    await client.send(request(b"/hot"))
                    assert (await client.response()).status == 200
                    waits.append(time.perf_counter() - started)
                    await asyncio.sleep(0.005)
            for task in readers:
                task.cancel()
            for _, writer in floods:
                writer.transport.abort()

        assert max(waits) < MOST_WAIT_S

    run(work())


def test_every_pipelined_request_of_a_connection_that_gave_way_is_handled_in_order():
    seen = []

    def count(head: HotRequest) -> HotReply:
        busy(head)
        seen.append(head.query)
        return OK

    async def work():
        async with listening(EchoApp(), hot_paths={b"/busy": count}) as listener:
            reader, writer = await asyncio.open_connection(*listener.address)
            writer.write(b"".join(request(b"/busy?%d" % number) for number in range(500)))
            writer.write_eof()
            received = await reader.read()
            writer.close()

        assert received.count(b"HTTP/1.1 200") == 500
        assert seen == [b"%d" % number for number in range(500)]

    run(work())
