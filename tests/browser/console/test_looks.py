"""Every page: axe finds nothing, in both themes, widths and languages; nothing scrolls sideways."""

from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.browser.console.furniture import furnish_account, sign_in_operator
from tests.browser.console.steps import SITE, Console, check_page, looking, sign_in
from tests.browser.steps import wait_for

# Path below the service, and what must stand on the page before it is looked at.
ACCOUNT_PAGES = {
    "/": "main h1",
    "/console/sign-in": "#password",
    "/console/code": "#code",
    "/console/forgot": "#email",
    "/console/invite": "#token",
    "/console/reset": "#token",
    "/console/request-access": "#message",
}
CONSOLE_PAGES = {
    "/console/sites": "tbody a",
    "/console/new-site": "#origin",
    "/console/security": ".tbl .tag",
    f"/console/sites/{SITE}/overview": ".chart polyline",
    f"/console/sites/{SITE}/decisions?range=7d": "tbody .out",
    f"/console/sites/{SITE}/visitors?range=7d": "tbody code",
    f"/console/sites/{SITE}/install": ".thousand",
    f"/console/sites/{SITE}/lists?add=1": "form .btn.main",
    f"/console/sites/{SITE}/appeals": ".empty",
    f"/console/sites/{SITE}/rules": ".editor textarea",
    f"/console/sites/{SITE}/agents": ".tbl.edit",
    f"/console/sites/{SITE}/agents?tab=charges": ".empty",
    f"/console/sites/{SITE}/agents?tab=grants": ".empty",
    f"/console/sites/{SITE}/settings": ".tbl.edit",
}
MANAGEMENT_PAGES = {
    "/console/members": "tbody tr",
    "/console/tokens": "tbody .tag",
    "/console/audit": "tbody code",
    "/console/account": ".danger",
    f"/console/sites/{SITE}/webhooks": ".card footer",
}
OPERATOR_PAGES = {
    "/operator/service": ".tiles",
    "/operator/customers": "tbody a",
    "/operator/access-requests": ".answers",
    "/operator/users": "tbody .tag",
    "/operator/outbox": "tbody .tag",
    "/operator/models": ".facts",
    "/operator/docs-feedback": "tbody code",
    "/operator/sessions": "tbody tr",
    "/operator/audit": "tbody code",
    f"/operator/sites/{SITE}/labelling": "aside .path",
}
LOOKS = (("light", 1280, "en"), ("dark", 360, "de"))
# axe looks at fifteen pages in one go, beside everything else that a busy machine does.
LONG_S = 400


@pytest.mark.timeout(LONG_S)
@pytest.mark.parametrize(("scheme", "width", "language"), LOOKS)
def test_every_page_is_accessible_in_both_themes_widths_and_languages(
    browser: Browser, console: Console, scheme: Any, width: int, language: str
) -> None:
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 800}}
    context = looking({**options, "extra_http_headers": {"Accept-Language": language}}, browser)
    try:
        page = context.new_page()
        for path, there in ACCOUNT_PAGES.items():
            page.goto(console.url + path)
            page.evaluate("window.violations ??= []")
            assert page.locator(there).count() == 1, path
            check_page(page)
        sign_in(page, console)
        for path, there in CONSOLE_PAGES.items():
            page.goto(console.url + path)
            wait_for(page, lambda there=there: page.locator(there).count())
            assert page.evaluate("document.documentElement.lang") == language
            check_page(page)
        page.goto(f"{console.url}/console/sites/{SITE}/decisions?range=7d")
        wait_for(page, lambda: page.locator("tbody .out").count())
        page.keyboard.press("j")
        wait_for(page, lambda: page.locator("aside .path").count())
        check_page(page)
    finally:
        context.close()


@pytest.mark.timeout(LONG_S)
@pytest.mark.usefixtures("furniture")
@pytest.mark.parametrize(("scheme", "width", "language"), LOOKS)
def test_every_page_of_operators_and_of_the_account_is_accessible(
    browser: Browser, console: Console, scheme: Any, width: int, language: str
) -> None:
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 800}}
    context = looking({**options, "extra_http_headers": {"Accept-Language": language}}, browser)
    try:
        page = context.new_page()
        sign_in(page, console)
        furnish_account(page, console)
        sign_in_operator(page, console)
        [customer, *_] = console.service.operator.get("/v1/admin/customers").json()["items"]
        pages = {console.url + path: there for path, there in MANAGEMENT_PAGES.items()}
        pages |= {console.admin_url + path: there for path, there in OPERATOR_PAGES.items()}
        pages[f"{console.admin_url}/operator/customers/{customer['id']}"] = ".danger"
        for url, there in pages.items():
            page.goto(url)
            wait_for(page, lambda there=there: page.locator(there).count())
            assert page.evaluate("document.documentElement.lang") == language
            check_page(page)
    finally:
        context.close()


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
