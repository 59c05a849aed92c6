"""Browsers on this machine: finding them, and opening a page in one with a fresh profile at a zoom. No driver."""

import contextlib
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from agentgate.protection.browser_check.probes.engines import BLINK, GECKO, WEBKIT

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
    """Open a page at a zoom in a browser of its own, and end the browser with all of its processes afterwards."""
    profile = Path(tempfile.mkdtemp(prefix="agentgate-probes-"))
    environment = {**os.environ, "HOME": str(profile)}
    try:
        with _display(browser, environment):
            started = subprocess.Popen(  # noqa: S603 - a browser that the operator has, and our own page
                _command(browser, url, zoom, profile),
                env=environment,
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
    """Return the first program of these names that is there: the others are mostly other names of it."""
    return [path for name in names if (path := shutil.which(name))][:1]


def _has_webkit() -> bool:
    if sys.platform != "linux" or not Path(PYTHON_WITH_WEBKIT).exists():
        return False
    if not os.environ.get("DISPLAY") and shutil.which("Xvfb") is None:
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
def _display(browser: Browser, environment: dict[str, str]) -> Iterator[None]:
    """Give WebKitGTK, which has no mode without a window, a display that nobody sees."""
    if browser.engine != WEBKIT or environment.get("DISPLAY"):
        yield
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
            environment["DISPLAY"] = f":{told.readline().strip()}"
        yield
    finally:
        server.terminate()
        server.wait()


def _end(started: "subprocess.Popen[bytes]") -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(started.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            started.wait(END_SECONDS if number == signal.SIGTERM else None)
