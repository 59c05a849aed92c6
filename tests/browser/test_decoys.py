"""The hidden link in Chromium: no person sees it, reaches it by keyboard or hears of it, and a program finds it."""

from typing import Any

import pytest
from playwright.sync_api import Page

from agentgate.sites.decoys import html_of, link_of
from tests.browser.axe import load_axe, run_axe

LINK = link_of("st_0123456789abcdef", 20_400)
PAGE = """<!doctype html><html lang="en"><head><title>Shop</title><style>%s</style></head>
<body><main><h1>Shop</h1><a id="first" href="#a">First</a> <a id="last" href="#b">Last</a></main>%s</body></html>"""


@pytest.mark.parametrize(
    "style",
    ["", "a { display: inline-block; min-width: 40px; min-height: 40px }", "[hidden] { display: block }"],
    ids=["plain", "links as buttons", "a reset of hidden"],
)
def test_no_person_sees_or_reaches_the_link_and_a_program_finds_it(page: Page, style: str) -> None:
    page.set_content(PAGE % (style, html_of(LINK)))
    decoy = page.locator(f"a[href='{LINK}']")
    assert decoy.count() == 1
    assert decoy.evaluate("link => link.getClientRects().length") == 0

    reached: list[Any] = []
    for _ in range(4):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id"))
    assert reached[:2] == ["first", "last"]
    assert page.evaluate("document.activeElement.getAttribute('href')") != LINK
    assert page.get_by_role("link").count() == 2
    assert page.get_by_role("link", include_hidden=True).count() == 3
    load_axe(page)
    assert run_axe(page)["violations"] == []


def test_a_policy_without_inline_styles_still_hides_it(page: Page) -> None:
    policy = "<meta http-equiv=Content-Security-Policy content=\"style-src 'none'\">"
    page.set_content((PAGE % ("", html_of(LINK))).replace("<head>", f"<head>{policy}"))

    assert page.locator(f"a[href='{LINK}']").evaluate("link => link.getClientRects().length") == 0


def test_a_script_with_the_text_of_a_page_keeps_working(page: Page) -> None:
    text = f"before{html_of(LINK)}</body>"
    page.set_content(
        f"<!doctype html><title>Shop</title><script>window.kept = '{text}'; window.also = \"{text}\"</script>"
    )

    assert page.evaluate("[kept, also]") == [text, text]
