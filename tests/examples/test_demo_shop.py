"""`agentgate serve --demo` with its shop: the pages, blocked requests, a real browser, and how it ends."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from tests.browser.chromium import plain_user_agent, running_chromium
from tests.cli.commands import environment
from tests.examples.programs import START_S

PAGES = ("/", "/signup", "/login", "/comment", "/api")


class Demo:
    """A running demo: what it printed, and where its shop is."""

    def __init__(self, folder: Path, *arguments: str, shop_line: str = r"Visit the demo shop.*\nhttp.*\n") -> None:
        self.printed = folder / "printed"
        with self.printed.open("w") as printed, (folder / "log").open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "agentgate", "serve", "--demo", *arguments],
                cwd=folder,
                env=environment(folder, AGENTGATE_DRAIN_SECONDS="0"),
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=log,
            )
        deadline_s = time.monotonic() + START_S
        # The console's address is printed before; the shop's is the last line, when it is whole.
        while not re.search(shop_line, self.printed.read_text()):
            assert self.process.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < deadline_s, self.lines()
            time.sleep(0.05)
        self.shop = self.lines()[-1]

    def lines(self) -> list[str]:
        return self.printed.read_text().splitlines()

    def gate(self) -> str:
        """Return the service's address, as the shop's pages name it."""
        found = re.search(r'src="(http://[^"]+)/sdk/v1/agentgate.js"', httpx.get(f"{self.shop}/signup").text)
        assert found
        return found[1]

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        try:
            return self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def demo(folder):
    started = Demo(folder, "--demo-port", "0")
    yield started
    started.end()


def is_gone(url):
    """Return whether the server stops listening within ten seconds."""
    deadline_s = time.monotonic() + 10
    while time.monotonic() < deadline_s:
        try:
            httpx.get(url, timeout=5)
        except httpx.TransportError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("path", PAGES)
def test_every_page_exists_and_shows_its_code(demo, path):
    answer = httpx.get(demo.shop + path)

    assert answer.status_code == 200
    assert "$" not in re.sub(r"\$\(cat", "", answer.text), "a template was not filled"
    assert "require-trusted-types-for 'script'" in answer.headers["content-security-policy"]
    if path != "/":
        assert "On the server" in answer.text
        assert "&quot;site_demo_shop&quot;" in answer.text


def test_the_shop_rejects_what_has_no_token_or_a_false_one(demo):
    assert httpx.post(f"{demo.shop}/signup", data={"name": "<b>ann</b>"}).status_code == 403
    forged = httpx.post(f"{demo.shop}/login", data={"agentgate-token": "a.b.c"})
    assert forged.status_code == 403
    assert "invalid_token" in forged.text
    asked = httpx.post(f"{demo.shop}/api/stock")
    assert (asked.status_code, asked.headers["x-service-reason"]) == (401, "receipt_required")


@pytest.mark.parametrize("path", ["/nothing", "/static/../app.py", "/static/style.css.map", "/static/none.css"])
def test_what_the_shop_does_not_have_is_not_found(demo, path):
    assert httpx.get(demo.shop + path).status_code == 404


def test_a_browser_passes_all_four_checks_and_the_decisions_can_be_inspected(demo):
    with running_chromium() as chromium, chromium.in_use() as browser:
        page = browser.new_page(user_agent=plain_user_agent(browser), locale="en-GB")
        page.set_default_timeout(20_000)
        problems = []
        page.on("pageerror", lambda problem: problems.append(str(problem)))

        page.goto(f"{demo.shop}/signup")
        page.get_by_label("Name").fill("Ann <b>")
        page.get_by_label("E-mail").fill("ann@shop.example")
        page.get_by_role("button", name="Create my account").click()
        page.get_by_text("Welcome, Ann <b>.").wait_for()
        command = page.locator("#facts pre").inner_text()

        page.goto(f"{demo.shop}/login")
        page.get_by_label("E-mail").fill("ann@shop.example")
        page.get_by_label("Password").fill("tea")
        page.get_by_role("button", name="Log in").click()
        page.get_by_text("You are logged in as ann@shop.example.").wait_for()

        page.goto(f"{demo.shop}/comment")
        page.get_by_label("How was the tea?").fill("Hot.")
        page.get_by_role("button", name="Confirm you are human").click()
        page.get_by_role("button", name="Continue").click()
        page.get_by_text("Verified", exact=True).wait_for()
        page.get_by_role("button", name="Post comment").click()
        page.get_by_text("Thank you. Your comment was posted.", exact=True).wait_for()

        page.goto(f"{demo.shop}/api")
        page.get_by_role("button", name="Look it up").click()
        page.get_by_text("kettle: 12").wait_for()
        page.goto(demo.shop)
        accepted = page.locator("td.good").count()
        page.close()

    assert problems == []
    assert accepted == 4
    shown = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=START_S, check=True)
    decision = json.loads(shown.stdout)
    assert decision["decision"]["action"] == "signup", decision


def test_a_port_in_use_is_reported_and_the_service_continues(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        demo = Demo(tmp_path, "--demo-port", port, shop_line=r"The demo shop is not running.*\n")
        try:
            assert demo.shop.startswith(f"The demo shop is not running: port {port}: Address already in use")
            log = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
            (serving,) = [line for line in log if line["event"] == "serving"]
            assert httpx.get(f"{serving['public_url']}/healthz").status_code == 200
        finally:
            assert demo.end() == 0


def test_the_shop_ends_with_the_service_and_starts_again_with_its_credential(tmp_path):
    first = Demo(tmp_path, "--demo-port", "0")
    kept = (tmp_path / "data" / "demo-shop.json").read_text()
    assert (tmp_path / "data" / "demo-shop.json").stat().st_mode & 0o777 == 0o600

    assert first.end(signal.SIGINT) == 0
    assert is_gone(first.shop)

    second = Demo(tmp_path, "--demo-port", "0")
    try:
        assert (tmp_path / "data" / "demo-shop.json").read_text() == kept
        forged = httpx.post(f"{second.shop}/login", data={"agentgate-token": "a.b.c"})
        assert "invalid_token" in forged.text
        # Even a killed service leaves no shop behind.
        os.kill(second.process.pid, signal.SIGKILL)
        second.process.wait(10)
        assert is_gone(second.shop)
    finally:
        second.end()
