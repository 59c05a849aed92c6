"""The population's headers compared with the headers of installed Chromium and Firefox, over HTTP/1.1 on loopback."""

import re
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.browser.chromium import chromium_path, firefox_path
from tests.population.browsers import Browser
from tests.population.headers import Load, headers_of
from tests.population.languages import LANGUAGES

PAGE = b"""<!doctype html><link rel=stylesheet href=/a.css><script src=/a.js></script><img src=/a.png>
<style>@font-face{font-family:f;src:url(/a.woff2)}body{font-family:f}</style>text<a id=next href=/next>next</a>
<script>fetch('/a.json').then(() => setTimeout(() => document.getElementById('next').click(), 300))</script>"""
PARTS = {"/a.css": "style", "/a.js": "script", "/a.png": "image", "/a.woff2": "font", "/a.json": "empty"}
# Same values wherever the browser runs.
COMPARED = frozenset({"accept", "accept-encoding", "sec-fetch-dest", "sec-fetch-mode", "sec-fetch-site"})
LONGEST_S = 60


class _Recorder(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    heads: dict[str, list[tuple[str, str]]]

    def do_GET(self) -> None:
        self.heads.setdefault(self.path, self.headers.items())
        kind = {"/": "text/html", "/a.css": "text/css", "/a.js": "text/javascript"}.get(self.path, "text/plain")
        body = PAGE if self.path == "/" else b""
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Set-Cookie", "a=b; Path=/")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def recorded_heads(command: list[str]) -> Iterator[dict[str, list[tuple[str, str]]]]:
    """Let a browser visit a page; yields the headers of each path once all have come."""
    heads: dict[str, list[tuple[str, str]]] = {}
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Recorder", (_Recorder,), {"heads": heads}))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/"
    browser = subprocess.Popen([*command, url], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        last_s = time.monotonic() + LONGEST_S
        while not {"/", "/next", *PARTS} <= set(heads):
            assert time.monotonic() < last_s, f"only {sorted(heads)} were asked for"
            time.sleep(0.05)
        yield heads
    finally:
        browser.terminate()
        browser.wait(20)
        server.shutdown()
        server.server_close()


def chromium(folder):
    options = ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking")
    return [chromium_path(), *options, f"--user-data-dir={folder}"]


def firefox(folder):
    return [firefox_path(), "--headless", "--no-remote", "--profile", str(folder)]


@pytest.mark.parametrize(
    ("command", "name", "engine", "product"),
    [(chromium, "Chrome", "chromium", "Chrome"), (firefox, "Firefox", "gecko", "Firefox")],
    ids=["chromium", "firefox"],
)
def test_a_real_browser_sends_the_same_names_in_the_same_order(command, name, engine, product, tmp_path):
    with recorded_heads(command(tmp_path)) as heads:
        agent = dict(heads["/"])["User-Agent"]
        major = int(re.search(rf"{product}/(\d+)\.", agent)[1])
        browser = Browser(name, "Linux", engine, (major, 0), agent, LANGUAGES[0], http=1)
        loads = {
            "/": Load("a"),
            "/next": Load("a", site="same-origin", referer="r", cookie="a=b"),
            **{path: Load("a", kind, "same-origin", "r", "a=b") for path, kind in PARTS.items()},
        }
        for path, load in loads.items():
            made = headers_of(browser, load)
            # A script made the click, so there is no user activation.
            kept = [pair for pair in made if path != "/next" or pair[0] != "Sec-Fetch-User"]

            assert [name for name, _ in heads[path]] == [name for name, _ in kept], path
            assert _compared(heads[path]) == _compared(kept), path


def _compared(headers):
    return {name: value for name, value in headers if name.lower() in COMPARED}
