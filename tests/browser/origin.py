"""The site owner's own web server: any page with any headers, on a separate port, reached under several names.

Below `/gate` it hands requests on to the service, which makes the check same-origin for a page that loads it there.
"""

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

# The last one has no secure context: it is neither a loopback address nor `localhost`, and there is no TLS.
HOSTS = ("127.0.0.1", "localhost", "shop.test")
PROXIED = "/gate"
# Headers that describe one connection and must not be handed on to the next.
HOP_BY_HOP = frozenset(["connection", "keep-alive", "transfer-encoding", "content-length", "host"])


@dataclass
class Document:
    """The response for a path."""

    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    status: int = 200


class PageServer(ThreadingHTTPServer):
    """Serves documents from memory and remembers what was posted."""

    daemon_threads = True

    def __init__(self, service_url: str = "") -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.documents: dict[str, Document] = {}
        self.posted: list[str] = []
        self.service_url = service_url

    def url(self, path: str = "/", host: str = HOSTS[0]) -> str:
        """Return the address of a path under one of the names of this server."""
        return f"http://{host}:{self.server_address[1]}{path}"

    def origins(self) -> list[str]:
        """Return every origin that this server is."""
        return [self.url("", host) for host in HOSTS]

    def serve(self, path: str, body: str | bytes, **headers: str) -> str:
        """Serve this body at a path; underscores in the headers' names become hyphens. Return its URL."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        named.setdefault("Content-Type", "text/html; charset=utf-8")
        self.documents[path] = Document(body.encode() if isinstance(body, str) else body, named)
        return self.url(path)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing about browsers that close a connection early."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: PageServer

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path.startswith(PROXIED + "/"):
            self._hand_on()
            return
        document = self.server.documents.get(path)
        # Browsers ask for an icon by themselves.
        self._answer(document or Document(b"", status=204 if path == "/favicon.ico" else 404))

    def do_POST(self) -> None:
        if self.path.startswith(PROXIED + "/"):
            self._hand_on()
            return
        self.server.posted.append(self._body().decode())
        self._answer(self.server.documents.get(self.path.partition("?")[0]) or Document(b"received"))

    do_OPTIONS = do_POST  # noqa: N815 - the name that http.server looks for

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _hand_on(self) -> None:
        parts = urlsplit(self.server.service_url)
        assert parts.hostname is not None
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=20)
        kept = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
        body = self._body()
        connection.request(self.command, self.path.removeprefix(PROXIED), body or None, kept)
        reply = connection.getresponse()
        headers = {name: value for name, value in reply.getheaders() if name.lower() not in HOP_BY_HOP}
        content = reply.read()
        connection.close()
        self._answer(Document(content, headers, reply.status))

    def _answer(self, document: Document) -> None:
        self.send_response_only(document.status)
        for name, value in document.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(document.body)))
        self.end_headers()
        self.wfile.write(document.body)

    def log_message(self, *_: Any) -> None:
        """Keep quiet."""


@contextmanager
def page_server(service_url: str = "") -> Iterator[PageServer]:
    """Serve for as long as the block runs."""
    with PageServer(service_url) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join(10)
