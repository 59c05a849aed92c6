"""A visitor of a site behind a proxy: sends the given bytes unchanged, from an address that no other visitor has."""

import contextlib
import http.client
import itertools
import json
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx

from agentgate_tools.adapters.render import Installation
from tests.proxies.backend import Asked, EchoSite, Tap
from tests.support.browser_client import CHROME, HEADERS, BrowserClient, create_site
from tests.support.service import RunningService

ORIGIN = "https://shop.example"
ANSWER_S = 10.0
# Statuses that a rule can choose.
STATUSES = (400, 403, 404, 410, 429, 451, 503)
Headers = Sequence[tuple[str, str]]
ACCEPT = (
    "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,"
    "application/signed-exchange;v=b3;q=0.7"
)
BROWSER = [
    ("Host", "shop.example"),
    ("User-Agent", CHROME),
    ("Accept", "*/*"),
    ("Sec-Fetch-Site", "same-origin"),
    ("Sec-Fetch-Mode", "cors"),
    ("Sec-Fetch-Dest", "empty"),
    ("Accept-Encoding", "gzip, deflate"),
    ("Accept-Language", "en"),
]
# As the browser opens a page.
NAVIGATION = [
    ("Host", "shop.example"),
    ("sec-ch-ua", '"Chromium";v="142", "Google Chrome";v="142", "Not_A Brand";v="99"'),
    ("sec-ch-ua-mobile", "?0"),
    ("sec-ch-ua-platform", '"Windows"'),
    ("Upgrade-Insecure-Requests", "1"),
    ("User-Agent", CHROME),
    ("Accept", ACCEPT),
    ("Sec-Fetch-Site", "none"),
    ("Sec-Fetch-Mode", "navigate"),
    ("Sec-Fetch-User", "?1"),
    ("Sec-Fetch-Dest", "document"),
    ("Accept-Encoding", "gzip, deflate, br, zstd"),
    ("Accept-Language", "en"),
]
# Each visitor has an address of the loopback, so that no test meets the limits of another.
_numbers = itertools.count(1)


def new_address() -> str:
    """Return an address that no visitor has used."""
    number = next(_numbers)
    return f"127.1.{number // 250}.{number % 250 + 1}"


@dataclass
class Told:
    """The response that a visitor got."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        """The body."""
        return json.loads(self.body)

    @property
    def asked(self) -> Asked:
        """The request as the site behind the proxy received it."""
        assert self.status == 200, (self.status, self.body)
        method, target, headers, body = self.json
        return Asked(method, target, [(name, value) for name, value in headers], body.encode("latin-1"))


@dataclass
class Installed:
    """A site behind a proxy, with a tap on the line to the service."""

    service: RunningService
    site_key: str
    secret: str
    site: EchoSite
    tap: Tap
    proxy: str = ""
    port: int = 0
    # Decides whether the adapter is printed as open or closed.
    mode: str = "enforce"

    @property
    def installation(self) -> Installation:
        """The values for the proxy's configuration."""
        return Installation(
            site=self.site_key,
            service=f"http://127.0.0.1:{self.tap.port}",
            origin=ORIGIN,
            upstream=f"http://127.0.0.1:{self.site.port}",
            secret=self.secret,
            mode=self.mode,
        )

    @property
    def service_port(self) -> int:
        """The port on which the service itself listens."""
        port = urlsplit(self.service.public_url).port
        assert port is not None
        return port

    def visit(self, method: str = "GET", target: str = "/", *, address: str | None = None, **sent: Any) -> Told:
        """Send a request over a new connection and read the response to the end."""
        with self.connect(address) as connection:
            self.send(connection, method, target, **sent)
            return read_answer(connection, method)

    def send(
        self,
        connection: socket.socket,
        method: str,
        target: str,
        *,
        usual: Headers = BROWSER,
        headers: Headers = (),
        body: bytes = b"",
    ) -> None:
        """Send a request, its target and headers as they are given."""
        lines = [f"{name}: {value}" for name, value in (*usual, *headers)]
        if body and not any(name.lower() == "transfer-encoding" for name, _ in headers):
            lines.append(f"Content-Length: {len(body)}")
        head = "\r\n".join([f"{method} {target} HTTP/1.1", *lines, "", ""])
        connection.sendall(head.encode("latin-1") + body)

    def connect(self, address: str | None = None) -> socket.socket:
        """Open a connection to the proxy."""
        source = (address or new_address(), 0)
        return socket.create_connection(("127.0.0.1", self.port), timeout=ANSWER_S, source_address=source)

    def change(self, **fields: Any) -> None:
        """Change the site's settings."""
        reply = self.service.operator.patch(f"/v1/admin/sites/{self.site_key}", json=fields)
        assert reply.status_code == 200, reply.text

    @contextlib.contextmanager
    def answering(
        self, answer: bytes | None = None, *, hangs: bool = False, only_checks: bool = False
    ) -> Iterator[None]:
        """While the block runs, let the tap respond instead of the service, or not at all."""
        self.tap.answer, self.tap.hangs, self.tap.only_checks = answer, hangs, only_checks
        try:
            yield
        finally:
            self.tap.answer, self.tap.hangs, self.tap.only_checks = None, False, False


class BrowserBehindProxy(BrowserClient):
    """The browser check as the hosted page runs it: below `/.agentgate/` of the site itself."""

    def __init__(self, installed: Installed, address: str) -> None:
        super().__init__(installed.service, installed.site_key, action="login", origin=ORIGIN, address=address)
        self._installed = installed

    def post(self, route: str, body: Any, **headers: str) -> httpx.Response:
        """Call a route of the check."""
        sent = [("Host", "shop.example"), *HEADERS.items(), ("Origin", ORIGIN), *headers.items()]
        path, content = f"/.agentgate/v1/browser/{route}", json.dumps(body).encode()
        told = self._installed.visit("POST", path, usual=sent, body=content, address=self.address)
        return httpx.Response(told.status, headers=list(told.headers.items()), content=told.body)


def read_answer(connection: socket.socket, method: str) -> Told:
    """Read one response."""
    response = http.client.HTTPResponse(connection, method=method)
    response.begin()
    return Told(response.status, response.headers, response.read())


def install(service: RunningService, site: EchoSite, tap: Tap) -> Installed:
    """Create the site in the service, with a secret."""
    site_key = create_site(
        service,
        mode="enforce",
        actions={"login": {"browserRequired": True, "clearance": True}, "ruled": {"browserRequired": False}},
        routes=[
            {"method": "POST", "path": "/login", "action": "login"},
            {"method": "GET", "path": "/members", "action": "login"},
            {"method": "GET", "path": "/dropped", "action": "ruled"},
            {"method": "GET", "path": "/told", "action": "ruled"},
            {"method": "GET", "path": "/ordered", "action": "ruled"},
            {"method": "GET", "path": "/blocked", "action": "ruled"},
            *({"method": "GET", "path": f"/status/{status}", "action": "ruled"} for status in STATUSES),
        ],
    )
    made = service.operator.post(f"/v1/admin/sites/{site_key}/credentials", json={"name": "proxy"})
    return Installed(service, site_key, made.json()["secret"], site, tap)
