"""Calls without a widget: `execute` and `fetch`, and how they end when something is in the way."""

import json
import time

import pytest

from tests.browser.steps import check_token, execute

PAGE = "<!doctype html><html lang=en><title>Calls</title>{script}<body><p>Page"
CALL = """(request) => agentgate.fetch(request.path, request.init).then(
  async (answer) => ({status: answer.status, body: await answer.text()}), (error) => ({code: error.code}))"""


@pytest.fixture
def opened(page, site):
    """A page with the SDK and no widget."""
    page.goto(site.serve(PAGE.format(script=site.script())))
    return page


def test_execute_gives_a_token_and_its_expiry(opened, site):
    result = execute(opened, site)

    check_token(site, result, action=site.action)
    assert result["expiresAt"].endswith("Z")


def test_custom_data_comes_back_at_siteverify_whatever_characters_it_has(opened, site):
    data = 'order "7"\n\t\\ \u0001 é 漢 😀'

    assert check_token(site, execute(opened, site, cData=data))["cData"] == data


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"sitekey": "site_nowhere"}, "site_invalid"),
        ({"sitekey": ""}, "site_invalid"),
        ({"action": "undefined_action"}, "action_invalid"),
        ({"sitekey": "site_test_always_fail"}, "challenge_failed"),
        ({"timeout": 1}, "timeout"),
    ],
)
def test_a_block_has_its_code(opened, site, options, code):
    assert execute(opened, site, **options)["code"] == code


def test_no_network_is_reported_as_such(opened, site):
    opened.context.set_offline(True)

    assert execute(opened, site)["code"] == "network"


def test_a_lost_request_is_made_again_once(opened, site):
    lost = []

    def lose_first(route):
        # The script, and the POST that would have said why it did not load.
        if len(lost) < 2:
            lost.append(route.request.url)
            route.abort()
        else:
            route.continue_()

    opened.route("**/v1/browser/challenge*", lose_first)

    assert "token" in execute(opened, site)
    lost.clear()
    assert execute(opened, site, retry="never")["code"] == "network"


def test_who_is_instructed_to_wait_is_not_asked_again_before_that(opened, site):
    asked = []

    def refuse(route):
        asked.append(route.request.method)
        body = json.dumps({"error": "rate_limited", "message": "Too many."})
        headers = {
            "Access-Control-Allow-Origin": "*",
            "Access-Control-Expose-Headers": "Retry-After",
            "Retry-After": "60",
        }
        route.fulfill(status=429, headers=headers, body=body)

    opened.route("**/v1/browser/challenge*", refuse)

    assert execute(opened, site)["code"] == "rate_limited"
    assert execute(opened, site)["code"] == "rate_limited"
    assert asked == ["GET", "POST"]


@pytest.mark.parametrize("answer", ["", "[]", "null", "{", '{"status": "passed"}', '{"status": "step_up"}', "<html>"])
def test_a_response_of_another_shape_ends_as_a_documented_error(opened, site, answer):
    headers = {"Access-Control-Allow-Origin": "*"}
    opened.route("**/v1/browser/verify", lambda route: route.fulfill(status=200, headers=headers, body=answer))

    assert execute(opened, site, retry="never")["code"] == "error"


def test_a_check_that_is_stopped_before_or_while_it_runs_is_aborted(opened, site):
    opened.route("**/v1/browser/verify", lambda route: (time.sleep(0.3), route.continue_()))
    codes = opened.evaluate(
        """async (options) => { const code = (promise) => promise.then(() => 'token', (error) => error.code);
        const early = new AbortController(); early.abort();
        const late = new AbortController(); setTimeout(() => late.abort(), 100);
        return [await code(agentgate.execute({...options, signal: early.signal})),
                await code(agentgate.execute({...options, signal: late.signal}))]; }""",
        {"sitekey": site.site_key, "action": site.action},
    )

    assert codes == ["aborted", "aborted"]


def test_without_workers_the_page_itself_solves_the_work(page, site):
    page.add_init_script("delete window.Worker")
    page.goto(site.serve(PAGE.format(script=site.script())))

    check_token(site, execute(page, site))


def test_a_worker_that_never_responds_is_given_up(page, site):
    page.add_init_script("window.Worker = class { postMessage() {} terminate() {} }")
    page.goto(site.serve(PAGE.format(script=site.script())))

    check_token(site, execute(page, site))


def protect(site, answers):
    """Let a path of the page's own server reject requests until it gets a token."""

    def handle(route):
        token = route.request.headers.get("x-agentgate-token")
        answers.append((token, route.request.post_data))
        if token:
            route.fulfill(status=200, body="done")
        else:
            route.fulfill(status=401, headers={"X-Service-Reason": "receipt_required"}, body="")

    return handle


def test_fetch_runs_the_check_and_repeats_the_request_once(opened, site):
    answers = []
    opened.route("**/orders", protect(site, answers))
    init = {"method": "POST", "body": "two apples", "sitekey": site.site_key, "action": site.action}

    assert opened.evaluate(CALL, {"path": "/orders", "init": init}) == {"status": 200, "body": "done"}
    assert [body for _, body in answers] == ["two apples", "two apples"]
    assert answers[0][0] is None
    check_token(site, {"token": answers[1][0]})


@pytest.mark.parametrize(("name", "again"), [("reason", True), ("error", True), ("other", False)])
def test_fetch_reads_the_reason_in_the_body_where_no_header_has_it(opened, site, name, again):
    asked = []

    def refuse(route):
        asked.append(route.request.headers.get("x-agentgate-token"))
        route.fulfill(status=401, body=json.dumps({name: "receipt_required"}))

    opened.route("**/orders", refuse)
    init = {"sitekey": site.site_key, "action": site.action}

    assert opened.evaluate(CALL, {"path": "/orders", "init": init})["status"] == 401
    assert len(asked) == (2 if again else 1)


def test_fetch_does_not_repeat_a_stream(opened, site):
    answers = []
    opened.route("**/orders", protect(site, answers))
    status = opened.evaluate(
        """(options) => { const body = new Blob(['x']).stream();
        return agentgate.fetch('/orders', {...options, method: 'POST', body, duplex: 'half'})
          .then((answer) => answer.status, (error) => error.name); }""",
        {"sitekey": site.site_key, "action": site.action},
    )

    # Chromium sends streams over HTTP/2 only; over HTTP/1.1 the request itself fails, and is not repeated either.
    assert status in (401, "TypeError")
    assert len(answers) <= 1


def test_the_clearance_is_the_only_cookie_and_only_where_the_action_has_one(opened, site):
    execute(opened, site)
    assert opened.context.cookies() == []
    execute(opened, site, action="cleared")

    cookie = opened.context.cookies()[0]
    assert cookie["name"].startswith("ag_clearance_")
    assert (cookie["path"], cookie["sameSite"], cookie["secure"]) == ("/", "Lax", False)
    assert len(opened.context.cookies()) == 1
