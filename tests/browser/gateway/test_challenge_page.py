"""The challenge page in Chromium, behind an adapter: people get on, forms survive, and no visitor is sent in a loop."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.chromium import Chromium, plain_user_agent
from tests.browser.gateway.conftest import GatedSite
from tests.browser.gateway.page_texts import BLOCKED, UNCLEARED, heading
from tests.browser.steps import COLLECT_VIOLATIONS, press_by_hand

STUCK = "You passed the check, but the page still does not open"


def test_a_person_gets_through_and_notices_little(gated: GatedSite, page: Page) -> None:
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    page.add_init_script(
        COLLECT_VIOLATIONS + "addEventListener('pagehide', () => "
        "sessionStorage.violations = JSON.stringify(window.violations));"
    )

    page.goto(gated.url("/members?a=b#part"))
    heading(page, "Site GET /members")

    assert page.url == gated.url("/members?a=b#part")
    assert gated.adapter.reached == [("GET", "/members?a=b", [])]
    assert gated.adapter.asked == 1
    [cookie] = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Lax", "/")
    assert {url for url in requested if not url.startswith((gated.adapter.origin, "blob:"))} == set()
    assert page.evaluate("sessionStorage.violations") == "[]"
    # The clearance is good for the next page too.
    page.goto(gated.url("/members"))
    heading(page, "Site GET /members")
    assert gated.adapter.asked == 1


@pytest.mark.parametrize("path", ["/form", pytest.param("/files", marks=pytest.mark.soak)])
def test_a_form_survives_the_check(gated: GatedSite, page: Page, path: str) -> None:
    page.goto(gated.url(path))

    page.click("#send")
    heading(page, "Site POST /members")

    method, url, fields = gated.adapter.reached[-1]
    assert (method, url, gated.adapter.asked) == ("POST", "/members?from=form", 1)
    if path == "/form":
        assert fields == [("mail", "a@b.example"), ("note", "zwei\r\nZeilen & é"), ("submit", "1"), ("action", "x")]
    else:
        assert "zwei\r\nZeilen & é" in fields[0][1]


def test_a_form_that_cannot_be_kept_is_explained_after_the_check(gated: GatedSite, page: Page) -> None:
    page.goto(gated.url("/form"))
    page.evaluate("document.querySelector('textarea').value = 'x'.repeat(70_000)")

    page.click("#send")
    page.wait_for_selector("text=The form data could not be kept")
    page.click("text=Continue")

    heading(page, "Site GET /form")
    page.click("#send")
    heading(page, "Site POST /members")


def test_who_keeps_no_cookies_is_notified_and_not_sent_round(
    gated: GatedSite, chromium: Chromium, tmp_path: Path
) -> None:
    folder = tmp_path / "profile" / "Default"
    folder.mkdir(parents=True)
    forbidden = {"profile": {"default_content_setting_values": {"cookies": 2}}}
    (folder / "Preferences").write_text(json.dumps(forbidden))
    with chromium.in_use() as browser:
        context = chromium.launch_profile(tmp_path / "profile", user_agent=plain_user_agent(browser))
        try:
            page = context.new_page()
            page.set_default_timeout(15_000)
            page.goto(gated.url("/members"))
            heading(page, STUCK)
            assert gated.adapter.asked == 2
            page.wait_for_timeout(500)
            assert (gated.adapter.asked, gated.adapter.reached) == (2, [])
            assert "Allow cookies" in page.inner_text("main")
            page.click("button:visible")
            heading(page, STUCK)
            assert gated.adapter.asked == 3
        finally:
            context.close()


def test_whose_address_changes_is_notified_and_not_sent_round(gated: GatedSite, page: Page) -> None:
    # The page is shown to one address, the check is passed from another, and the way back is from a third.
    gated.adapter.roaming = ["198.51.100.9", "198.51.100.8"]
    page.goto(gated.url("/members"))
    heading(page, STUCK)
    assert gated.adapter.asked == 2
    assert "stay on one connection" in page.inner_text("main")


def test_a_rule_that_no_check_satisfies_is_notified_and_not_sent_round(gated: GatedSite, page: Page) -> None:
    gated.rules(default="challenge")
    page.goto(gated.url("/anything"))

    step_up(page)
    heading(page, BLOCKED)

    assert gated.adapter.asked == 2
    assert "dec_" in page.inner_text("main")


def step_up(page: Page) -> None:
    """Press the widget's button twice, as the widget requests."""
    button = page.locator("button.press")
    button.wait_for()
    press_by_hand(page, button)
    page.wait_for_timeout(200)
    page.wait_for_function(
        "() => [...document.querySelectorAll('*')].flatMap((e) => e.shadowRoot ? [...e.shadowRoot.querySelectorAll("
        "'button.press')] : []).some((b) => b.getAttribute('aria-disabled') !== 'true')"
    )
    press_by_hand(page, button)


def test_a_token_each_time_is_explained(gated: GatedSite, page: Page) -> None:
    page.goto(gated.url("/pay"))

    heading(page, BLOCKED)
    assert "must be sent from its own page" in page.inner_text("main")
    assert gated.adapter.asked == 1


def test_a_script_gets_json_and_a_browser_that_is_blocked_a_page(gated: GatedSite, page: Page) -> None:
    page.goto(gated.url("/form"))
    said = page.evaluate("fetch('/members').then((answer) => answer.json())")
    assert said == {"decision": "challenge", "reason": "receipt_required"}

    gated.rules(default="block")
    reply = page.goto(gated.url("/form"))
    assert reply is not None
    assert reply.status == 403
    heading(page, BLOCKED)


def test_who_has_no_javascript_waits_and_gets_on(gated: GatedSite, browser: Browser) -> None:
    gated.rules(UNCLEARED)
    context = browser.new_context(user_agent=plain_user_agent(browser), java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto(gated.url("/look"))
        assert "Wait ten seconds" in page.inner_text("main")
        page.wait_for_selector("text=Site GET /look", timeout=20_000)
        assert gated.adapter.asked == 1
        # It is not enough for a route that needs a browser. The page explains that and does not try again endlessly.
        page.goto(gated.url("/members"))
        assert "Turn on JavaScript" in page.inner_text("main")
    finally:
        context.close()
