"""Appeals on the hosted page, behind an adapter, with and without JavaScript: to the owners' reply and back."""

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.axe import load_axe, run_axe
from tests.browser.chromium import plain_user_agent
from tests.browser.gateway.conftest import SITE_KEY, GatedSite
from tests.browser.gateway.page_texts import BLOCKED, heading
from tests.browser.steps import COLLECT_VIOLATIONS

APPEALS = f"/v1/admin/sites/{SITE_KEY}/appeals"
CANARY = "<img src=x onerror='window.ran=1'>"
# A ticket is good from two seconds after its page was shown.
READING_MS = 2_100


def look(page: Page) -> None:
    load_axe(page)
    assert run_axe(page)["violations"] == []
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("script", [True, False])
def test_a_blocked_person_shows_it_and_gets_in(gated: GatedSite, browser: Browser, script: bool) -> None:
    context = browser.new_context(
        user_agent=plain_user_agent(browser), java_script_enabled=script, viewport={"width": 320, "height": 600}
    )
    try:
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.add_init_script(COLLECT_VIOLATIONS)
        gated.rules(default="block")
        page.goto(gated.url("/look?a=1"))
        heading(page, BLOCKED)
        page.wait_for_timeout(READING_MS)
        page.get_by_text("I am a person").click()
        page.get_by_role("textbox").fill(f"I only want to pay. {CANARY}")
        if script:
            look(page)
        page.get_by_role("button", name="Send").click()
        heading(page, "Your message was sent")
        link = page.url
        [appeal] = [
            each
            for each in gated.service.operator.get(APPEALS).json()["items"]
            if each["message"] == f"I only want to pay. {CANARY}"
        ]
        answer = {"answer": "let_in", "reply": CANARY}
        assert gated.service.operator.post(f"{APPEALS}/{appeal['id']}/answer", json=answer).status_code == 200
        page.goto(link)
        heading(page, "You now have access")
        assert page.locator("blockquote").inner_text() == CANARY
        if script:
            look(page)
            assert page.evaluate("[window.ran, window.violations]") == [None, []]
        page.get_by_role("link", name="Continue").click()
        heading(page, "Site GET /look")
        assert page.url == gated.url("/look?a=1")
    finally:
        context.close()
