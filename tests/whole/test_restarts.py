"""Restarts under load: no request is lost, neither by the service's own clients nor behind nginx."""

import contextlib
import http.client
import itertools
import signal
import socket
import sys
from pathlib import Path

import pytest

from agentgate_tools.adapters.render import Installation
from tests.proxies.backend import EchoSite
from tests.proxies.running import running_proxy
from tests.support.gateway import ORIGIN, VISITOR
from tests.support.strict_clients import StrictClients
from tests.whole.restarted_node import running_node

pytestmark = pytest.mark.timeout(300)

# A start on a busy machine takes seconds; none of them may be the caller's.
LONGEST_S = 2.0


class UnixConnection(http.client.HTTPConnection):
    """A connection to the service's Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=30)
        self._path = str(path)

    def connect(self) -> None:
        """Open the socket."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def report(clients: StrictClients, restarts: int, capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        lost, slowest_s = len(clients.lost), clients.slowest_s
        sys.stdout.write(f"\n{restarts} restarts: {clients.asked} requests, {lost} lost, slowest {slowest_s:.2f} s\n")


COUNTS = [2, pytest.param(10, marks=pytest.mark.soak)]


@pytest.mark.parametrize("restarts", COUNTS)
@pytest.mark.parametrize("workers", ["1", "2"])
def test_restarts_lose_no_check(
    tmp_path: Path, restarts: int, workers: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with running_node(tmp_path, AGENTGATE_WORKERS=workers) as node:
        with StrictClients(
            lambda: http.client.HTTPConnection("127.0.0.1", node.port, timeout=30), node.check
        ) as clients:
            for _ in range(restarts):
                node.restart()
        report(clients, restarts, capsys)

    assert clients.lost == []
    assert set(clients.statuses) == {204}
    # Clients with a kept connection moved because the service requested it.
    assert clients.closed_with_notice >= restarts
    assert clients.slowest_s < LONGEST_S


@pytest.mark.parametrize("restarts", COUNTS)
def test_restarts_lose_no_visitor_behind_nginx(
    tmp_path: Path, restarts: int, capsys: pytest.CaptureFixture[str]
) -> None:
    numbers, site = itertools.count(1), EchoSite()
    site.open()

    def connect() -> http.client.HTTPConnection:
        number = next(numbers)
        source = (f"127.2.{number // 250}.{number % 250 + 1}", 0)
        return http.client.HTTPConnection("127.0.0.1", port, timeout=30, source_address=source)

    def visit(connection: http.client.HTTPConnection) -> None:
        connection.request("GET", "/", headers={"Host": "shop.example", **VISITOR})

    with contextlib.closing(site), running_node(tmp_path) as node:
        installation = Installation(
            site="site_shop",
            service=node.process.public_url,
            origin=ORIGIN,
            upstream=f"http://127.0.0.1:{site.port}",
            secret=node.secret,
        )
        with running_proxy("nginx", installation) as port:
            with StrictClients(connect, visit) as clients:
                for _ in range(restarts):
                    node.restart()
            report(clients, restarts, capsys)

    assert clients.lost == []
    assert set(clients.statuses) == {200}
    assert clients.slowest_s < LONGEST_S


@pytest.mark.parametrize("workers", ["1", "2"])
def test_restarts_lose_no_check_on_the_unix_socket(tmp_path: Path, workers: str) -> None:
    path = tmp_path / "public.sock"
    settings = {"AGENTGATE_WORKERS": workers, "AGENTGATE_PUBLIC_LISTEN": f"127.0.0.1:0,unix:{path}"}
    with (
        running_node(tmp_path, **settings) as node,
        StrictClients(lambda: UnixConnection(path), node.check) as clients,
    ):
        node.restart()

    assert clients.lost == []
    assert set(clients.statuses) == {204}


def test_a_successor_that_cannot_start_leaves_its_predecessor_serving(tmp_path: Path) -> None:
    with running_node(tmp_path) as node:
        root = node.process.data / "root.secret"
        kept = root.read_text()
        # Another secret does not open the keys.
        root.write_text("ab" * 32)
        node.process.signal(signal.SIGUSR2)
        [ended] = node.process.wait_for_events("the successor ended, this process continues", 1)
        root.write_text(kept)

        assert ended["exit_code"] == 2
        assert node.process.readiness() == 200
        node.restart()
        assert node.process.readiness() == 200


def test_systemd_learns_which_process_is_the_main_one(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.settimeout(30)
        with running_node(tmp_path, NOTIFY_SOCKET=str(tmp_path / "notify")) as node:
            assert systemd.recv(256).decode() == f"READY=1\nMAINPID={node.process.process_id}"
            node.restart()
            successor = node.process.events("successor started")[-1]["pid"]
            assert systemd.recv(256).decode() == f"READY=1\nMAINPID={successor}"
