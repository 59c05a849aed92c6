"""The quick starts, followed to the letter: at the end of each page is what the page promises."""

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.guides.following import guide


@pytest.mark.skipif(shutil.which("nginx", path="/usr/sbin:/usr/bin") is None, reason="nginx is not installed")
def test_a_site_behind_a_proxy(tmp_path: Path, page: Page) -> None:
    with guide("start-proxy.md", tmp_path, 3000, 8000) as start:
        told = start.follow()
        page.goto(start.url(8000))
        expect(page.get_by_role("heading", name="Welcome to the shop")).to_be_visible(timeout=30_000)

    assert "<h1>Welcome to the shop</h1>" in told
    assert "\n401\n" in told


def test_a_form(tmp_path: Path, page: Page) -> None:
    with guide("start-form.md", tmp_path, 5000) as start:
        told = start.follow()
        page.goto(start.url(5000))
        page.fill("input[name=name]", "Ann")
        page.wait_for_function("document.querySelector('[name=agentgate-token]')?.value")
        page.get_by_role("button", name="Sign up").click()
        expect(page.get_by_text("Welcome!")).to_be_visible()

    assert '"error": "receipt_required"' in told


def test_running_the_service(tmp_path: Path) -> None:
    with guide("start-operator.md", tmp_path) as start:
        told = start.follow()

    assert "/console/invite#" in told
    assert "config.db" in told
    assert "agentgate_build_info{" in told


def test_an_agent_that_is_welcome(tmp_path: Path) -> None:
    with guide("start-agent.md", tmp_path) as start:
        told = start.follow()

    assert "right" in told
    assert "WRONG" not in told.rpartition('{"agents"')[0].splitlines()[-1]
