"""How many requests a check makes, with an empty cache and with a full one. A request more is a visitor's time."""

import json

import pytest

from tests.browser.steps import check_token, execute

PAGE = "<!doctype html><html lang=en><title>Requests</title><link rel=icon href='data:,'>{script}<body><p>Page"
COLD = ["GET agentgate.js", "GET challenge", "GET evidence.js", "GET probes.js", "GET worker.js", "POST verify"]
WARM = ["GET challenge", "POST verify"]


@pytest.fixture
def opening(context, site):
    """Open the page in a new tab and run a check; return the requests that went over the network, and the tab."""
    url = site.serve(PAGE.format(script=site.script()), Cache_Control="no-store")

    def open_tab():
        tab = context.new_page()
        session = context.new_cdp_session(tab)
        session.send("Network.enable")
        names, sizes = {}, {}
        session.on("Network.requestWillBeSent", lambda event: names.update({event["requestId"]: event["request"]}))
        session.on("Network.loadingFinished", lambda done: sizes.update({done["requestId"]: done["encodedDataLength"]}))
        tab.goto(url)
        check_token(site, execute(tab, site))
        tab.wait_for_timeout(50)
        # Responses from the browser's own cache have no transfer size.
        sent = [names[name] for name, size in sizes.items() if size and names[name]["url"] != url]
        return sorted(f"{one['method']} {one['url'].partition('?')[0].rpartition('/')[2]}" for one in sent), tab

    return open_tab


def test_a_check_with_an_empty_cache_makes_six_requests(opening):
    assert opening()[0] == COLD


def test_a_check_with_a_full_cache_makes_two_requests(opening):
    opening()

    assert opening()[0] == WARM


def test_a_second_check_of_a_page_asks_for_no_file_again(opening, site):
    _, tab = opening()
    asked = []
    tab.on("request", lambda request: asked.append(request.url.partition("?")[0].rpartition("/")[2]))

    check_token(site, execute(tab, site))
    assert [name for name in asked if not name.count("-")] == ["challenge", "verify"]


def test_page_and_worker_both_respond_for_the_program(opening, site):
    _, tab = opening()
    sent = []
    tab.on("request", lambda request: sent.append(request.post_data) if request.url.endswith("/verify") else None)

    check_token(site, execute(tab, site))
    answers = json.loads(sent[0])["instrument"]
    assert sorted(answers) == ["page", "worker"]
    assert answers["page"] != answers["worker"]


def test_two_checks_at_once_do_not_take_each_others_challenge(opening, site):
    _, tab = opening()
    both = "(options) => Promise.all([agentgate.execute(options), agentgate.execute(options)])"

    for result in tab.evaluate(both, {"sitekey": site.site_key, "action": site.action}):
        check_token(site, result)


def test_where_the_script_does_not_load_challenge_and_program_come_one_by_one(opening, site):
    _, tab = opening()
    asked = []
    tab.on("request", lambda request: asked.append(f"{request.method} {request.url.partition('?')[0]}"))
    lose = lambda route: route.abort() if route.request.method == "GET" else route.continue_()  # noqa: E731
    tab.route("**/v1/browser/challenge*", lose)

    check_token(site, execute(tab, site))
    calls = [line.replace(site.gate, "") for line in asked if "/v1/browser/" in line]
    assert calls == [
        "GET /v1/browser/challenge",
        "POST /v1/browser/challenge",
        "GET /v1/browser/instrument",
        "POST /v1/browser/verify",
    ]
