"""The population through a real proxy with the printed configuration, and a site behind it.

One thing is changed in the configuration: visitors have the addresses of the population, in a header or, for Traefik,
in the PROXY protocol, because no test can send from all of them. The service's clock is the population's, so requests
are sent one after the other.
"""

import asyncio
import http.client
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import urlsplit

import yaml

from agentgate.lib.clock import FixedClock
from agentgate_tools.adapters.render import Installation, render
from tests.population.clearances import PassedChecks
from tests.population.gate import LOOKUP_S, NOON_MS, SITE, SITE_KEY, Tell, put, settings_in
from tests.population.sent import Sent
from tests.population.visitors import ORIGIN
from tests.proxies import running as proxies
from tests.support.service import RunningService, running_service

ADDRESS = "X-Population-Address"
# How each proxy names the visitor's address, and the replacement.
_PEERS = {
    "nginx": (("$remote_addr", "$http_x_population_address"),),
    "caddy": (("{http.request.remote.host}", "{header.X-Population-Address}"),),
    "haproxy": (
        ("%[src]", "%[req.hdr(x-population-address)]"),
        ("txn.f:src()", 'txn.sf:req_hdr("x-population-address")'),
    ),
    "apache": (("r.useragent_ip", 'r.headers_in["X-Population-Address"]'),),
    "traefik": (),
    "envoy": (("%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%", "%REQ(X-POPULATION-ADDRESS)%"),),
}
# These send the headers of a check in a different order.
UNORDERED = frozenset({"caddy", "apache", "traefik", "envoy"})
_ANSWER = b"HTTP/1.1 200 OK\r\nX-Population-Site: 1\r\nContent-Length: 2\r\n\r\nok"
_NOT_SENT = frozenset({"connection", "te", "content-length"})


def run_through_proxy(proxy: str, sent: Iterable[Sent], tell: Tell, *, site: dict[str, Any] | None = None) -> None:
    """Send everything through a proxy and report which responses came from the site behind it."""
    clock = FixedClock(NOON_MS)
    with (
        tempfile.TemporaryDirectory(prefix="agentgate-population-") as folder,
        settings_in(Path(folder)) as settings,
        running_service(settings, clock) as service,
        _site_behind(service) as upstream,
        _proxy(proxy, _install(service, upstream, {**SITE, **(site or {})})) as port,
    ):
        checks = PassedChecks(service.application, SITE_KEY)

        async def ask(request: Sent) -> bool:
            return await asyncio.to_thread(_is_passed, connection, request)

        connection = _Connection("127.0.0.1", port, timeout=60)
        connection.tells_address = proxy == "traefik"
        for request in sent:
            if "crawler" in request.kind:
                time.sleep(LOOKUP_S)
            clock.advance(ms=NOON_MS + request.at_ms - clock.now_ms())
            service.run(put(request, ask, tell, checks, clock.now_ms()))
        connection.close()


class _Connection(http.client.HTTPConnection):
    """A connection that can begin with the visitor's address (PROXY protocol)."""

    tells_address = False
    visitor = ""

    def come_from(self, address: str) -> None:
        """Close the connection of another visitor."""
        if self.tells_address and address != self.visitor:
            self.close()
            self.visitor = address

    def connect(self) -> None:
        super().connect()
        if self.tells_address:
            version, own = (6, "::1") if ":" in self.visitor else (4, "127.0.0.1")
            self.sock.sendall(f"PROXY TCP{version} {self.visitor} {own} 50000 80\r\n".encode())


def _traefik(started: proxies.Started, texts: dict[str, str]) -> list[str]:
    """Start Traefik so that its entry point accepts the PROXY protocol."""
    command = _start_traefik(started, texts)
    path = started.folder / "traefik.yml"
    settings = yaml.safe_load(path.read_text())
    settings["entryPoints"]["web"]["proxyProtocol"] = {"insecure": True}
    path.write_text(yaml.safe_dump(settings))
    return command


_start_traefik = proxies.STARTERS["traefik"]


@contextmanager
def _proxy(proxy: str, installation: Installation) -> Iterator[int]:
    def filled(name: str, values: Installation, file: str | None = None) -> str:
        text = render(name, values, file)
        for peer, header in _PEERS[proxy]:
            text = text.replace(peer, header)
        return text

    with (
        mock.patch.object(proxies, "render", filled),
        mock.patch.dict(proxies.STARTERS, traefik=_traefik),
        proxies.running_proxy(proxy, installation) as port,
    ):
        yield port


def _install(service: RunningService, upstream: int, site: dict[str, Any]) -> Installation:
    made = service.operator.post("/v1/admin/sites", json=site)
    assert made.status_code == 201, made.text
    secret = service.operator.post(f"/v1/admin/sites/{SITE_KEY}/credentials", json={"name": "population"})
    port = urlsplit(service.public_url).port
    return Installation(
        site=SITE_KEY,
        service=f"http://127.0.0.1:{port}",
        origin=ORIGIN,
        upstream=f"http://127.0.0.1:{upstream}",
        secret=secret.json()["secret"],
    )


@contextmanager
def _site_behind(service: RunningService) -> Iterator[int]:
    server = service.run(_start_site())
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        service.run(_stop(server))


async def _start_site() -> asyncio.Server:
    return await asyncio.start_server(_answer, "127.0.0.1", 0)


async def _stop(server: asyncio.Server) -> None:
    server.close()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while await reader.readuntil(b"\r\n\r\n"):
            writer.write(_ANSWER)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


def _is_passed(connection: _Connection, request: Sent) -> bool:
    """Send a request; return whether the site behind responded. A proxy may close the connection after any response."""
    for attempt in range(2):
        try:
            return _ask(connection, request)
        except (http.client.HTTPException, OSError):
            connection.close()
            if attempt:
                raise
    raise AssertionError


def _ask(connection: _Connection, request: Sent) -> bool:
    connection.come_from(request.address)
    connection.putrequest(request.method, request.url.removeprefix(ORIGIN), skip_host=True, skip_accept_encoding=True)
    for name, value in request.headers:
        if name.lower() not in _NOT_SENT:
            connection.putheader(name, value)
    connection.putheader(ADDRESS, request.address)
    if request.method not in {"GET", "HEAD", "OPTIONS"}:
        connection.putheader("Content-Length", "0")
    connection.endheaders()
    response = connection.getresponse()
    response.read()
    return response.getheader("X-Population-Site") is not None
