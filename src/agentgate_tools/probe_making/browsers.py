"""Browsers on this machine: finding them, and running programs on our own page at a zoom. No driver."""

import contextlib
import http.server
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from agentgate.browser_check.probes.engines import BLINK, ENGINES, GECKO, WEBKIT
from agentgate.browser_check.probes.generate import Program

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FIREFOX_NAMES = ("firefox-esr", "firefox")
PYTHON_WITH_WEBKIT = "/usr/bin/python3"
ZOOM_STEP = 1.2
END_SECONDS = 5
WEBKIT_VIEW = """
import sys, gi
gi.require_version("Gtk", "3.0"); gi.require_version("WebKit2", "4.1")
from gi.repository import Gtk, WebKit2
if len(sys.argv) > 1:
    view = WebKit2.WebView.new_with_context(WebKit2.WebContext.new_ephemeral())
    view.set_zoom_level(float(sys.argv[2]))
    window = Gtk.Window(); window.set_default_size(1200, 800); window.add(view); window.show_all()
    view.load_uri(sys.argv[1]); Gtk.main()
"""
FIREFOX_SETTINGS = {
    "browser.shell.checkDefaultBrowser": False,
    "browser.aboutwelcome.enabled": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "datareporting.policy.dataSubmissionPolicyBypassNotification": True,
    "termsofuse.bypassNotification": True,
    "app.update.enabled": False,
    "toolkit.telemetry.enabled": False,
    "browser.startup.homepage_override.mstone": "ignore",
}


class Browser(Struct, frozen=True):
    """A browser: its engine and the program that starts it."""

    engine: str
    path: str


def find_browsers() -> list[Browser]:
    """Return Chromium, Firefox and WebKitGTK, as far as they are installed."""
    found = [Browser(BLINK, path) for path in _programs(CHROMIUM_NAMES)]
    found += [Browser(GECKO, path) for path in _programs(FIREFOX_NAMES)]
    if _has_webkit():
        found.append(Browser(WEBKIT, PYTHON_WITH_WEBKIT))
    return found


def browser_at(path: str) -> Browser | None:
    """Return the browser of a program by its name; None for one that is neither kind, or not there."""
    name = Path(path).name.lower()
    if shutil.which(path) is None:
        return None
    if "firefox" in name:
        return Browser(GECKO, path)
    return Browser(BLINK, path) if "chrom" in name or "headless_shell" in name else None


@contextlib.contextmanager
def opened(browser: Browser, url: str, zoom: float) -> Iterator["subprocess.Popen[bytes]"]:
    """Open a page at a zoom in a separate browser, and end the browser with all of its processes afterwards."""
    profile = Path(tempfile.mkdtemp(prefix="agentgate-probes-"))
    try:
        with _display(browser) as display:
            started = subprocess.Popen(  # noqa: S603 - a browser that the operator has, and our own page
                ["/usr/bin/env", f"HOME={profile}", *display, *_command(browser, url, zoom, profile)],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            try:
                yield started
            finally:
                _end(started)
    finally:
        shutil.rmtree(profile, ignore_errors=True)


def _programs(names: Sequence[str]) -> list[str]:
    """Return the first installed program of these names: the others are mostly aliases of it."""
    return [path for name in names if (path := shutil.which(name))][:1]


def _has_webkit() -> bool:
    if sys.platform != "linux" or not Path(PYTHON_WITH_WEBKIT).exists():
        return False
    if shutil.which("Xvfb") is None:
        return False
    tried = subprocess.run([PYTHON_WITH_WEBKIT, "-c", WEBKIT_VIEW], capture_output=True, check=False)  # noqa: S603 - constants
    return tried.returncode == 0


def _command(browser: Browser, url: str, zoom: float, profile: Path) -> list[str]:
    if browser.engine == WEBKIT:
        return [browser.path, "-c", WEBKIT_VIEW, url, str(zoom)]
    if browser.engine == GECKO:
        settings = {**FIREFOX_SETTINGS, "layout.css.devPixelsPerPx": str(zoom)}
        lines = [f"user_pref({json.dumps(name)},{json.dumps(value)});\n" for name, value in settings.items()]
        (profile / "user.js").write_text("".join(lines))
        return [browser.path, "--no-remote", "--profile", str(profile), "--headless", url]
    level = math.log(zoom) / math.log(ZOOM_STEP)
    (profile / "Default").mkdir()
    preferences = {"partition": {"default_zoom_level": {"x": level}}}
    (profile / "Default" / "Preferences").write_text(json.dumps(preferences))
    flags = ["--headless=new", "--no-first-run", "--disable-gpu", "--disable-background-networking"]
    if os.geteuid() == 0:
        # Chromium's own sandbox refuses to start for root, as in a container.
        flags.append("--no-sandbox")
    return [browser.path, *flags, "--window-size=1200,800", f"--user-data-dir={profile}", url]


@contextlib.contextmanager
def _display(browser: Browser) -> Iterator[list[str]]:
    """Give WebKitGTK, which has no headless mode, a virtual display."""
    if browser.engine != WEBKIT:
        yield []
        return
    reading, writing = os.pipe()
    server = subprocess.Popen(  # noqa: S603 - constants
        [
            shutil.which("Xvfb") or "Xvfb",
            "-displayfd",
            str(writing),
            "-screen",
            "0",
            "1400x1000x24",
            "-nolisten",
            "tcp",
        ],
        pass_fds=(writing,),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(writing)
    try:
        with os.fdopen(reading) as told:
            number = told.readline().strip()
        yield [f"DISPLAY=:{number}"]
    finally:
        server.terminate()
        server.wait()


def _end(started: "subprocess.Popen[bytes]") -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(started.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            started.wait(END_SECONDS if number == signal.SIGTERM else None)


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
    """The results of one browser at one zoom. `version` is None for WebKitGTK, because its version is not Safari's."""

    engine: str
    zoom: float
    version: int | None
    answers: list[list[int] | None]


class RunFailed(RuntimeError):  # noqa: N818 - says what happened
    """A browser returned no results; the text names the browser and the reason."""


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
        raise RunFailed(f"{browser.path} at zoom {zoom:g} did not respond within {RUN_SECONDS:.0f} s")
    if len(posted.answers) != len(programs):
        raise RunFailed(f"{browser.path} at zoom {zoom:g} produced no layout")
    return Run(
        engine=browser.engine, zoom=zoom, version=version_of(posted.user_agent, browser.engine), answers=posted.answers
    )


def version_of(user_agent: str, engine: str) -> int | None:
    """Return the version of a browser; none of WebKitGTK, whose versions are not Safari's."""
    assert engine in ENGINES
    found = None if engine == WEBKIT else VERSIONS[engine].search(user_agent)
    return int(found[1]) if found else None


class _Server(http.server.ThreadingHTTPServer):
    def __init__(self, programs: bytes) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        interpreter = resources.files("agentgate.pages").joinpath(INTERPRETER).read_bytes()
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
