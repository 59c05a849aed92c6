"""A service that hangs or is busy: the page loads, and a form that was submitted is sent."""

import re
import threading

import pytest

FORM = (
    "<form method=post action=/sent><div class=agentgate data-sitekey={key} data-action=signup></div>"
    "<button>Send</button></form>"
)
LOADED = "window.loaded = new Promise((done) => addEventListener('load', () => done(true)))"
HELD = re.compile(r"/(v1/browser/challenge|sdk/v1/(evidence|probes|worker)[.]js)")


@pytest.fixture
def open_page(page, site):
    def open_form(query=""):
        html = "<!doctype html><html lang=en><title>Slow</title>"
        page.goto(
            site.serve(html + site.script(query) + "<body>" + FORM.format(key=site.site_key)), wait_until="commit"
        )
        return page

    return open_form


def test_a_hanging_service_does_not_hold_the_load_event(open_page, page):
    page.add_init_script(LOADED)
    held = []
    # No response, until the test ends.
    page.route(HELD, lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks its handlers

    open_page()

    page.wait_for_function("window.loaded", timeout=10_000)
    assert any("challenge" in route.request.url for route in held)
    for route in held:
        route.abort()


def test_a_loading_page_asks_for_one_challenge(open_page, page, site):
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "/browser/challenge" in request.url else None)

    open_page()

    page.wait_for_function("document.querySelector('[name=agentgate-token]')?.value")
    assert len(site.service.run(site.service.application.stores.databases["hot"].all("SELECT id FROM challenge"))) == 1
    assert len(set(asked)) == 1


def test_a_form_is_sent_after_the_wait_that_a_429_states(open_page, page):
    busy = threading.Event()
    busy.set()
    refusal = {
        "status": 429,
        "headers": {
            "Retry-After": "2",
            "Access-Control-Allow-Origin": "*",
            "Access-Control-Expose-Headers": "Retry-After",
        },
        "json": {"error": "rate_limited", "message": "Wait."},
    }
    page.route(
        re.compile("/v1/browser/challenge"),
        lambda route: route.fulfill(**refusal) if busy.is_set() else route.continue_(),
    )
    open_page("")
    page.wait_for_load_state()
    with page.expect_request("**/sent", timeout=20_000) as sent:
        page.get_by_role("button", name="Send").click()
        page.wait_for_timeout(500)
        busy.clear()

    assert "agentgate-token=" in (sent.value.post_data or "")
    assert not (sent.value.post_data or "").endswith("agentgate-token=")


@pytest.mark.parametrize("part", ["v1/browser/challenge", "v1/browser/verify", "worker[.]js", "evidence[.]js"])
def test_a_form_is_sent_after_the_timeout_of_a_hanging_request(page, site, part):
    held = []
    page.route(re.compile(part), lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks its handlers
    form = FORM.format(key=site.site_key).replace("class=agentgate", "class=agentgate data-timeout=2000")
    page.goto(site.serve(f"<!doctype html><html lang=en><title>Slow</title>{site.script('')}<body>{form}"))

    with page.expect_request("**/sent", timeout=20_000):
        page.get_by_role("button", name="Send").click()

    assert held
    for route in held:
        route.abort()


def test_a_form_is_sent_if_the_service_stays_busy(open_page, page):
    refusal = {
        "status": 429,
        "headers": {
            "Retry-After": "1",
            "Access-Control-Allow-Origin": "*",
            "Access-Control-Expose-Headers": "Retry-After",
        },
        "json": {"error": "rate_limited", "message": "Wait."},
    }
    page.route(re.compile("/v1/browser/challenge"), lambda route: route.fulfill(**refusal))
    open_page("")
    page.wait_for_load_state()

    with page.expect_request("**/sent", timeout=20_000):
        page.get_by_role("button", name="Send").click()
