"""A site of the real service, and what can be between it and a client: a proxy that loses responses, odd servers."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import urlsplit

from agentgate.browser_check.tokens.receipts import Grant, ReceiptIssuer
from agentgate.lib.enums import ReceiptKind
from agentgate_client import AsyncClient, Client
from tests.support.service import RunningService

SITE_KEY = "site_shop0001"
ORIGIN = "https://shop.example"
ACTIONS = ("signup", "login", "contact")


class Gate:
    """The running service as one site's server knows it."""

    def __init__(self, service: RunningService) -> None:
        self.service = service
        self.url = service.public_url
        made = service.operator.post(
            "/v1/admin/sites",
            json={
                "siteKey": SITE_KEY,
                "name": "Shop",
                "allowedOrigins": [ORIGIN],
                "actions": {name: {"browserRequired": True} for name in ACTIONS},
            },
        )
        assert made.status_code == 201, made.text
        self.secret = self.new_secret()
        self._clients: list[Client] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for client in self._clients:
            client.close()

    def new_secret(self) -> str:
        """Return the secret of a new credential."""
        made = self.service.operator.post(f"/v1/admin/sites/{SITE_KEY}/credentials", json={})
        assert made.status_code == 201, made.text
        return str(made.json()["secret"])

    def token(self, action: str = "signup", **changes: Any) -> str:
        """Return a token as the browser check would have given it."""
        usual = {"site_key": SITE_KEY, "kind": ReceiptKind.BROWSER, "subject": "f" * 16, "origin": ORIGIN}
        grant = Grant(action=action, decision_id="dec_0000000000000", **{**usual, **changes})
        issuer = ReceiptIssuer(self.service.application.signing_keys, issuer=self.url, lifetime_s=120)
        return issuer.issue(grant, now_ms=self.service.clock.now_ms()).receipt

    def client(self, url: str | None = None, **options: Any) -> Client:
        """Return a client of the service, or of a server before it."""
        client = Client(url or self.url, options.pop("secret", self.secret), **options)
        self._clients.append(client)
        return client

    def async_client(self, **options: Any) -> AsyncClient:
        """Return an asyncio client of the service."""
        return AsyncClient.around(self.client(**options))

    def now_s(self) -> float:
        """Return the service's time, which an offline verifier must share."""
        return self.service.clock.now_ms() / 1000


class Proxy:
    """Forwards connections to the service, one request each; while `lost` is above zero, responses are discarded."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._target = (parts.hostname, parts.port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.lost = 0
        self.connections = 0
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            with connection, socket.create_connection(self._target, timeout=5) as service:
                connection.settimeout(5)
                with contextlib.suppress(OSError):
                    while request := connection.recv(65536):
                        service.sendall(request)
                        # The response has arrived, so the service has done its work, even if the client never gets the
                        # response.
                        answer = service.recv(65536)
                        if self.lost:
                            self.lost -= 1
                            break
                        connection.sendall(answer)

    def close(self) -> None:
        """Stop accepting."""
        # Closing alone does not wake a thread that is waiting in accept.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(10)


@contextlib.contextmanager
def proxy(url: str) -> Iterator[Proxy]:
    """Run a proxy before the service."""
    made = Proxy(url)
    try:
        yield made
    finally:
        made.close()


Behavior = Callable[[BaseHTTPRequestHandler, bytes], None]


class OddServer:
    """A server with prepared responses: one behavior after the other; the last one repeats."""

    def __init__(self, *behaviors: Behavior) -> None:
        self.bodies: list[bytes] = []
        self.paths: list[str] = []
        odd = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                odd.bodies.append(body)
                odd.paths.append(self.path)
                behaviors[min(len(odd.bodies), len(behaviors)) - 1](self, body)

            do_GET = do_POST  # noqa: N815 - the name that the library calls

            def log_message(self, *given: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        """Stop."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)


@contextlib.contextmanager
def odd_server(*behaviors: Behavior) -> Iterator[OddServer]:
    """Run a server that behaves as told."""
    server = OddServer(*behaviors)
    try:
        yield server
    finally:
        server.close()


def answering(status: int, body: bytes, **headers: str) -> Behavior:
    """Return a behavior: one response."""

    def behave(handler: BaseHTTPRequestHandler, _body: bytes) -> None:
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)

    return behave


def silent(handler: BaseHTTPRequestHandler, _body: bytes) -> None:
    """Send nothing until the client is gone."""
    with contextlib.suppress(OSError):
        handler.connection.recv(1)
    handler.close_connection = True


def trickling(handler: BaseHTTPRequestHandler, _body: bytes) -> None:
    """Respond so slowly that no single byte is late."""
    with contextlib.suppress(OSError):
        for byte in b"HTTP/1.1 200 OK\r\n" + b"X-Slow: yes\r\n" * 50:
            handler.wfile.write(bytes([byte]))
            handler.wfile.flush()
            time.sleep(0.02)
    handler.close_connection = True


def cutting(handler: BaseHTTPRequestHandler, _body: bytes) -> None:
    """Close in the middle of the response."""
    handler.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"success": true')
    handler.close_connection = True
