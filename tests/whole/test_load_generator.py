"""The load generator of `bench/`: it sends its requests in order, reads responses of every form, and counts them."""

import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.load import Load, load, write_requests

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
ANSWERS = {
    b"/none": b"HTTP/1.1 204 No Content\r\nServer: a\r\n\r\n",
    b"/length": b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",
    b"/chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"5\r\nhello\r\nB\r\n0\r\n\r\n012345\r\n0\r\n\r\n",
    b"/refused": b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\n{}",
    b"/last": b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
    b"/gone": b"",
}


@contextmanager
def answering(*, pieces: int = 0, delay_s: float = 0.0) -> Iterator[tuple[int, list[bytes]]]:
    """Respond by path, whole or in pieces; yield the port and the paths in the order in which they arrived."""
    asked: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        with connection:
            while data := connection.recv(65536):
                path = data.split()[1]
                asked.append(path)
                time.sleep(delay_s)
                answer = ANSWERS[path]
                for start in range(0, len(answer), pieces or len(answer) or 1):
                    connection.sendall(answer[start : start + (pieces or len(answer))])
                    time.sleep(0.001 if pieces else 0)
                if not answer or b"Connection: close" in answer:
                    return

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listener.getsockname()[1], asked
    finally:
        # A thread in accept() is not woken by closing alone.
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def sent(folder: Path, port: int, paths: list[bytes], count: int, **how: float) -> Load:
    file = folder / "requests"
    write_requests(file, (b"GET " + path + b" HTTP/1.1\r\nHost: a\r\n\r\n" for path in paths))
    return load(port, file, count, **how)


def test_requests_go_out_in_order_from_the_first_that_was_requested_and_begin_again(tmp_path):
    with answering() as (port, asked):
        done = sent(tmp_path, port, [b"/none", b"/length", b"/refused"], 5, first=1, connections=1)

    assert asked == [b"/length", b"/refused", b"/none", b"/length", b"/refused"]
    assert done.statuses == {200: 2, 204: 1, 401: 2}
    assert (done.answered, done.good, done.broken, done.unsent) == (5, 3, 0, 0)


@pytest.mark.parametrize("pieces", [0, 7])
def test_responses_of_every_form_are_read_to_their_end(tmp_path, pieces):
    with answering(pieces=pieces) as (port, asked):
        done = sent(tmp_path, port, [b"/none", b"/length", b"/chunked", b"/refused", b"/last"], 20, connections=2)

    assert len(asked) == 20
    assert done.statuses == {200: 8, 204: 4, 401: 4, 503: 4}


def test_a_connection_that_ends_without_a_response_is_counted_and_replaced(tmp_path):
    with answering() as (port, _):
        done = sent(tmp_path, port, [b"/none", b"/gone"], 10, connections=2)

    assert (done.broken, done.statuses) == (5, {204: 5})


def test_a_rate_is_kept_whatever_the_responses_do(tmp_path):
    with answering(delay_s=0.2) as (port, asked):
        done = sent(tmp_path, port, [b"/none"], 50, rate=50, connections=50)

    assert len(asked) == 50
    assert done.seconds == pytest.approx(1.0, abs=0.4)
    assert done.sent_ms[0] >= 200


def test_what_finds_no_free_connection_waits_and_is_late_by_the_responses_alone(tmp_path):
    with answering(delay_s=0.05) as (port, _):
        done = sent(tmp_path, port, [b"/none"], 20, rate=1_000, connections=1)

    assert done.due_ms[2] > 10 * done.sent_ms[0]
    assert done.in_flight > 0.9
