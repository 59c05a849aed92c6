"""No input of a visitor opens an open adapter: the check never returns a 5xx, times out or loses its connection.

The site requires a clearance for all its pages in enforce mode, and its adapter fails open. No visitor has a clearance,
so a request can reach the site only if its check failed. Each proxy gets a few hundred requests here, and two minutes
of requests in the soak.
"""

import contextlib
import socket
import struct
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace

from agentgate_tools.adapters.render import Installation
from tests.proxies.backend import Tap, _Listening
from tests.proxies.hostile import make_hostile, send_hostile
from tests.proxies.running import STARTERS, running_proxy
from tests.proxies.visiting import ORIGIN
from tests.support.processes import serving

QUICK, SOAK_S = 120, 120.0
RESET_GET = b"GET /members HTTP/1.1\r\nHost: shop.example\r\n\r\n"
RESET_POST = b"POST /order HTTP/1.1\r\nHost: shop.example\r\nContent-Length: 900\r\n\r\na=b"
# Standard paths are open without a clearance.
STANDARD = (b"/robots.txt", b"/favicon.ico", b"/.well-known/", b"/sitemap", b"/feed", b"/rss", b"/atom", b"/index.xml")


class Door(_Listening):
    """A site that remembers each first line that reaches it, and closes the connection."""

    def __init__(self) -> None:
        super().__init__()
        self.entered: list[bytes] = []

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            if data := connection.recv(65_536):
                self.entered.append(data[:2_000])
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


@pytest.fixture(scope="module")
def door() -> Iterator[Door]:
    made = Door()
    made.open()
    yield made
    made.close()


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory, door: Door) -> Iterator[Installation]:
    """Run the service in a separate process, so that a busy test does not delay its checks."""
    with serving(Path(tmp_path_factory.mktemp("hostile"))) as process, process.admin() as admin:
        site = {
            "name": "Shop",
            "siteKey": "site_hostile",
            "allowedOrigins": [ORIGIN],
            "mode": "enforce",
            "actions": {"look": {"browserRequired": True, "clearance": True}},
            "routes": [{"method": "*", "pathPrefix": "/", "action": "look"}],
        }
        made = admin.call("POST", "/v1/admin/sites", site)
        assert made.status == 201, made
        credential = admin.call("POST", "/v1/admin/sites/site_hostile/credentials", {"name": "proxy"})
        yield Installation(
            site="site_hostile",
            service=process.public_url,
            origin=ORIGIN,
            upstream=f"http://127.0.0.1:{door.port}",
            secret=credential.body["secret"],
            mode="monitor",
        )


def let_in(door: Door) -> list[bytes]:
    return [each for each in door.entered if not each.partition(b" ")[2].startswith(STANDARD)]


def attack(port: int, door: Door, numbers: range, ends_s: float = float("inf")) -> Counter[int]:
    door.entered.clear()
    statuses: Counter[int] = Counter()
    for number in numbers:
        status = send_hostile(
            port, make_hostile(number), f"127.{number // 60_000 + 20}.{number // 250 % 240}.{number % 250 + 1}"
        )
        statuses[status] += 1
        assert let_in(door) == [], (number, make_hostile(number).sent[:3_000])
        if time.monotonic() > ends_s:
            break
    return statuses


@pytest.mark.timeout(300)
@pytest.mark.parametrize("proxy", STARTERS)
def test_no_visitor_opens_an_open_adapter(installation: Installation, door: Door, proxy: str) -> None:
    with running_proxy(proxy, installation) as port:
        statuses = attack(port, door, range(QUICK))
        time.sleep(1.5)
        assert let_in(door) == []

    # Enough reached a decision.
    assert statuses[401] > QUICK // 6, statuses


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("proxy", STARTERS)
def test_no_visitor_opens_an_open_adapter_in_two_minutes(installation: Installation, door: Door, proxy: str) -> None:
    with running_proxy(proxy, installation) as port:
        attack(port, door, range(1_000, 10_000_000), time.monotonic() + SOAK_S)
        time.sleep(1.5)
        assert let_in(door) == []


@pytest.mark.parametrize("proxy", STARTERS)
def test_a_visitor_who_resets_the_connection_during_the_check_opens_nothing(
    installation: Installation, door: Door, proxy: str
) -> None:
    tap = Tap(urlsplit(installation.service).port or 0)
    tap.open()
    tap.delay_s = 0.3
    door.entered.clear()
    try:
        with running_proxy(proxy, replace(installation, service=f"http://127.0.0.1:{tap.port}")) as port:
            door.entered.clear()
            for sent in (RESET_GET, RESET_POST):
                with socket.create_connection(("127.0.0.1", port)) as connection:
                    connection.sendall(sent)
                    time.sleep(0.15)
                    # Closing sends a reset.
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            time.sleep(1.5)
            assert len(tap.checks()) >= len((RESET_GET, RESET_POST))
            assert door.entered == []
    finally:
        tap.close()


@pytest.mark.parametrize("proxy", STARTERS)
def test_a_check_that_fails_would_be_found(installation: Installation, door: Door, proxy: str) -> None:
    with running_proxy(proxy, replace(installation, secret="ags_" + "w" * 43)) as port, pytest.raises(AssertionError):
        attack(port, door, range(50))
