"""Widgets in a page: the ways to declare one, its token in the form, its modes, its coming and going."""

import json
import time

import pytest

from tests.browser.steps import check_token, token_in_field, wait_for

PAGE = "<!doctype html><html lang=en><title>Widgets</title>{script}<body>{body}"
FORM = '<form method="post" action="/sent"><input name="mail" value="a@b.example">{inside}<button>Send</button></form>'
DIV = '<div class="agentgate" data-sitekey="{key}" data-action="{action}"{more}></div>'
ELEMENT = '<agentgate-check sitekey="{key}" action="{action}"{more}></agentgate-check>'


@pytest.fixture
def show(page, site):
    """Open a page with something in its body; return the page."""

    def open_page(body, query="", **words):
        filled = body.format(key=words.pop("key", site.site_key), action=site.action, more=words.pop("more", ""))
        page.goto(site.serve(PAGE.format(script=site.script(query), body=filled)))
        return page

    return open_page


def in_form(inside):
    """Put something into a form."""
    return FORM.replace("{inside}", inside)


def test_a_declared_widget_puts_its_token_into_the_form(show, site):
    page = show(in_form(DIV))
    token = token_in_field(page)
    page.click("text=Send")
    wait_for(page, lambda: site.pages.posted)

    assert f"agentgate-token={token}" in site.pages.posted[-1]
    check_token(site, {"token": token}, action=site.action)


def test_the_element_sends_its_token_under_its_name(show, site):
    page = show(in_form(ELEMENT), more=' name="proof"')
    token = wait_for(page, lambda: page.evaluate("document.querySelector('agentgate-check').value"))

    assert page.evaluate("new FormData(document.forms[0]).get('proof')") == token
    check_token(site, {"token": token})


def test_the_element_has_its_own_name(show):
    page = show(in_form(ELEMENT))
    wait_for(page, lambda: page.evaluate("document.querySelector('agentgate-check').value"))

    assert page.evaluate("new FormData(document.forms[0]).has('agentgate-token')")


def test_a_required_element_is_invalid_until_there_is_a_token_and_after_a_reset(show, page, site):
    page.route("**/v1/browser/verify", lambda route: (time.sleep(0.3), route.continue_()))
    show(in_form(ELEMENT), more=" required")
    page.wait_for_function("() => !!customElements.get('agentgate-check')")

    assert page.evaluate("document.forms[0].checkValidity()") is False
    wait_for(page, lambda: page.evaluate("document.querySelector('agentgate-check').value"))
    assert page.evaluate("document.forms[0].checkValidity()") is True
    page.evaluate("document.forms[0].reset()")
    assert page.evaluate("document.querySelector('agentgate-check').value") == ""
    assert page.evaluate("document.forms[0].checkValidity()") is False


def test_a_rendered_widget_has_an_id_and_calls_back(show, site):
    page = show("<main></main>", "?render=explicit")
    token = page.evaluate(
        """(options) => new Promise((callback, errorCallback) => {
          window.id = agentgate.render('main', {...options, callback, errorCallback}); })""",
        {"sitekey": site.site_key, "action": site.action},
    )

    assert page.evaluate("agentgate.getResponse(id)") == token
    assert page.evaluate("agentgate.isExpired(id)") is False
    page.evaluate("agentgate.remove(id)")
    assert page.evaluate("document.querySelector('main').childElementCount") == 0
    assert page.evaluate("agentgate.getResponse(id)") is None


def test_a_widget_hands_each_token_out_once(show, site):
    page = show(DIV)
    token_in_field(page)
    tokens = page.evaluate("(async () => [(await agentgate.execute()).token, (await agentgate.execute()).token])()")

    assert len(set(tokens)) == 2


def test_two_who_wait_for_one_widget_get_one_check(show, page):
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "/browser/challenge" in request.url else None)
    show(DIV, more=' data-execution="execute"')
    tokens = page.evaluate(
        "Promise.all([agentgate.execute(), agentgate.execute()]).then((all) => all.map((r) => r.token))"
    )

    assert len(set(tokens)) == 1
    assert len(asked) == 1


def test_a_form_that_is_sent_too_early_is_held_until_there_is_a_token(show, page, site):
    page.route("**/v1/browser/verify", lambda route: (time.sleep(0.4), route.continue_()))
    show(in_form(DIV))
    page.click("text=Send")
    wait_for(page, lambda: site.pages.posted)

    assert "agentgate-token=eyJ" in site.pages.posted[-1]
    assert len(site.pages.posted) == 1


BLANK = FORM.replace('value="a@b.example"', 'id="mail"').replace("{inside}", '<input name="text">{inside}')
FILL = "document.querySelectorAll('input:not([type=hidden])').forEach((field) => (field.value = 'a@b.example'))"


@pytest.fixture
def bodies(page):
    """Return what the page sends to be verified."""
    sent = []

    def note(request):
        if request.url.endswith("/browser/verify"):
            sent.append(json.loads(request.post_data))

    page.on("request", note)
    return sent


def test_a_form_with_fields_filled_in_after_its_token_is_verified_once_more(show, site, bodies):
    page = show(BLANK.replace("{inside}", DIV))
    early = token_in_field(page)
    page.fill("#mail", "a@b.example")
    page.click("text=Send")
    wait_for(page, lambda: site.pages.posted)

    assert [body["interaction"]["typed"]["filled"] for body in bodies] == [0, 1]
    assert early not in site.pages.posted[-1]
    assert "agentgate-token=eyJ" in site.pages.posted[-1]
    assert len(site.pages.posted) == 1


def test_the_second_verification_shows_a_script_that_fills_in_and_sends(show, site, bodies):
    page = show(BLANK.replace("{inside}", DIV))
    token_in_field(page)
    page.evaluate(FILL + ";document.forms[0].requestSubmit()")
    wait_for(page, lambda: len(bodies) == 2)

    typed = bodies[-1]["interaction"]["typed"]
    assert (typed["filled"], typed["wasActive"], bodies[-1]["interaction"]["clicks"]) == (2, False, 0)


def test_a_failed_second_verification_leaves_the_form_without_a_token(show, page, site):
    show(BLANK.replace("{inside}", DIV), more=' data-retry="never"')
    early = token_in_field(page)
    page.route("**/v1/browser/**", lambda route: route.abort())
    page.evaluate(FILL + ";document.forms[0].requestSubmit()")
    wait_for(page, lambda: site.pages.posted)

    assert early not in site.pages.posted[-1]


def test_a_form_goes_out_without_a_token_when_there_can_be_none(show, page, site):
    page.route("**/v1/browser/**", lambda route: route.abort())
    show(in_form(DIV))
    page.click("text=Send")
    wait_for(page, lambda: site.pages.posted)

    assert site.pages.posted == ["mail=a%40b.example&agentgate-token="]


def test_a_form_whose_fields_have_the_names_of_methods_is_sent(show, site):
    fields = "".join(
        f'<input name="{name}">' for name in ("submit", "requestSubmit", "addEventListener", "action", "id")
    )
    page = show(in_form(DIV + fields))
    page.click("text=Send")
    wait_for(page, lambda: site.pages.posted)

    assert "agentgate-token=eyJ" in site.pages.posted[-1]


def test_widgets_that_are_added_later_are_found_and_removed_ones_end(show, site):
    page = show("<main></main>")
    made = DIV.format(key=site.site_key, action=site.action, more="")
    page.evaluate("(html) => { document.querySelector('main').innerHTML = html }", made)
    token_in_field(page)
    page.evaluate("document.querySelector('main').textContent = ''")

    wait_for(page, lambda: page.evaluate("agentgate.getResponse() === undefined"))


def test_anyone_who_waits_for_a_widget_that_is_removed_is_reported(show, page, site):
    page.route("**/v1/browser/verify", lambda route: (time.sleep(0.5), route.continue_()))
    show(DIV, more=' data-execution="execute"')
    code = page.evaluate(
        """() => { const waiting = agentgate.execute().then(() => 'token', (error) => error.code);
        setTimeout(() => document.querySelector('.agentgate').remove(), 100); return waiting; }"""
    )

    assert code == "aborted"


def test_a_widget_may_be_rendered_before_it_is_in_the_page(show, site):
    page = show("<main></main>", "?render=explicit")
    page.evaluate(
        """(options) => { const div = document.createElement('div'); agentgate.render(div, options);
        document.body.append(document.createElement('p'));
        setTimeout(() => document.querySelector('main').append(div), 50); }""",
        {"sitekey": site.site_key, "action": site.action},
    )

    check_token(site, {"token": token_in_field(page)})


@pytest.mark.parametrize(("mode", "seen"), [("invisible", ""), ("managed", "Verified")])
def test_what_is_observed_of_a_passed_check_depends_on_the_mode(show, mode, seen):
    page = show(DIV, more=f' data-mode="{mode}"')
    token_in_field(page)

    read = "document.querySelector('.agentgate div')?.shadowRoot.querySelector('[role=status]').textContent ?? ''"
    if seen:
        wait_for(page, lambda: page.evaluate(read) == seen)
    assert page.evaluate(read) == seen


def test_an_interactive_widget_requires_the_interactive_challenge_and_is_passed_by_two_presses(show):
    page = show(DIV, key="site_test_interactive", more=' data-mode="interactive"')
    page.get_by_role("button", name="Confirm you are human").click()
    page.get_by_role("button", name="Continue").click()

    assert token_in_field(page).startswith("eyJ")


def test_a_failed_widget_shows_it_with_a_number_and_offers_another_try(show):
    page = show(DIV, key="site_test_always_fail", more=' data-mode="managed"')
    page.get_by_text("Check failed").wait_for()
    page.get_by_text("Having trouble?").click()
    page.get_by_role("button", name="Try again").click()
    page.get_by_text("Check failed").wait_for()

    assert token_is_empty(page)


def test_a_widget_that_the_person_closed_shows_it_without_warning_and_can_be_started_again(show):
    page = show(DIV, key="site_test_interactive", more=' data-mode="interactive"')
    page.get_by_role("button", name="Confirm you are human").press("Escape")
    page.get_by_text("Check canceled").wait_for()
    assert page.get_by_text("Check failed").count() == 0
    assert page.locator(".box svg").count() == 0

    page.get_by_role("button", name="Try again").click()
    page.get_by_role("button", name="Confirm you are human").click()
    page.get_by_role("button", name="Continue").click()

    assert token_in_field(page).startswith("eyJ")


def token_is_empty(page):
    """Return whether the form's field exists and is empty."""
    return page.evaluate("document.querySelector('[name=agentgate-token]').value") == ""


def test_words_and_direction_are_the_ones_of_the_page_language(show, page):
    show("<script>document.documentElement.lang = 'ar'</script>" + DIV, more=' data-mode="managed"')
    page.get_by_text("تم التحقق").wait_for()

    assert page.evaluate("document.querySelector('.agentgate div').shadowRoot.querySelector('.box').dir") == "rtl"


def with_lifetime(page, lifetime_s):
    """Let tokens seem to expire sooner than they do."""

    def shorten(route):
        answer = route.fetch()
        body = answer.json()
        moment = time.gmtime(time.time() + lifetime_s)
        body["expiresAt"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", moment)
        route.fulfill(response=answer, body=json.dumps(body))

    page.route("**/v1/browser/verify", shorten)


def test_a_token_is_renewed_in_silence_while_the_form_is_in_use(show, page):
    with_lifetime(page, 16.5)
    show(
        in_form(
            DIV
            + "<script>window.states = []; addEventListener('statechange', (e) => states.push(e.detail.state))</script>"
        )
    )
    first = token_in_field(page)
    page.focus("[name=mail]")
    second = wait_for(
        page,
        lambda: page.evaluate(f"(t => t !== '{first}' && t)(document.querySelector('[name=agentgate-token]').value)"),
    )

    assert second.startswith("eyJ")
    assert "expired" not in page.evaluate("states")


def test_a_token_that_expired_unused_is_taken_away_and_made_again_when_the_form_is_used(show, page):
    with_lifetime(page, 2)
    show(in_form(DIV), more=' data-expired-callback="told"')
    page.evaluate("() => { window.told = () => { window.expired = true } }")
    token_in_field(page)
    wait_for(page, lambda: page.evaluate("window.expired"))

    assert token_is_empty(page)
    assert page.evaluate("agentgate.isExpired()") is True
    page.focus("[name=mail]")
    assert token_in_field(page).startswith("eyJ")
