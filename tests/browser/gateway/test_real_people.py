"""People as they really come, in Chromium: with photos, with service workers, several behind one address, in doubt."""

import json

import pytest
from playwright.sync_api import Browser, Page, Route

from tests.browser.chromium import plain_user_agent
from tests.browser.gateway.conftest import GatedSite
from tests.browser.gateway.page_texts import UNCLEARED, heading

PHOTO_BYTES = 100_000


def visible_text(page: Page) -> str:
    """Return the visible text of the page and of the widget."""
    return page.evaluate(
        "() => document.body.innerText + [...document.querySelectorAll('*')].flatMap((each) => each.shadowRoot ? "
        "[...each.shadowRoot.querySelectorAll('.box')].map((box) => box.innerText) : []).join(' ')"
    )


def photo(page: Page, path: str = "/photo") -> None:
    """Fill in the form with a photo, and send it."""
    page.goto(page.url if path is None else path)
    page.fill("[name=title]", "Evening by the lake")
    page.set_input_files("[name=photo]", {"name": "a.jpg", "mimeType": "image/jpeg", "buffer": b"\xff" * PHOTO_BYTES})
    page.click("#send")


def test_a_form_with_a_photo_is_sent_again_by_hand_and_nothing_is_lost(gated: GatedSite, page: Page) -> None:
    photo(page, gated.url("/photo"))
    page.wait_for_selector("text=The form data could not be kept")
    assert gated.adapter.reached[-1][:2] == ("GET", "/photo")

    page.click("button:text-is('Continue')")
    heading(page, "Site GET /photo")
    # The form still contains the entered text.
    assert page.input_value("[name=title]") == "Evening by the lake"
    page.set_input_files("[name=photo]", {"name": "a.jpg", "mimeType": "image/jpeg", "buffer": b"\xff" * PHOTO_BYTES})
    page.click("#send")
    heading(page, "Site POST /members")

    method, url, [(_, sent)] = gated.adapter.reached[-1]
    assert (method, url, gated.adapter.asked) == ("POST", "/members?from=photo", 1)
    assert "Evening by the lake" in sent
    assert len(sent) > PHOTO_BYTES


def test_a_navigation_under_a_service_worker_gets_the_page_and_gets_on(gated: GatedSite, page: Page) -> None:
    page.goto(gated.url("/worker"))
    page.wait_for_function("document.title === 'ready' && navigator.serviceWorker.controller")

    page.goto(gated.url("/members#part"))
    heading(page, "Site GET /members")

    assert page.url == gated.url("/members#part")
    assert gated.adapter.asked == 1


def test_two_people_behind_one_address_send_the_same_form(gated: GatedSite, browser: Browser) -> None:
    for number in (1, 2):
        context = browser.new_context(user_agent=plain_user_agent(browser))
        try:
            page = context.new_page()
            page.set_default_timeout(15_000)
            page.goto(gated.url("/form"))
            page.click("#send")
            heading(page, "Site POST /members")
        finally:
            context.close()
        assert gated.adapter.asked == number
        assert gated.adapter.reached[-1][:2] == ("POST", "/members?from=form")


def refuse_verify(route: Route) -> None:
    """Respond as the service does to a browser that does not pass."""
    body = {"error": {"code": "challenge_failed", "message": "Not passed.", "decisionId": "dec_0123456789abc"}}
    route.fulfill(status=403, content_type="application/json", body=json.dumps(body))


@pytest.mark.parametrize("broken", ["the check is not passed", "the check cannot be reached", "the script is missing"])
def test_a_check_that_fails_shows_one_thing(gated: GatedSite, page: Page, broken: str) -> None:
    if broken == "the check is not passed":
        page.route("**/v1/browser/verify*", refuse_verify)
    elif broken == "the check cannot be reached":
        page.route("**/v1/browser/**", lambda route: route.abort())
    else:
        page.route("**/sdk/v1/agentgate.js*", lambda route: route.abort())
    page.goto(gated.url("/members"))
    page.wait_for_function(
        "() => [document, ...[...document.querySelectorAll('*')].map((each) => each.shadowRoot)].some((root) => "
        "root && [...root.querySelectorAll('button')].some((each) => each.textContent === 'Try again'))"
    )

    said = visible_text(page)

    assert "opens automatically" not in said
    assert "Checking" not in said
    assert "JavaScript" not in said
    assert ("Check failed" in said) + ("Check unavailable" in said) == 1


def test_without_javascript_one_true_thing_is_shown(gated: GatedSite, browser: Browser) -> None:
    context = browser.new_context(user_agent=plain_user_agent(browser), java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto(gated.url("/members"))
        said = page.inner_text("main")
        assert "JavaScript" in said
        assert "opens automatically" not in said
        assert "Checking" not in said
        assert page.locator("button:visible, a:visible").count() == 0
        # If the site allows it, the page has a button for browsers that do not continue automatically.
        gated.rules(UNCLEARED)
        page.goto(gated.url("/look"))
        assert page.locator("button:visible").count() == 1
    finally:
        context.close()
