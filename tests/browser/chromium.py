"""The system's Chromium under Playwright's sync API, kept apart from the loops of other tests in the same process."""

import asyncio
import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Playwright, sync_playwright

# Replaces Playwright's own list, without the features of Windows and Edge. The last one is our addition: preparing a
# process for the next page takes 10% of the time of a page, and most tests open one page.
WITHOUT = (
    *("AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades"),
    *("HttpsFirstBalancedModeAutoEnable", "LensOverlay", "MediaRouter", "PaintHolding"),
    *("ThirdPartyStoragePartitioning", "AvoidCorsURLLoaderRestartOnRedirect", "OptimizationHints"),
    *("NetworkTimeServiceQuerying", "AimEnabled", "PreconnectToSearch", "SpareRendererForSitePerProcess"),
)
# Names under .test are not "potentially trustworthy": a page there has no secure context, as on plain HTTP in the wild.
ARGUMENTS = (
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP *.test 127.0.0.1",
    # Nothing of a test leaves the machine.
    "--disable-background-networking",
    "--disable-component-update",
    f"--disable-features={','.join(WITHOUT)}",
)
UNMARKED = "--disable-blink-features=AutomationControlled"


def chromium_path() -> str:
    """Return the path of Chromium; if there is none, skip the test, or fail it where a browser is required."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    return found or absent("Chromium: there is no chromium on the PATH")


def firefox_path() -> str:
    """Return where Firefox is, as above."""
    found = shutil.which("firefox-esr") or shutil.which("firefox")
    return found or absent("Firefox: there is no firefox-esr on the PATH")


def node_path() -> str:
    """Return where Node.js is, as above."""
    found = shutil.which("node")
    if found is None and os.environ.get("REQUIRE_NODE") == "1":
        pytest.fail("Node.js: there is no node on the PATH")
    return found or absent("Node.js: there is no node on the PATH")


def absent(reason: str) -> Any:
    """Skip the test, or fail it where every browser has to be present."""
    if os.environ.get("REQUIRE_BROWSER") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


class Chromium:
    """One browser for a whole run of tests.

    The sync API leaves its event loop marked as running in this thread, so that other code could not start a loop
    there. The mark is therefore set only while a test uses the browser.
    """

    def __init__(self, playwright: Playwright, **options: Any) -> None:
        self._playwright = playwright
        self._loop = asyncio.get_running_loop()
        self.browser = self.launch(**options)

    def launch(self, *arguments: str, **options: Any) -> Browser:
        """Start a browser that does not reveal that it is automated; `marked=True` makes it reveal that."""
        marked = options.pop("marked", False)
        return self._playwright.chromium.launch(
            executable_path=chromium_path(),
            args=[*ARGUMENTS, *([] if marked else [UNMARKED]), *arguments],
            **options,
        )

    def launch_profile(self, folder: Path, **options: Any) -> BrowserContext:
        """Start a browser with a profile folder, whose preferences can be written beforehand."""
        return self._playwright.chromium.launch_persistent_context(
            folder, executable_path=chromium_path(), args=[*ARGUMENTS, UNMARKED], **options
        )

    @contextlib.contextmanager
    def in_use(self) -> Iterator[Browser]:
        """Let the browser's loop be the running one of this thread."""
        asyncio._set_running_loop(self._loop)
        try:
            yield self.browser
        finally:
            asyncio._set_running_loop(None)


@contextlib.contextmanager
def running_chromium() -> Iterator[Chromium]:
    """Start Chromium, and end it afterwards."""
    chromium_path()
    playwright = sync_playwright().start()
    chromium = Chromium(playwright)
    asyncio._set_running_loop(None)
    try:
        yield chromium
    finally:
        with chromium.in_use():
            chromium.browser.close()
            playwright.stop()


def plain_user_agent(browser: Browser) -> str:
    """Return what the same browser calls itself when it has a window."""
    major = browser.version.partition(".")[0]
    return f"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{major}.0.0.0 Safari/537.36"
