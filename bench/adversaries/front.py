"""The web server of the site in the lab: the page with its form, and the service below `/gate`.

A lane is a separate port with one visitor at a time. Every request through it carries that visitor's address, so the
service sees each session as a different visitor although all of them use loopback.
"""

import http.client
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

GATE = "/gate"
PAGE = (Path(__file__).parent / "page.html").read_text()
# A farm's page: it calls the SDK as often as it can.
FARM = """<!doctype html><title>Farm</title><script src="/gate/sdk/v1/agentgate.js?render=explicit"></script><script>
(async () => {
  for (;;) {
    try {
      await agentgate.execute({ sitekey: "SITE_KEY", action: "ACTION" });
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
})();
</script>"""
TOKEN_FIELD = "agentgate-token"
# Headers that describe one connection and must not be handed on to the next.
HOP_BY_HOP = frozenset(["connection", "keep-alive", "transfer-encoding", "content-length"])


@dataclass
class Visit:
    """The acts of one visitor, as the site's own web server observes them."""

    address: str
    tokens: list[str] = field(default_factory=list)
    sent: int = 0
    report: dict[str, Any] = field(default_factory=dict)
    verified: list[dict[str, Any]] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    issued: int = 0
    # Of the requests to the service and their responses, without headers.
    bytes: int = 0
    began_s: float = field(default_factory=time.monotonic)
    # When the check's button was seen first, and when a token came.
    shown_s: float = 0.0
    passed_s: float = 0.0

    @property
    def sender(self) -> str:
        """The address that the next request comes from."""
        return self.address

    def state(self) -> dict[str, Any]:
        """Return the state that drivers may know: the reports of their page, and the outcome."""
        return {"report": self.report, "sent": self.sent, "verified": self.verified}

    @property
    def answered_s(self) -> float:
        """Seconds from the first sight of the interactive challenge to the token; 0 if it was not displayed or not
        passed."""
        return max(0.0, self.passed_s - self.shown_s) if self.shown_s else 0.0

    @property
    def asked(self) -> bool:
        """Whether the check was shown."""
        return any(answer.get("status") == "step_up" for answer in self.verified)


class Lane(ThreadingHTTPServer):
    """A port with one visitor at a time."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, service_url: str, site_key: str, action: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.service_url = service_url
        self.origin = f"http://127.0.0.1:{self.server_address[1]}"
        self.page = PAGE.replace("SITE_KEY", site_key).replace("ACTION", action)
        self.farm = FARM.replace("SITE_KEY", site_key).replace("ACTION", action)
        self.visit = Visit("127.0.0.1")

    def begin(self, address: str) -> Visit:
        """Begin the next visit. Late requests of the previous visitor are not counted."""
        self.visit = Visit(address)
        return self.visit

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing about browsers that close a connection early."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Lane

    def setup(self) -> None:
        super().setup()
        # A connection belongs to the visitor who opened it, even if the next visit has begun.
        self.visit = self.server.visit

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path.startswith(GATE + "/"):
            self._hand_on(b"")
        elif path == "/lab/state":
            self._answer(200, json.dumps(self.visit.state()).encode(), "application/json")
        elif path == "/farm":
            self._answer(200, self.server.farm.encode(), "text/html; charset=utf-8")
        elif path == "/":
            self._answer(200, self.server.page.encode(), "text/html; charset=utf-8")
        else:
            self._answer(204 if path == "/favicon.ico" else 404, b"", "text/plain")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = urlsplit(self.path).path
        if path.startswith(GATE + "/"):
            self._hand_on(body)
        elif path == "/lab/report":
            self.visit.report.update(json.loads(body))
            if self.visit.report.get("ask"):
                self.visit.shown_s = self.visit.shown_s or time.monotonic()
            self._answer(204, b"", "text/plain")
        elif path == "/send":
            token = parse_qs(body.decode()).get(TOKEN_FIELD, [""])[0]
            if token:
                self.visit.tokens.append(token)
            self.visit.sent += 1
            self._answer(200, b"<!doctype html><title>Sent</title><p>Thank you.", "text/html")
        else:
            self._answer(404, b"", "text/plain")

    def do_OPTIONS(self) -> None:
        self._hand_on(b"")

    def _hand_on(self, body: bytes) -> None:
        parts = urlsplit(self.server.service_url)
        assert parts.hostname is not None
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
        connection.putrequest(self.command, self.path.removeprefix(GATE), skip_host=True, skip_accept_encoding=True)
        # Keep the client's order: the service inspects it.
        for name, value in self.headers.items():
            if name.lower() == "host":
                connection.putheader(name, parts.netloc)
            elif name.lower() not in HOP_BY_HOP | {"x-forwarded-for"}:
                connection.putheader(name, value)
        connection.putheader("X-Forwarded-For", self.visit.sender)
        if body:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body or None)
        reply = connection.getresponse()
        content = reply.read()
        self.visit.bytes += len(body) + len(content)
        headers = [(name, value) for name, value in reply.getheaders() if name.lower() not in HOP_BY_HOP]
        connection.close()
        self._note(body, content, reply.status)
        self.send_response_only(reply.status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _note(self, body: bytes, content: bytes, status: int) -> None:
        path = urlsplit(self.path).path
        if path.endswith("/browser/challenge"):
            self.visit.issued += 1
        if not path.endswith("/browser/verify"):
            return
        try:
            said = json.loads(content)
            kept = {name: said[name] for name in ("status", "error", "decisionId") if name in said}
            self.visit.verified.append({**kept, "http": status})
            if kept.get("status") == "passed":
                self.visit.passed_s = time.monotonic()
            self.visit.bodies.append(json.loads(body))
        except ValueError:
            self.visit.verified.append({"error": "unreadable", "http": status})

    def _answer(self, status: int, body: bytes, media_type: str) -> None:
        self.send_response_only(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Keep quiet."""


@contextmanager
def open_lane(service_url: str, site_key: str, action: str) -> Iterator[Lane]:
    """Serve for as long as the block runs."""
    with Lane(service_url, site_key, action) as lane:
        thread = threading.Thread(target=lane.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
        thread.start()
        try:
            yield lane
        finally:
            lane.shutdown()
            thread.join(10)
