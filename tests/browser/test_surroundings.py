"""Checks in difficult environments: no workers, an insecure context, behind the site's own origin, offline, hidden."""

import time
from urllib.parse import parse_qs

import pytest

from tests.browser.chromium import plain_user_agent
from tests.browser.steps import begin, check_token, execute, finished, token_in_field, wait_for

PLAIN = "<!doctype html><html lang=en><title>Plain</title>{script}<body>{body}"
WIDGET = '<div class="agentgate" data-sitekey="{key}" data-action="signup"></div>'
NO_WORKERS = {
    "absent": "delete window.Worker;",
    "undefined": "window.Worker = undefined;",
    "throwing": "window.Worker = class { constructor() { throw new DOMException('no', 'SecurityError'); } };",
    "failing": "window.Worker = class extends EventTarget { constructor() { super();"
    " setTimeout(() => this.onerror?.(new ErrorEvent('error', {cancelable: true})), 5); }"
    " postMessage() {} terminate() {} };",
    "silent": "window.Worker = class extends EventTarget { postMessage() {} terminate() {} };",
}
# Imitates a background tab: no animation frames, timers once a second, and `hidden` is set.
HIDDEN = """
Object.defineProperty(Document.prototype, 'visibilityState', {get: () => 'hidden'});
Object.defineProperty(Document.prototype, 'hidden', {get: () => true});
window.requestAnimationFrame = () => 0;
const kept = window.setTimeout;
window.setTimeout = (run, ms, ...given) => kept(run, Math.max(1000, ms || 0), ...given);
"""
COMES_BACK = """<script>
const check = () => agentgate.execute({{sitekey: '{key}', action: 'signup'}}).then((found) => found.token);
check().then((token) => window.first = token);
addEventListener('pageshow', (event) => {{
  if (window.first) check().then((token) => fetch('/result', {{method: 'POST', body: event.persisted + ' ' + token}}));
}});
</script>"""


@pytest.fixture
def plain_page(page, site):
    """A plain page with the SDK, open."""
    page.goto(site.serve(PLAIN.format(script=site.script(), body="")))
    return page


def test_a_plain_page_gets_a_token_that_is_good_once(plain_page, site):
    result = execute(plain_page, site)

    said = check_token(site, result, action="signup", kind="browser", origin=site.pages.url(""))
    assert said["decisionId"]
    assert site.redeem(result["token"]).status_code == 409


def test_the_check_leaves_no_cookie_and_nothing_in_storage(plain_page, site):
    assert "token" in execute(plain_page, site)

    assert plain_page.context.cookies() == []
    assert plain_page.evaluate("[localStorage.length, sessionStorage.length]") == [0, 0]


def test_only_an_action_with_clearance_leaves_its_one_cookie(plain_page, site):
    assert "token" in execute(plain_page, site, action="cleared")

    names = [cookie["name"] for cookie in plain_page.context.cookies()]
    assert len(names) == 1
    assert names[0].startswith("ag_clearance_")


@pytest.mark.parametrize("way", NO_WORKERS)
def test_without_workers_the_page_does_the_work_itself(page, site, way):
    page.add_init_script(NO_WORKERS[way])
    page.goto(site.serve(PLAIN.format(script=site.script(), body="")))

    check_token(site, execute(page, site))


def test_without_a_secure_context_there_is_a_token_anyway(page, site):
    site.serve(PLAIN.format(script=site.script(), body=""))
    page.goto(site.pages.url("/", "shop.test"))

    assert page.evaluate("[isSecureContext, typeof crypto.subtle]") == [False, "undefined"]
    check_token(site, execute(page, site), origin=site.pages.url("", "shop.test"))


def test_the_service_may_be_behind_the_sites_own_origin(page, site):
    script = f'<script src="{site.gate_beside_pages}/sdk/v1/agentgate.js?render=explicit"></script>'
    page.goto(site.serve(PLAIN.format(script=script, body="")))
    asked = []
    page.on("request", lambda request: asked.append(request.url))

    check_token(site, execute(page, site))
    assert asked
    assert all(url.startswith((site.pages.url("/gate/"), "blob:")) for url in asked), asked


def test_a_same_origin_page_without_blob_workers_uses_the_file(page, site):
    script = '<script src="/gate/sdk/v1/agentgate.js?render=explicit"></script>'
    policy = "default-src 'none'; script-src 'self'; connect-src 'self'; worker-src 'self'"
    page.goto(site.serve(PLAIN.format(script=script, body=""), Content_Security_Policy=policy))
    started = []
    page.on("worker", lambda worker: started.append(worker.url))

    check_token(site, execute(page, site))
    assert [url for url in started if url.startswith("http")], started


def test_a_foreign_origin_is_shown_so(page, site):
    site.change(allowedOrigins=[site.pages.url("", "localhost")])
    page.goto(site.serve(PLAIN.format(script=site.script(), body="")))

    assert execute(page, site)["code"] == "origin_denied"


@pytest.mark.parametrize(
    ("options", "code"),
    [({"sitekey": "site_nobody_has"}, "site_invalid"), ({"action": "unknown"}, "action_invalid")],
)
def test_a_wrong_set_up_is_named(plain_page, site, options, code):
    assert execute(plain_page, site, **options)["code"] == code


def test_offline_is_a_network_error_and_online_again_a_token(plain_page, site):
    plain_page.context.set_offline(True)
    began_s = time.monotonic()
    assert execute(plain_page, site)["code"] == "network"
    assert time.monotonic() - began_s < 10

    plain_page.context.set_offline(False)
    check_token(site, execute(plain_page, site))


@pytest.mark.parametrize("part", ["challenge", "verify", "{worker,plain}.js"])
def test_a_connection_lost_on_the_way_settles(plain_page, site, part):
    plain_page.route(f"**/{part}*", lambda route: route.abort("connectionreset"))

    assert execute(plain_page, site, retry="never")["code"] == "network"


def test_without_the_worker_s_file_the_page_does_the_work(plain_page, site):
    plain_page.route("**/worker.js*", lambda route: route.abort("connectionreset"))

    check_token(site, execute(plain_page, site, retry="never"))


def test_a_service_that_never_responds_is_a_timeout(plain_page, site):
    plain_page.route("**/v1/browser/challenge*", lambda _route: None)

    assert execute(plain_page, site, timeout=300)["code"] == "timeout"


def test_a_hidden_tab_gets_a_token(page, site):
    page.add_init_script(HIDDEN)
    page.goto(site.serve(PLAIN.format(script=site.script(), body="")))

    check_token(site, execute(page, site))


def test_a_hidden_tab_without_workers_gets_a_token(page, site):
    page.add_init_script(HIDDEN + NO_WORKERS["absent"])
    page.goto(site.serve(PLAIN.format(script=site.script(), body="")))

    check_token(site, execute(page, site))


def test_a_tab_that_was_frozen_meanwhile_settles_after_it_thaws(plain_page, site):
    session = plain_page.context.new_cdp_session(plain_page)
    begin(plain_page, site)
    session.send("Page.setWebLifecycleState", {"state": "frozen"})
    plain_page.wait_for_timeout(300)
    session.send("Page.setWebLifecycleState", {"state": "active"})

    check_token(site, finished(plain_page))


def test_a_form_is_sent_with_its_token(page, site):
    form = f'<form method=post action="/join"><input name=email value=a@b.example>{WIDGET}<button>Join</button></form>'
    page.goto(site.serve(PLAIN.format(script=site.script(""), body=form.format(key=site.site_key))))
    token_in_field(page)
    page.get_by_role("button", name="Join").click()

    page.wait_for_url("**/join")
    sent = parse_qs(site.pages.posted[-1])
    assert sent["email"] == ["a@b.example"]
    check_token(site, {"token": sent["agentgate-token"][0]})


def test_a_form_sent_too_early_waits_for_its_token(page, site):
    form = f'<form method=post action="/join">{WIDGET}<button name=how value=button>Join</button></form>'
    page.goto(site.serve(PLAIN.format(script=site.script(""), body=form.format(key=site.site_key))))
    page.get_by_role("button", name="Join").click()

    page.wait_for_url("**/join")
    sent = parse_qs(site.pages.posted[-1])
    assert sent["how"] == ["button"]
    check_token(site, {"token": sent["agentgate-token"][0]})


def test_the_element_takes_part_in_its_form(page, site):
    form = (
        f'<form method=post action="/join"><agentgate-check sitekey="{site.site_key}" action=signup required>'
        "</agentgate-check><button>Join</button></form>"
    )
    page.goto(site.serve(PLAIN.format(script=site.script(""), body=form)))
    value = "new FormData(document.forms[0]).get('agentgate-token')"
    token = wait_for(page, lambda: page.evaluate(value))

    assert page.evaluate("document.forms[0].checkValidity()")
    check_token(site, {"token": token})
    page.evaluate("document.forms[0].reset()")
    assert page.evaluate(value) != token


def test_a_page_that_comes_back_from_the_cache_gets_a_new_token(chromium, browser, site):
    # Playwright turns the back/forward cache off; people have it on. It loses sight of a page that comes back, so the
    # page itself reports.
    with_cache = chromium.launch(ignore_default_args=["--disable-back-forward-cache"])
    report = COMES_BACK.format(key=site.site_key)
    try:
        page = with_cache.new_context(user_agent=plain_user_agent(with_cache)).new_page()
        site.serve("<!doctype html><html lang=en><title>Next</title>", path="/next")
        page.goto(site.serve(PLAIN.format(script=site.script(), body=report)))
        first = wait_for(page, lambda: page.evaluate("window.first"))
        page.goto(site.pages.url("/next"))
        page.go_back(wait_until="commit")
        deadline_s = time.monotonic() + 10
        while not site.pages.posted and time.monotonic() < deadline_s:
            page.wait_for_timeout(20)
    finally:
        with_cache.close()
    came_back, _, second = site.pages.posted[0].partition(" ")
    assert came_back == "true", "the SDK keeps the page out of the back/forward cache"
    check_token(site, {"token": first})
    check_token(site, {"token": second})
    assert first != second
