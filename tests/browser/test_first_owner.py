"""The first owner in a real browser: one link, an account, and the page for the first site."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from agentgate.lib.clock import SystemClock
from agentgate.lib.settings.schema import read_settings
from tests.support.cast import add_account
from tests.support.service import ADMIN_KEY, RunningService, running_service


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[RunningService]:
    """A service without any account."""
    environ = {
        "AGENTGATE_DATA_DIR": str(tmp_path / "data"),
        "AGENTGATE_PUBLIC_LISTEN": "127.0.0.1:0",
        "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
        "AGENTGATE_ADMIN_KEY": ADMIN_KEY,
        "AGENTGATE_DRAIN_SECONDS": "0",
    }
    with running_service(read_settings(environ), SystemClock()) as running:
        yield running


def test_the_link_leads_to_an_account_and_its_first_site(empty: RunningService, page: Page) -> None:
    empty.operator.post("/v1/admin/sites", json={"name": "Before", "siteKey": "site_before0001"})
    link = empty.operator.post("/v1/admin/setup-link").json()["setupUrl"]

    page.goto(link)
    expect(page.locator("[data-link]")).to_be_hidden()
    assert "#" not in page.url
    page.fill("#email", "owner@shop.example")
    page.fill("#password", "correct horse battery staple")
    page.click("button.main")
    page.wait_for_url("**/console/sites/site_before0001/install")

    expect(page.get_by_text("Before").first).to_be_visible()


def test_an_owner_without_a_site_enters_only_its_address(empty: RunningService, page: Page) -> None:
    page.goto(empty.operator.post("/v1/admin/setup-link").json()["setupUrl"])
    page.fill("#email", "owner@shop.example")
    page.fill("#password", "correct horse battery staple")
    page.click("button.main")
    page.wait_for_url("**/console/new-site?first=1")
    page.click("button.main")
    expect(page.get_by_text("Enter the address, such as")).to_be_visible()
    page.fill("#origin", "shop.example/cart")
    page.click("button.main")
    page.wait_for_url("**/install")

    made = empty.operator.get("/v1/admin/sites").json()["items"]
    assert [(site["name"], site["allowedOrigins"]) for site in made] == [("shop.example", ["https://shop.example"])]


def test_a_used_link_leads_to_signing_in(empty: RunningService, page: Page) -> None:
    link = empty.operator.post("/v1/admin/setup-link").json()["setupUrl"]
    token = link.partition("#")[2]
    given = {"token": token, "email": "owner@shop.example", "password": "correct horse battery staple"}
    assert empty.new_public_client().post("/v1/account/setup", json=given).status_code == 200

    page.goto(link)
    page.fill("#email", "other@shop.example")
    page.fill("#password", "correct horse battery staple")
    page.click("button.main")

    expect(page.get_by_role("heading")).to_be_visible()
    expect(page.locator("a[href='/console/sign-in']")).to_be_visible()


def test_operators_of_one_account_see_no_pages_for_several(empty: RunningService, page: Page) -> None:
    """A second account shows them, and so do a pending request and the operator's choice."""
    add_account(empty, "One")
    page.request.post(f"{empty.admin_url}/v1/admin/login", data={"key": ADMIN_KEY, "operator": "ada"})
    page.goto(f"{empty.admin_url}/operator/")
    nav = page.locator("nav.nav")
    several = [
        nav.get_by_role("link", name=re.compile(f"^{name}")) for name in ("Customers", "Access requests", "Outbox")
    ]
    expect(nav.get_by_role("link", name="Users")).to_be_visible()

    for link in several:
        expect(link).to_have_count(0)
    empty.new_public_client().post("/v1/account/request-access", json={"email": "ann@shop.example", "name": "Ann"})
    page.evaluate("dispatchEvent(new Event('agentgate:changed'))")
    expect(several[1]).to_be_visible()
    expect(several[0]).to_have_count(0)

    page.locator("button.me").click()
    page.get_by_role("button", name="Pages for several accounts: hidden").click()
    expect(several[0]).to_be_visible()
    expect(several[2]).to_be_visible()
    page.get_by_role("button", name="Pages for several accounts: shown").click()
    expect(several[0]).to_have_count(0)

    add_account(empty, "Two")
    page.evaluate("dispatchEvent(new Event('agentgate:changed'))")
    expect(several[0]).to_be_visible()
    expect(several[2]).to_be_visible()
