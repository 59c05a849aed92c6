"""The interactive challenge: passed by mouse, touch or keyboard alone, canceled with Escape, never passed by script."""

import pytest

from tests.browser.chromium import plain_user_agent
from tests.browser.steps import begin, challenge_all, check_token, execute, finished, press_by_hand, read_decision

PLAIN = "<!doctype html><html lang=en><title>Plain</title>{script}<body><button id=own>Own</button><main></main>"
WAIT_MS = 1100
CONFIRM, CONTINUE = "Confirm you are human", "Continue"


@pytest.fixture
def address(site):
    """A page of a site whose rules challenge every visitor."""
    challenge_all(site)
    return site.serve(PLAIN.format(script=site.script()))


def button(page, name=CONFIRM):
    """Wait for the check's button and return it."""
    found = page.get_by_role("button", name=name, exact=True)
    found.wait_for()
    return found


def tap_by_hand(page, shown):
    """Touch a button as a finger does: off its center, with some width, for a while."""
    box = shown.bounding_box()
    at = {"x": box["x"] + box["width"] * 0.4, "y": box["y"] + box["height"] * 0.6, "radiusX": 11, "radiusY": 9}
    session = page.context.new_cdp_session(page)
    session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [at]})
    page.wait_for_timeout(60)
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def sent_answers(page):
    """Collect the `answer` values that the page sends."""
    answers = []

    def note(request):
        if request.url.endswith("/verify") and "answer" in request.post_data_json:
            answers.append(request.post_data_json["answer"])

    page.on("request", note)
    return answers


def test_a_challenged_visitor_passes_with_the_mouse(page, site, address):
    page.goto(address)
    answers = sent_answers(page)
    begin(page, site)
    press_by_hand(page, button(page))
    page.wait_for_timeout(WAIT_MS)
    press_by_hand(page, button(page, CONTINUE))

    result = finished(page)
    check_token(site, result)
    assert [step["input"] for step in answers[0]["steps"]] == ["pointer", "pointer"]
    assert read_decision(site, result)["outcome"] == "challenge"


@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_a_challenged_visitor_passes_by_keyboard_alone(page, site, address, key):
    page.goto(address)
    answers = sent_answers(page)
    begin(page, site)
    button(page)
    # The focus is already there, or one press of Tab away: no pointer is used at all.
    for _ in range(4):
        if page.evaluate("document.activeElement?.shadowRoot?.activeElement?.className") == "press":
            break
        page.keyboard.press("Tab")
    page.keyboard.press(key, delay=60)
    page.wait_for_timeout(WAIT_MS)
    page.keyboard.press(key, delay=60)

    check_token(site, finished(page))
    assert [step["input"] for step in answers[0]["steps"]] == ["keyboard", "keyboard"]


def test_a_challenged_visitor_passes_by_touch(browser, site, address):
    context = browser.new_context(
        user_agent=plain_user_agent(browser), has_touch=True, viewport={"width": 360, "height": 640}
    )
    try:
        page = context.new_page()
        page.goto(address)
        answers = sent_answers(page)
        begin(page, site)
        tap_by_hand(page, button(page))
        page.wait_for_timeout(WAIT_MS)
        tap_by_hand(page, button(page, CONTINUE))

        check_token(site, finished(page))
        assert [step["input"] for step in answers[0]["steps"]] == ["touch", "touch"]
    finally:
        context.close()


def test_a_driver_that_clicks_at_once_is_not_a_response(page, site, address):
    page.goto(address)
    begin(page, site)
    button(page).click()
    page.wait_for_timeout(WAIT_MS)
    button(page, CONTINUE).click()

    assert finished(page)["code"] == "challenge_failed"


def test_the_button_is_where_the_service_drew_it(page, site, address):
    page.goto(address)
    answers = sent_answers(page)
    begin(page, site)
    before = button(page).bounding_box()
    press_by_hand(page, button(page))
    page.wait_for_timeout(WAIT_MS)
    after = button(page, CONTINUE).bounding_box()
    press_by_hand(page, button(page, CONTINUE))

    check_token(site, finished(page))
    assert abs(before["x"] - after["x"]) >= 0.32 * answers[0]["field"][0]
    assert answers[0]["steps"][1]["press"]["moves"] >= 12


def test_a_click_by_script_is_not_a_response(page, site, address):
    page.goto(address)
    begin(page, site)
    button(page).evaluate("(element) => element.click()")
    page.wait_for_timeout(WAIT_MS)
    button(page, CONTINUE).evaluate("(element) => element.click()")

    assert finished(page)["code"] == "challenge_failed"


def test_presses_while_it_waits_do_not_count(page, site, address):
    page.goto(address)
    answers = sent_answers(page)
    begin(page, site)
    press_by_hand(page, button(page))
    # The button has moved on by now.
    press_by_hand(page, button(page, "One moment…"))
    page.wait_for_timeout(WAIT_MS)
    press_by_hand(page, button(page, CONTINUE))

    check_token(site, finished(page))
    assert len(answers[0]["steps"]) == 2


def test_escape_gives_up_and_gives_the_focus_back(page, site, address):
    page.goto(address)
    page.locator("#own").focus()
    begin(page, site)
    button(page).focus()
    page.keyboard.press("Escape")

    assert finished(page)["code"] == "canceled"
    assert page.evaluate("document.activeElement.id") == "own"
    assert page.get_by_role("button", name=CONFIRM).count() == 0


def test_no_one_responding_is_a_timeout(page, site, address):
    page.goto(address)

    assert execute(page, site, checkTimeout=400)["code"] == "timeout"
    assert page.get_by_role("button", name=CONFIRM).count() == 0


def test_the_page_is_notified_before_and_after(page, site, address):
    page.goto(address)
    page.evaluate(
        """(options) => { window.told = [];
        agentgate.render(document.querySelector('main'), {...options,
          beforeInteractiveCallback: () => told.push('before'), afterInteractiveCallback: () => told.push('after'),
          callback: () => told.push('token')}); }""",
        {"sitekey": site.site_key, "action": site.action},
    )
    press_by_hand(page, button(page))
    page.wait_for_timeout(WAIT_MS)
    press_by_hand(page, button(page, CONTINUE))

    page.wait_for_timeout(50)
    for _ in range(100):
        if page.evaluate("told.length") == 3:
            break
        page.wait_for_timeout(20)
    assert page.evaluate("told") == ["before", "after", "token"]


def test_the_check_fits_a_page_that_is_zoomed_to_four_hundred_percent(page, site, address):
    # Of a window of 1280 by 1024 this is what is left of it.
    page.set_viewport_size({"width": 320, "height": 256})
    page.goto(address)
    begin(page, site)
    press_by_hand(page, button(page))
    page.wait_for_timeout(WAIT_MS)
    shown = button(page, CONTINUE)
    box = shown.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 320
    press_by_hand(page, shown)

    check_token(site, finished(page))
