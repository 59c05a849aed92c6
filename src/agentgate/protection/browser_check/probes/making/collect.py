"""Collecting answers: a page on loopback runs the programs in a browser and posts what it found."""

import http.server
import re
import threading
from collections.abc import Sequence
from importlib import resources
from typing import Any

import msgspec
from msgspec import Struct

from agentgate.protection.browser_check.probes.engines import BLINK, ENGINES, GECKO, WEBKIT
from agentgate.protection.browser_check.probes.generate import Program
from agentgate.protection.browser_check.probes.making.browsers import Browser, opened

RUN_SECONDS = 240.0
MOST_BODY_BYTES = 64 * 1024 * 1024
BATCH = 40
INTERPRETER = "static/sdk/v1/probes.js"
PAGE = """<!doctype html><html><head><meta charset=utf-8><title>Probes</title></head><body><p>Probes
<script src=/page.js></script><script src=/probes.js></script></body></html>"""
SCRIPT = """
globalThis["agentgate:probes"] = async (probe) => {
  const programs = await (await fetch("/programs")).json();
  const answers = [];
  for (let at = 0; at < programs.length; at += %d) {
    const found = await probe({ draw: "", programs: programs.slice(at, at + %d) });
    answers.push(...(typeof found.answers === "string" ? [] : found.answers));
  }
  await fetch("/answers", { method: "POST", body: JSON.stringify({ userAgent: navigator.userAgent, answers }) });
};
"""
VERSIONS = {BLINK: re.compile(r"Chrome/(\d+)"), GECKO: re.compile(r"Firefox/(\d+)")}


class Run(Struct, frozen=True, kw_only=True):
    """What one browser answered at one zoom. WebKitGTK's version is not Safari's, so that it has none here."""

    engine: str
    zoom: float
    version: int | None
    answers: list[list[int] | None]


class RunFailed(RuntimeError):  # noqa: N818 - says what happened
    """A browser did not answer; the text says which, and why."""


class _Posted(Struct, rename="camel"):
    user_agent: str
    answers: list[list[int] | None]


def collect(browser: Browser, zoom: float, programs: Sequence[Program]) -> Run:
    """Run programs in a browser that is started for it."""
    server = _Server(msgspec.json.encode(programs))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        with opened(browser, f"http://127.0.0.1:{server.server_port}/", zoom) as started:
            step = 0.25
            for _ in range(int(RUN_SECONDS / step)):
                if server.answered.wait(step) or started.poll() is not None:
                    break
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    posted = server.posted
    if posted is None:
        raise RunFailed(f"{browser.path} at zoom {zoom:g} did not answer within {RUN_SECONDS:.0f} s")
    if len(posted.answers) != len(programs):
        raise RunFailed(f"{browser.path} at zoom {zoom:g} laid nothing out")
    return Run(
        engine=browser.engine,
        zoom=zoom,
        version=version_of(posted.user_agent, browser.engine),
        answers=posted.answers,
    )


def version_of(user_agent: str, engine: str) -> int | None:
    """Return the version of a browser; none of WebKitGTK, whose versions are not Safari's."""
    assert engine in ENGINES
    found = None if engine == WEBKIT else VERSIONS[engine].search(user_agent)
    return int(found[1]) if found else None


class _Server(http.server.ThreadingHTTPServer):
    def __init__(self, programs: bytes) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        interpreter = resources.files("agentgate.http").joinpath(INTERPRETER).read_bytes()
        self.files: dict[str, tuple[bytes, str]] = {
            "/": (PAGE.encode(), "text/html"),
            "/page.js": ((SCRIPT % (BATCH, BATCH)).encode(), "text/javascript"),
            "/probes.js": (interpreter, "text/javascript"),
            "/programs": (programs, "application/json"),
        }
        self.answered = threading.Event()
        self.posted: _Posted | None = None

    def handle_error(self, *_args: Any) -> None:
        """Stay silent: browsers that are ended close their connections as they please."""


class _Handler(http.server.BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body, kind = self.server.files.get(self.path, (b"", ""))
        self._answer(200 if kind else 404, body, kind or "text/plain")

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        if self.path != "/answers" or not 0 < length <= MOST_BODY_BYTES:
            self._answer(400, b"", "text/plain")
            return
        try:
            self.server.posted = msgspec.json.decode(self.rfile.read(length), type=_Posted)
        except msgspec.DecodeError:
            self._answer(400, b"", "text/plain")
            return
        self._answer(200, b"{}", "application/json")
        self.server.answered.set()

    def _answer(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.send_header("cache-control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: Any) -> None:
        """Stay silent."""
