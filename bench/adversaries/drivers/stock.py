"""Browsers as people start them: no driver, no flag of automation, a fresh profile, and no way off this machine."""

import json
import math
import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MINI_BROWSERS = (
    "/usr/lib/x86_64-linux-gnu/webkit2gtk-4.1/MiniBrowser",
    "/usr/lib/aarch64-linux-gnu/webkit2gtk-4.1/MiniBrowser",
)
# Nothing leaves the machine: names do not resolve, and the rest of the world is behind a proxy that is not there.
NOWHERE = "MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"
FIREFOX = {
    "app.normandy.enabled": False,
    "app.update.enabled": False,
    "browser.aboutwelcome.enabled": False,
    "browser.safebrowsing.downloads.remote.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.homepage_override.mstone": "ignore",
    "datareporting.policy.dataSubmissionEnabled": False,
    "datareporting.policy.dataSubmissionPolicyBypassNotification": True,
    "toolkit.telemetry.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.proxy.type": 1,
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": 9,
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 9,
    "network.proxy.no_proxies_on": "127.0.0.1, localhost",
    "termsofuse.bypassNotification": True,
    "trailhead.firstrun.didSeeAboutWelcome": True,
}


@dataclass(frozen=True)
class Setup:
    """How a browser is set up."""

    browser: str = "chromium"
    window: tuple[int, int] = (1180, 700)
    arguments: tuple[str, ...] = ()
    preferences: tuple[tuple[str, Any], ...] = ()
    locale: str = ""
    zoom: float = 1.0
    # Pixels of the screen for one of a page that is not zoomed.
    density: float = 1.0
    private: bool = False
    timezone: str = ""
    # CPU limit in percent of one core. 0: no limit.
    processor: int = 0
    # The content script of an extension.
    extension: str = ""

    @property
    def scale(self) -> float:
        """Pixels of the screen for one of the page."""
        return self.zoom * self.density


def find_browser(name: str) -> str | None:
    """Return where a browser is."""
    if name == "webkit":
        return next((path for path in MINI_BROWSERS if Path(path).exists()), None)
    names = {"chromium": ("chromium", "chromium-browser", "google-chrome"), "firefox": ("firefox-esr", "firefox")}[name]
    return next((found for found in map(shutil.which, names) if found), None)


def start(setup: Setup, url: str, screen: str, folder: Path) -> subprocess.Popen[bytes]:
    """Start a browser on a screen, at a page."""
    path = find_browser(setup.browser)
    if path is None:
        raise FileNotFoundError(f"there is no {setup.browser} on this machine")
    home = folder / "home"
    home.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "DISPLAY": screen, "HOME": str(home), "NO_AT_BRIDGE": "1"}
    environment.pop("WAYLAND_DISPLAY", None)
    if setup.locale:
        environment["LANGUAGE"] = setup.locale
        environment["LC_ALL"] = "C.UTF-8"
    if setup.timezone:
        environment["TZ"] = setup.timezone
    command = {"chromium": _chromium, "firefox": _firefox, "webkit": _webkit}[setup.browser](setup, path, folder)
    command.append(url)
    if setup.processor and shutil.which("cpulimit"):
        command = ["cpulimit", "-q", "-i", "-l", str(setup.processor), "--", *command]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )


def _chromium(setup: Setup, path: str, folder: Path) -> list[str]:
    profile = folder / "chromium"
    default = profile / "Default"
    default.mkdir(parents=True, exist_ok=True)

    written: dict[str, Any] = {"credentials_enable_service": False}
    if setup.zoom != 1:
        # The zoom level of a profile is a power of 1.2.
        written["partition"] = {"default_zoom_level": {"x": math.log(setup.zoom) / math.log(1.2)}}
    if setup.locale:
        written["intl"] = {"accept_languages": setup.locale, "selected_languages": setup.locale}
    (default / "Preferences").write_text(json.dumps(written))
    width, height = setup.window
    arguments = [
        path,
        f"--user-data-dir={profile}",
        "--no-first-run",
        "--no-default-browser-check",
        "--password-store=basic",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--disable-component-update",
        f"--host-resolver-rules={NOWHERE}",
        f"--window-size={width},{height}",
        "--window-position=40,20",
        *setup.arguments,
    ]
    if setup.density != 1:
        arguments.append(f"--force-device-scale-factor={setup.density}")
    if setup.extension:
        arguments.append(f"--load-extension={_write_extension(folder, setup.extension)}")
        arguments.append("--disable-features=DisableLoadExtensionCommandLineSwitch")
    if setup.private:
        arguments.append("--incognito")
    if setup.locale:
        arguments.append(f"--lang={setup.locale.split(',')[0]}")
    return arguments


def _write_extension(folder: Path, script: str) -> Path:
    extension = folder / "extension"
    extension.mkdir()
    scripts = [{"matches": ["http://127.0.0.1/*"], "js": ["content.js"], "run_at": "document_idle"}]
    manifest = {"manifest_version": 3, "name": "Helper", "version": "1", "content_scripts": scripts}
    (extension / "manifest.json").write_text(json.dumps(manifest))
    (extension / "content.js").write_text(script)
    return extension


def _firefox(setup: Setup, path: str, folder: Path) -> list[str]:
    profile = folder / "firefox"
    profile.mkdir(parents=True, exist_ok=True)
    preferences: dict[str, Any] = {**FIREFOX, **dict(setup.preferences)}
    if setup.zoom != 1:
        preferences["layout.css.devPixelsPerPx"] = str(setup.zoom)
    if setup.locale:
        preferences["intl.accept_languages"] = setup.locale

    lines = [f'user_pref("{name}", {json.dumps(value)});' for name, value in preferences.items()]
    (profile / "user.js").write_text("\n".join(lines))
    width, height = setup.window
    private = ["--private-window"] if setup.private else []
    return [path, "--no-remote", "--profile", str(profile), "--width", str(width), "--height", str(height), *private]


def _webkit(setup: Setup, path: str, _folder: Path) -> list[str]:
    width, height = setup.window
    private = ["--private"] if setup.private else []
    zoom = [f"--zoom={setup.zoom}"] if setup.zoom != 1 else []
    return [path, f"--geometry={width}x{height}", *private, *zoom]


def end(process: subprocess.Popen[bytes]) -> None:
    """End a browser and the processes that it started; they form a separate session."""

    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        try:
            process.wait(8)
            if number == signal.SIGTERM:
                continue
        except subprocess.TimeoutExpired:
            continue
    process.wait(10)
