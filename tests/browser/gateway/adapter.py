"""A small reverse proxy that behaves as the adapters for nginx and others do, and the site behind it.

It queries the gateway about each request, shows the challenge page instead of a denied page, and passes `/.agentgate/`
on to the service. The site returns the request it received.
"""

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

OWN = "/.agentgate"
DROPPED = ("connection", "keep-alive", "transfer-encoding", "content-length", "host", "accept-encoding", "upgrade")
FORGED = ("x-original-", "x-service-", "x-agentgate-secret")
PAGE = "<!doctype html><html lang=en><title>{title}</title><main><h1>{title}</h1>{content}</main></html>"
FORM = """<form method=post action="/members?from=form" enctype="{enctype}"><input name=mail value="a@b.example">
<textarea name=note>zwei
Zeilen &amp; é</textarea><input name=submit value=1><input type=hidden name=action value=x>
<button id=send>Send</button></form>"""
PHOTO = """<form method=post action="/members?from=photo" enctype="multipart/form-data"><input name=title>
<input type=file name=photo><button id=send>Send</button></form>"""
# A service worker that only passes on, as many sites have one.
WORKER = """<script>navigator.serviceWorker.register('/worker.js').then(() => navigator.serviceWorker.ready)
.then(() => { document.title = 'ready' })</script>"""
PASSES_ON = b"""self.addEventListener('install', () => skipWaiting());
self.addEventListener('activate', (event) => event.waitUntil(clients.claim()));
self.addEventListener('fetch', (event) => event.respondWith(fetch(event.request)));"""


class Adapter(ThreadingHTTPServer):
    """The proxy. `reached` lists the requests that the site behind it received, `asked` counts the challenge pages."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.origin = f"http://127.0.0.1:{self.server_address[1]}"
        self.service_url = ""
        self.secret = ""
        self.reset("203.0.113.1")

    def reset(self, address: str) -> None:
        """Send all further requests from an address, and clear the records."""
        # Addresses of the next requests for pages of the site, from the last on; then `address` again.
        self.roaming: list[str] = []
        self.address = address
        self.reached: list[tuple[str, str, list[tuple[str, str]]]] = []
        self.asked = 0

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing about browsers that close a connection early."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Adapter

    def do_GET(self) -> None:
        if self.path == "/favicon.ico":
            self._answer(204, {}, b"")
            return
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path.startswith(OWN + "/"):
            self._pass_on(self.command, self.path.removeprefix(OWN), self.server.address, body)
            return
        address = self.server.roaming.pop() if self.server.roaming else self.server.address
        status, headers, _ = self._ask("GET", "/v1/gateway/check", address)
        if status == 204:
            self._site(body)
            return
        told = {
            "reason": headers["x-service-reason"],
            "decision": headers["x-service-decision"],
            "decisionId": headers["x-service-decision-id"],
        }
        self.server.asked += 1
        self._pass_on(self.command, f"/v1/gateway/challenge?{urlencode(told)}", address, body)

    do_POST = do_GET  # noqa: N815 - the name that http.server looks for

    def _pass_on(self, method: str, path: str, address: str, body: bytes) -> None:
        self._answer(*self._ask(method, path, address, body))

    def _ask(self, method: str, path: str, address: str, body: bytes = b"") -> tuple[int, dict[str, str], bytes]:
        parts = urlsplit(self.server.service_url)
        assert parts.hostname is not None
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=20)
        headers = {
            name: value
            for name, value in self.headers.items()
            if name.lower() not in DROPPED and not name.lower().startswith(FORGED)
        }
        headers |= {
            "X-AgentGate-Secret": self.server.secret,
            "X-Original-Method": self.command,
            "X-Original-URL": self.server.origin + self.path,
            "X-Original-Address": address,
        }
        connection.request(method, path, body or None, headers)
        reply = connection.getresponse()
        content = reply.read()
        connection.close()
        return reply.status, {name.lower(): value for name, value in reply.getheaders()}, content

    def _site(self, body: bytes) -> None:
        path = self.path.partition("?")[0]
        if path == "/worker.js":
            self._answer(200, {"content-type": "text/javascript"}, PASSES_ON)
            return
        fields = body.decode("utf-8", "surrogateescape") if "multipart" in (self.headers["Content-Type"] or "") else ""
        sent = [("raw", fields)] if fields else parse_qsl(body.decode(), keep_blank_values=True)
        self.server.reached.append((self.command, self.path, sent))
        form = {"/form": "application/x-www-form-urlencoded", "/files": "multipart/form-data"}.get(path)
        content = FORM.format(enctype=form) if form else {"/photo": PHOTO, "/worker": WORKER}.get(path, "")
        page = PAGE.format(title=f"Site {self.command} {path}", content=content)
        self._answer(200, {"content-type": "text/html; charset=utf-8"}, page.encode())

    def _answer(self, status: int, headers: dict[str, str], content: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            if name not in DROPPED and not name.startswith("x-service-"):
                self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Keep quiet."""


@contextmanager
def running_adapter() -> Iterator[Adapter]:
    """Serve for as long as the block runs."""
    with Adapter() as adapter:
        thread = threading.Thread(target=adapter.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield adapter
        finally:
            adapter.shutdown()
            thread.join(10)
