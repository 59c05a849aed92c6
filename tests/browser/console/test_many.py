"""Consoles of an installation with more sites and users than a page has: pages, searches on the server, old sites."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, Request

from bench.growth_scene import Scene
from tests.browser.console.furniture import sign_in_operator
from tests.browser.console.steps import Console, open_page
from tests.browser.steps import wait_for

# More than a page, which has 200.
MANY = 230


@pytest.fixture
def many(page: Page, console: Console) -> Iterator[list[str]]:
    """An operator's tab with many sites and users; the addresses of its list requests."""
    service = console.service
    database = service.application.stores.databases["config"]
    if service.run(database.one("SELECT count(*) FROM site"))[0] < MANY:
        scene = Scene(database)  # type: ignore[arg-type]
        columns = {"id": "'st_' || n", "site_key": "'site_old' || n", "number": "n + 100", "name": "'Old shop ' || n"}
        service.run(scene.copy("site", MANY, **columns, created_ms="n"))
        people = {"id": "'usr_' || n", "email": "'person' || n || '@old.example'", "status": "'active'"}
        service.run(scene.insert("users", MANY, **people, created_ms="n"))
        account = "(SELECT id FROM account LIMIT 1)"
        service.run(
            scene.insert("membership", MANY, account_id=account, user_id="'usr_' || n", role="'member'", joined_ms="n")
        )
    asked: list[str] = []

    def note(request: Request) -> None:
        if re.search(r"/v1/admin/(sites|accounts)(\?|$)", request.url):
            asked.append(request.url)

    page.on("request", note)
    sign_in_operator(page, console)
    yield asked
    assert asked
    # No page of the console reads a complete list.
    assert [url for url in asked if "limit=" not in url] == []


def test_sites_are_listed_by_page_and_found_by_the_server(page: Page, console: Console, many: list[str]) -> None:
    open_page(page, f"{console.admin_url}/operator/sites", "Sites")
    rows = page.locator("main tbody tr")
    wait_for(page, lambda: rows.count() == 200)
    page.get_by_text("200 newest sites").wait_for()
    page.get_by_role("button", name="Older").click()
    wait_for(page, lambda: rows.count() > MANY)
    assert page.get_by_role("button", name="Older").count() == 0

    page.get_by_placeholder("Search sites").fill("old shop 17")
    wait_for(page, lambda: rows.count() == 11)
    page.get_by_placeholder("Search sites").fill("absent")
    page.get_by_text("No sites found").wait_for()
    assert any("q=absent" in url for url in many)


def test_an_old_site_is_named_in_the_switcher(page: Page, console: Console, many: list[str]) -> None:
    open_page(page, f"{console.admin_url}/operator/sites/site_old1/settings", "Settings")
    wait_for(page, lambda: "Old shop 1" in page.locator("button.switch").inner_text())
    assert any("q=site_old1" in url for url in many)


def test_users_are_listed_by_page_and_found_by_the_server(page: Page, console: Console, many: list[str]) -> None:
    open_page(page, f"{console.admin_url}/operator/users", "Users")
    rows = page.locator("main tbody tr")
    wait_for(page, lambda: rows.count() == 200)
    page.get_by_role("button", name="Older").click()
    wait_for(page, lambda: rows.count() > MANY)

    page.get_by_role("searchbox").fill("person17")
    wait_for(page, lambda: rows.count() == 11)
    assert any("q=person17" in url for url in many)
