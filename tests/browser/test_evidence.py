"""The evidence of a real browser, and the default rules' outcome for it."""

import pytest

from tests.browser.chromium import plain_user_agent
from tests.browser.steps import execute, read_decision

PLAIN = "<!doctype html><html lang=en><title>Plain</title>{script}"
# Labels that a person's browser gets in this test: it renders in software because it has no graphics card, connects
# from the loopback, and the page got no input.
EXPECTED = {
    "browser.evidence",
    "probes.right",
    "browser.software_renderer",
    "ua.browser",
    "net.private",
    "behavior.none",
}
# Additional labels because the browser is automated.
# Playwright evaluates its scripts with a user gesture, which the SDK sees if it loads afterwards.
DRIVEN = {"browser.debugger", "browser.injected", "browser.window_mismatch", "browser.unseen_activation"}


@pytest.fixture
def address(site):
    """A plain page with the SDK."""
    return site.serve(PLAIN.format(script=site.script()))


@pytest.fixture
def driven(chromium, browser):
    """A browser that reveals its automation and has no window."""
    started = chromium.launch(marked=True)
    try:
        yield started
    finally:
        started.close()


def test_a_driven_browser_is_blocked_by_the_default_rules(driven, site, address):
    page = driven.new_page()
    page.goto(address)
    result = execute(page, site)

    assert result["code"] == "challenge_failed"
    decision = read_decision(site, result)
    assert {"browser.webdriver", "browser.headless", "ua.headless"} <= set(decision["labels"])
    assert decision["outcome"] == "block"
    assert decision["matchedRule"] == "automation-headless-browser"


def test_a_driven_browser_with_an_honest_name_is_known_by_its_flag(driven, site, address):
    page = driven.new_context(user_agent=plain_user_agent(driven)).new_page()
    page.goto(address)
    result = execute(page, site)

    assert result["code"] == "challenge_failed"
    labels = set(read_decision(site, result)["labels"])
    assert "browser.webdriver" in labels
    assert not labels & {"browser.headless", "ua.headless"}


def test_in_monitor_mode_a_driven_browser_gets_a_token_and_is_recorded(driven, site, address):
    site.change(mode="monitor")
    page = driven.new_page()
    page.goto(address)
    result = execute(page, site)

    assert "token" in result, result
    decision = read_decision(site, result)
    assert decision["outcome"] == "allow"
    assert decision["wouldDecision"] == "block"


def test_a_headless_browser_is_blocked_by_its_name_alone(chromium, browser, site, address):
    context = browser.new_context()
    try:
        page = context.new_page()
        page.goto(address)
        assert page.evaluate("navigator.webdriver") is False
        assert execute(page, site)["code"] == "challenge_failed"
    finally:
        context.close()


def test_a_browser_as_people_have_it_passes_without_a_suspicious_label(page, site, address):
    page.goto(address)
    result = execute(page, site)

    assert "token" in result, result
    decision = read_decision(site, result)
    assert decision["outcome"] == "allow"
    assert "browser.evidence" in decision["labels"]
    assert set(decision["labels"]) <= EXPECTED | DRIVEN


def test_a_driver_that_hides_is_blocked_by_the_default_rules(doubted, page, site, address):
    page.goto(address)
    page.mouse.click(40, 40)
    result = execute(page, site)

    assert result["code"] == "challenge_failed"
    decision = read_decision(site, result)
    assert set(decision["labels"]) >= {"browser.debugger", "browser.injected", "evidence.contradictory"}
    assert decision["matchedRule"] == "evidence-contradictory"


def test_a_pointer_that_a_script_moves_is_seen(page, site, address):
    page.goto(address)
    # Pages also create clicks themselves, but a pointer that moves by script imitates a visitor's input.
    page.evaluate("for (let x = 0; x < 12; x++) document.dispatchEvent(new PointerEvent('pointermove', {clientX: x}))")
    result = execute(page, site)

    decision = read_decision(site, result)
    assert "behavior.untrusted_events" in decision["labels"]


def test_a_page_sends_statistics_of_behaviour_and_no_positions_or_keys(page, site, address):
    sent = []
    page.on("request", lambda request: sent.append(request) if request.url.endswith("/verify") else None)
    page.goto(address)
    page.mouse.move(10, 10)
    page.mouse.move(200, 120, steps=15)
    page.keyboard.type("secret")
    assert "token" in execute(page, site)

    body = sent[0].post_data_json
    assert set(body["interaction"]) <= {
        "pointerMoves",
        "touches",
        "keys",
        "scrolls",
        "clicks",
        "untrusted",
        "durationMs",
        "straightness",
        "variation",
        "pointer",
        "typed",
        "clock",
    }
    assert body["interaction"]["keys"] == 6
    parts = [body["interaction"].pop(name) for name in ("pointer", "typed", "clock")]
    for sums in (body["interaction"], *parts):
        assert all(isinstance(value, int | float) for value in sums.values())
    assert "secret" not in sent[0].post_data


def test_who_is_quicker_than_the_evidence_is_seen_anyway(page, site, address):
    page.route("**/evidence.js", lambda route: (page.wait_for_timeout(1500), route.continue_()))
    page.goto(address, wait_until="commit")
    page.wait_for_function("window.agentgate")
    with page.expect_request("**/v1/browser/verify") as sent:
        page.mouse.click(40, 60)
        page.keyboard.press("a")
        execute(page, site)

    interaction = sent.value.post_data_json["interaction"]
    assert (interaction["clicks"], interaction["keys"]) == (1, 1)
    assert interaction["pointer"]["presses"] == 1
