"""Every page: axe finds nothing, in both themes, widths and languages; nothing scrolls sideways.

Each page is checked once, with other settings than the page before it; `make soak` checks every page with all settings.
"""

from collections.abc import Iterator, Sequence
from itertools import count, product
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.console.furniture import furnish_account, sign_in_operator
from tests.browser.console.page_lists import ACCOUNT_PAGES, CONSOLE_PAGES, MANAGEMENT_PAGES, OPERATOR_PAGES
from tests.browser.console.steps import SITE, Console, OpenRequests, check_page, looking, sign_in, watch
from tests.browser.steps import wait_for

# Theme, width, language: all that there are.
LOOKS = tuple(product(("light", "dark"), (1280, 360), ("en", "de")))
# axe checks fifteen pages in one run, while a busy machine runs other programs.
LONG_S = 400


class Onlooker:
    """A tab that checks one page after the other, each with the next theme, width and language."""

    def __init__(self, page: Page, looks: Sequence[Any]) -> None:
        self.page = page
        self._looks = looks
        self._seen = count()
        self._requests = OpenRequests(page)

    def look(self, url: str, there: str, key: str = "") -> None:
        """Open a page, press a key if there is one to press, and check the page when `there` is on it."""
        scheme, width, language = self._looks[next(self._seen) % len(self._looks)]
        self.page.emulate_media(color_scheme=scheme)
        self.page.set_viewport_size({"width": width, "height": 800})
        self.page.set_extra_http_headers({"Accept-Language": language})
        self._requests.clear()
        self.page.goto(url)
        if key:
            wait_for(self.page, lambda: self.page.locator("tbody .out").count())
            self.page.keyboard.press(key)
        wait_for(self.page, lambda: self.page.locator(there).count())
        wait_for(self.page, self._is_still)
        assert self.page.evaluate("document.documentElement.lang") == language, url
        check_page(self.page)

    def _is_still(self) -> bool:
        """Return whether nothing is loading, which is dimmed, and its contrast with it."""
        return self._requests.are_answered() and bool(
            self.page.evaluate("document.getAnimations().every((each) => each.playState !== 'running')")
        )


@pytest.fixture
def tab(browser: Browser) -> Iterator[Page]:
    """A tab whose violations of policy are collected, and that axe can be put into."""
    context = looking({}, browser)
    page = context.new_page()
    watch(page)
    yield page
    context.close()


def look_at_customers_pages(onlooker: Onlooker, console: Console) -> None:
    """Check the public pages, then the pages of the owner."""
    for path, there in ACCOUNT_PAGES.items():
        onlooker.look(console.url + path, there)
    sign_in(onlooker.page, console)
    for path, there in CONSOLE_PAGES.items():
        onlooker.look(console.url + path, there)
    onlooker.look(f"{console.url}/console/sites/{SITE}/decisions?range=7d", "aside .path", key="j")


def look_at_operators_pages(onlooker: Onlooker, console: Console) -> None:
    """Look at the pages of operators and those about the account."""
    sign_in(onlooker.page, console)
    furnish_account(onlooker.page, console)
    sign_in_operator(onlooker.page, console)
    [customer, *_] = console.service.operator.get("/v1/admin/customers").json()["items"]
    pages = {console.url + path: there for path, there in MANAGEMENT_PAGES.items()}
    pages |= {console.admin_url + path: there for path, there in OPERATOR_PAGES.items()}
    pages[f"{console.admin_url}/operator/customers/{customer['id']}"] = ".danger"
    for url, there in pages.items():
        onlooker.look(url, there)


@pytest.mark.timeout(LONG_S)
def test_every_page_is_accessible(tab: Page, console: Console) -> None:
    look_at_customers_pages(Onlooker(tab, LOOKS), console)


@pytest.mark.timeout(LONG_S)
@pytest.mark.usefixtures("furniture")
def test_every_page_of_operators_and_of_the_account_is_accessible(tab: Page, console: Console) -> None:
    look_at_operators_pages(Onlooker(tab, LOOKS), console)


@pytest.mark.soak
@pytest.mark.timeout(LONG_S)
@pytest.mark.usefixtures("furniture")
@pytest.mark.parametrize("look", LOOKS, ids=str)
@pytest.mark.parametrize("pages", [look_at_customers_pages, look_at_operators_pages])
def test_every_page_is_accessible_in_every_look(tab: Page, console: Console, pages: Any, look: Any) -> None:
    pages(Onlooker(tab, [look]), console)


def test_text_of_twice_the_size_does_not_scroll_sideways(browser: Browser, console: Console) -> None:
    context = looking({"viewport": {"width": 1280, "height": 800}}, browser)
    try:
        page = context.new_page()
        sign_in(page, console)
        names = ("overview", "decisions", "lists?add=1", "appeals", "rules", "agents", "settings")
        for path in (*(f"/console/sites/{SITE}/{name}" for name in names), "/console/sites"):
            page.goto(console.url + path)
            wait_for(page, lambda: page.locator("main h1").count())
            page.evaluate("document.documentElement.style.fontSize = '200%'")
            page.wait_for_timeout(100)
            assert page.evaluate("document.documentElement.scrollWidth") <= 1280, path
    finally:
        context.close()
