"""Listening sockets that systemd passes: the service takes them, and no connection fails during a restart."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.support.processes import environment, members
from tests.whole.gateway_process import wait_until

pytestmark = pytest.mark.timeout(120)

# The steps of systemd before it starts a service: the sockets become 3 and 4, and the process ID is the service's.
START = """
import os, sys
count = int(sys.argv[1])
for number, passed in enumerate(sys.argv[2:2 + count]):
    os.dup2(int(passed), 3 + number, inheritable=True)
os.environ["LISTEN_PID"], os.environ["LISTEN_FDS"] = str(os.getpid()), str(count)
os.execv(sys.executable, [sys.executable, "-m", "agentgate", "serve"])
"""


@contextmanager
def listening() -> Iterator[socket.socket]:
    with socket.socket() as listener:
        # Beyond those that are passed on, so that none is overwritten before it was.
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        yield listener


class Started:
    """The service, started as systemd starts it."""

    def __init__(self, folder: Path, passed: list[socket.socket], **settings: str) -> None:
        copies = [os.dup(each.fileno()) for each in passed]
        high = [os.dup(copy) for copy in copies]
        self.log = folder / "serve.log"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", START, str(len(passed)), *map(str, high)],
                env=environment(folder, settings),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=high,
                start_new_session=True,
            )
        for each in (*copies, *high):
            os.close(each)

    def end(self) -> None:
        for process_id in (*members(self.process.pid), self.process.pid):
            if self.process.poll() is None or process_id != self.process.pid:
                os.kill(process_id, 9)
        self.process.wait(60)


def ask(listener: socket.socket, path: str = "/healthz") -> socket.socket:
    """Send a request, whether or not a process is ready to respond."""
    client = socket.create_connection(listener.getsockname(), timeout=60)
    client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return client


def status(client: socket.socket) -> int:
    with client:
        return int(client.recv(64).split()[1])


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_restart_rejects_no_connection(tmp_path: Path, workers: str) -> None:
    settings = {"AGENTGATE_WORKERS": workers, "AGENTGATE_DRAIN_SECONDS": "0", "LISTEN_FDNAMES": "admin:public"}
    with listening() as admin, listening() as public, ExitStack() as ends:
        # Before any process serves.
        waiting = ask(public)
        one = Started(tmp_path, [admin, public], **settings)
        ends.callback(one.end)
        assert status(waiting) == 200
        # The names count, not the order.
        assert status(ask(admin, "/readyz")) == 200
        one.process.terminate()
        assert one.process.wait(60) == 0

        waiting = ask(public)
        two = Started(tmp_path, [admin, public], **settings)
        ends.callback(two.end)

        assert status(waiting) == 200


def test_a_listener_that_is_not_passed_is_opened_by_the_service(tmp_path: Path) -> None:
    with listening() as public, ExitStack() as ends:
        started = Started(tmp_path, [public], AGENTGATE_DRAIN_SECONDS="0")
        ends.callback(started.end)

        assert status(ask(public)) == 200
        wait_until(lambda: "serving" in started.log.read_text(), 20, "it does not say where it serves")
        assert f'"public_url":"http://127.0.0.1:{public.getsockname()[1]}"' in started.log.read_text()


def test_a_socket_that_does_not_listen_is_rejected_in_one_line(tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as passed, ExitStack() as ends:
        passed.bind(("127.0.0.1", 0))
        started = Started(tmp_path, [passed])
        ends.callback(started.end)

        assert started.process.wait(60) == 2
        assert "use ListenStream=" in started.log.read_text()


def test_a_passed_unix_socket_is_for_trusted_proxies_only(tmp_path: Path) -> None:
    path = str(tmp_path / "public.sock")
    with listening() as public, socket.socket(socket.AF_UNIX) as local, ExitStack() as ends:
        local.bind(path)
        local.listen(64)
        started = Started(tmp_path, [local, public], LISTEN_FDNAMES="local:public", AGENTGATE_DRAIN_SECONDS="0")
        ends.callback(started.end)
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(60)
        client.connect(path)
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert status(client) == 200
        assert status(ask(public)) == 200

        # In the place of the public listener, every client would be trusted.
        exchanged = Started(tmp_path, [local, public], LISTEN_FDNAMES="public:admin")
        ends.callback(exchanged.end)
        assert exchanged.process.wait(60) == 2
        assert "the passed public socket is of another kind" in exchanged.log.read_text()
