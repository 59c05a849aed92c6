"""The challenge page in every look and state: axe finds nothing, nothing is wider than the narrowest screen."""

from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.axe import load_axe, run_axe
from tests.browser.chromium import plain_user_agent
from tests.browser.gateway.conftest import GatedSite

NARROW = {"width": 320, "height": 560}
LOOKS: dict[str, dict[str, Any]] = {
    "light, narrow": {"viewport": NARROW},
    "dark, right to left": {"color_scheme": "dark", "locale": "ar", "viewport": NARROW},
    "forced colors, no movement": {"forced_colors": "active", "reduced_motion": "reduce", "locale": "de"},
}
PASSED_LATELY = "try { sessionStorage.setItem('agentgate:passed', String(Date.now())) } catch {}"


def look_at(page: Page, *, inside: bool = False) -> None:
    """Let axe look, and measure."""
    page.wait_for_timeout(300)
    load_axe(page)
    found = run_axe(page)
    assert found["violations"] == []
    assert bool(found["inside"]) or not inside, "axe saw nothing of the widget"
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    assert page.evaluate("document.querySelectorAll('h1').length >= 1 && document.title.length > 0")
    assert page.evaluate(
        "[...document.querySelectorAll('button, a, summary')].filter((each) => each.offsetParent)"
        ".every((each) => each.getBoundingClientRect().height >= 24)"
    )


@pytest.mark.parametrize("look", [*list(LOOKS)[:2], pytest.param(list(LOOKS)[2], marks=pytest.mark.soak)])
def test_every_state_is_accessible(gated: GatedSite, browser: Browser, look: str) -> None:
    context = browser.new_context(user_agent=plain_user_agent(browser), **LOOKS[look])
    try:
        page = context.new_page()
        page.set_default_timeout(15_000)
        gated.rules(default="block")
        page.goto(gated.url("/"))
        look_at(page)
        page.goto(gated.url("/pay"))
        look_at(page)
        gated.rules(default="challenge")
        page.goto(gated.url("/members"))
        page.locator("button.press").wait_for()
        look_at(page, inside=True)
        page.add_init_script(PASSED_LATELY)
        page.goto(gated.url("/members"))
        page.wait_for_selector("#causes li")
        look_at(page)
    finally:
        context.close()
