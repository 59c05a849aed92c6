"""The documentation in a real browser: search, theme, feedback, narrow screens; no request goes to another host."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.axe import load_axe, run_axe
from tests.browser.site import ProtectedSite


@pytest.fixture
def opened(page: Page, site: ProtectedSite) -> Iterator[Page]:
    """A page of the documentation, whose every request and complaint is watched."""
    asked: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.goto(f"{site.gate}/docs/write-rules")
    yield page
    assert {urlsplit(url).netloc for url in asked} == {urlsplit(site.gate).netloc}
    assert complaints == []


def test_a_reader_finds_a_page_with_the_keyboard_alone(opened: Page) -> None:
    opened.keyboard.press("/")
    opened.keyboard.type("siteverify requestid")
    expect(opened.locator("#hits a").first).to_be_visible(timeout=30_000)
    opened.keyboard.press("ArrowDown")
    opened.keyboard.press("Enter")

    expect(opened).not_to_have_url("**/docs/write-rules")
    expect(opened.locator("article")).to_contain_text("requestId")


def test_the_theme_is_kept_from_page_to_page(opened: Page) -> None:
    opened.get_by_role("button", name="Dark").click()
    opened.get_by_role("link", name="Settings", exact=True).first.click()

    expect(opened.locator("html")).to_have_attribute("data-theme", "dark")
    ground = opened.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert ground == "rgb(13, 17, 23)"


def test_a_response_about_a_page_is_counted(opened: Page, site: ProtectedSite) -> None:
    opened.get_by_role("button", name="Yes").click()

    expect(opened.get_by_text("Thank you.")).to_be_visible()
    items = site.service.operator.get("/v1/admin/docs-feedback").json()["items"]
    assert items == [{"page": "/docs/write-rules", "helpful": 1, "notHelpful": 0, "total": 1}]


def test_it_fits_a_narrow_screen_and_its_pages_can_be_opened(opened: Page) -> None:
    opened.set_viewport_size({"width": 360, "height": 740})

    assert opened.evaluate("document.documentElement.scrollWidth") == 360
    opened.get_by_role("button", name="Pages").click()
    expect(opened.get_by_role("link", name="Receive webhooks and export decisions")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wrong_for_users_who_cannot_see_it(browser: Browser, site: ProtectedSite, scheme: str) -> None:
    context = browser.new_context(color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.goto(f"{site.gate}/docs/start-form")

    load_axe(page)

    assert run_axe(page)["violations"] == []
    context.close()
