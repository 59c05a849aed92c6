"""The quick starts, followed to the letter: at the end of each page is what the page promises."""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from bench.adversaries.drivers import stock
from bench.adversaries.drivers.screen import virtual_screen
from tests.browser.chromium import absent, chromium_path
from tests.browser.guides.following import guide

PATIENCE_S = 40


@contextmanager
def reader(url: str, folder: Path) -> Iterator[None]:
    """Open a page as its readers do, in a browser with a window that nothing drives."""
    with virtual_screen() as screen:
        browser = stock.start(stock.Setup(), url, screen, folder)
        try:
            yield
        finally:
            stock.end(browser)


def visits(log: Path) -> int:
    """Return how often the shop's page was sent."""
    return log.read_text().count('"GET / HTTP/1.') if log.exists() else 0


@pytest.mark.skipif(shutil.which("nginx", path="/usr/sbin:/usr/bin") is None, reason="nginx is not installed")
def test_a_site_behind_a_proxy(tmp_path: Path) -> None:
    chromium_path()
    if not shutil.which("Xvfb"):
        absent("Xvfb: there is none on the PATH")
    with guide("start-proxy.md", tmp_path, 3000, 8000) as start:
        told = start.follow()
        # The gate now challenges every new visitor, so the next visit comes from a browser that has passed.
        before = visits(tmp_path / "shop.log")
        with reader(start.url(8000), tmp_path / "reader"):
            deadline = time.monotonic() + PATIENCE_S
            while visits(tmp_path / "shop.log") == before:
                assert time.monotonic() < deadline, "the browser did not get to the shop"
                time.sleep(0.1)

    assert "<h1>Welcome to the shop</h1>" in told
    assert "\n401\n" in told


def test_a_form(tmp_path: Path, page: Page) -> None:
    with guide("start-form.md", tmp_path, 5000) as start:
        told = start.follow(until="5. Enforce")
        page.goto(start.url(5000))
        page.fill("input[name=name]", "Ann")
        page.wait_for_function("document.querySelector('[name=agentgate-token]')?.value")
        page.get_by_role("button", name="Sign up").click()
        expect(page.get_by_text("Welcome!")).to_be_visible()
        start.follow()

    assert '"error": "receipt_required"' in told


@pytest.mark.soak
def test_running_the_service(tmp_path: Path) -> None:
    with guide("install.md", tmp_path) as start:
        told = start.follow()

    assert "/console/setup#" in told
    assert "config.db" in told
    assert "agentgate_build_info{" in told


@pytest.mark.soak
def test_an_agent_that_is_welcome(tmp_path: Path) -> None:
    with guide("start-agent.md", tmp_path) as start:
        told = start.follow()

    assert "right" in told
    assert "WRONG" not in told.rpartition('{"agents"')[0].splitlines()[-1]
