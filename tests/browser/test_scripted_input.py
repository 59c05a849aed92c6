"""Statistics of inserted text, claimed gestures and forms that scripts send, and of people's tools that do alike."""

import json

import pytest

from tests.browser.steps import token_in_field, wait_for

FORM = (
    "<!doctype html><html lang=en><title>Form</title>{script}<body>"
    '<form method="post" action="/sent"><input name="mail" id="mail"><textarea name="text" id="text"></textarea>'
    '<div class="agentgate" data-sitekey="{key}" data-action="{action}"></div>'
    '<button id="send">Send</button></form>{more}'
)
FILL = "for (const id of ['mail', 'text']) document.getElementById(id).value = 'a@b.example';"


@pytest.fixture
def bodies(page):
    """Return the input that the page sends with each verification."""
    sent = []

    def note(request):
        if request.url.endswith("/browser/verify"):
            sent.append(json.loads(request.post_data)["interaction"])

    page.on("request", note)
    return sent


@pytest.fixture
def show(page, site):
    """Open a page with a form; return it."""

    def open_page(more=""):
        form = FORM.format(script=site.script(""), key=site.site_key, action=site.action, more=more)
        page.goto(site.serve(form))
        return page

    return open_page


def posted(page, site):
    """Wait for the form, and return what was sent."""
    return wait_for(page, lambda: site.pages.posted)[-1]


def sums(page, bodies):
    """Send the form by the keyboard, and return the statistics of the second verification."""
    page.focus("#send")
    page.keyboard.press("Enter")
    wait_for(page, lambda: len(bodies) == 2)
    return bodies[-1]


@pytest.mark.parametrize(("size", "lone"), [(1, 24), (2, 12), (3, 8), (12, 0)])
def test_letters_and_short_pieces_without_keys_are_counted_and_words_are_not(show, bodies, size, lone):
    page = show()
    token_in_field(page)
    driver = page.context.new_cdp_session(page)
    page.click("#text")
    for at in range(0, 24, size):
        driver.send("Input.insertText", {"text": "abcdefghijklmnopqrstuvwx"[at : at + size]})
        # Only the first one has a press before it.
    assert sums(page, bodies)["typed"]["lone"] == max(0, lone - 1)


def test_a_keyboard_in_the_page_and_letters_that_are_drawn_are_not_counted(show, bodies):
    page = show("<button type=button id=key onmousedown='event.preventDefault()'>a</button>")
    token_in_field(page)
    page.click("#text")
    driver = page.context.new_cdp_session(page)
    for _ in range(14):
        page.click("#key")
        driver.send("Input.insertText", {"text": "a"})
    for letter in "汉字输入法测试文字手写输入板":
        driver.send("Input.insertText", {"text": letter})
    written = page.input_value("#text")
    typed = sums(page, bodies)["typed"]

    assert written.startswith("a" * 14 + "汉")
    assert (typed["inserts"], typed["lone"]) == (28, 0)


def test_an_input_method_that_composes_is_not_counted(show, bodies):
    page = show()
    token_in_field(page)
    page.click("#text")
    driver = page.context.new_cdp_session(page)
    for syllable in ("ni", "hao", "shi", "jie"):
        for end in range(1, len(syllable) + 1):
            driver.send("Input.imeSetComposition", {"text": syllable[:end], "selectionStart": end, "selectionEnd": end})
        driver.send("Input.insertText", {"text": syllable[0]})

    assert sums(page, bodies)["typed"]["lone"] == 0


def test_a_form_that_was_filled_in_before_its_token_is_verified_again_when_a_script_sends_it(show, bodies):
    page = show(f"<script>{FILL}</script>")
    token_in_field(page)
    page.mouse.move(90, 90)
    page.evaluate("document.forms[0].requestSubmit()")
    wait_for(page, lambda: len(bodies) == 2)

    assert [body["typed"]["filled"] for body in bodies] == [0, 2]
    assert bodies[-1]["pointer"]["downs"] == 0


def test_a_form_that_is_sent_before_the_evidence_is_loaded_counts_its_fields(show, page, bodies):
    page.route("**/evidence.js", lambda route: (page.wait_for_timeout(600), route.continue_()))
    show(f"<script>{FILL} setTimeout(() => document.forms[0].requestSubmit(), 100)</script>")
    wait_for(page, lambda: bodies)

    assert bodies[0]["typed"]["filled"] == 2


def test_a_script_that_sends_a_form_without_a_submit_sends_no_token(show, site):
    page = show()
    token_in_field(page)
    page.evaluate(FILL + "document.forms[0].submit()")

    assert posted(page, site) == "mail=a%40b.example&text=a%40b.example"


def test_a_site_that_sends_its_own_text_by_script_keeps_the_token(show, page, site):
    show("<script>document.getElementById('mail').defaultValue = 'a@b.example'</script>")
    token = token_in_field(page)
    page.evaluate("document.forms[0].submit()")

    assert token in posted(page, site)


def test_a_site_that_sends_its_form_by_script_after_a_press_keeps_the_token(show, site):
    page = show("<button id=own type=button onclick='document.forms[0].submit()'>Send</button>")
    token = token_in_field(page)
    page.click("#mail")
    page.keyboard.type("a@b.example")
    page.click("#own")

    assert token in posted(page, site)


def test_a_password_manager_that_sends_the_sign_in_by_script_keeps_the_token(show, site):
    page = show("<input type=password form=none>")
    token = token_in_field(page)
    page.evaluate(FILL + "document.forms[0].submit()")

    assert token in posted(page, site)


def test_a_frame_that_was_pressed_and_removed_is_a_cause_of_activation(show, bodies):
    page = show("<iframe id=consent srcdoc='<button>Agree</button>' width=200 height=80></iframe>")
    token_in_field(page)
    page.frame_locator("#consent").locator("button").click()
    page.evaluate("document.getElementById('consent').remove()")
    page.evaluate(FILL + "document.forms[0].requestSubmit()")
    wait_for(page, lambda: len(bodies) == 2)

    last = bodies[-1]
    assert (last["typed"]["active"], last["typed"]["frames"], last["pointer"]["downs"]) == (True, 1, 0)


def test_a_gesture_that_a_driver_claims_has_no_cause(show, bodies):
    page = show()
    token_in_field(page)
    page.mouse.move(50, 60)
    driver = page.context.new_cdp_session(page)
    script = FILL + "document.forms[0].requestSubmit()"
    driver.send("Runtime.evaluate", {"expression": script, "userGesture": True})
    wait_for(page, lambda: len(bodies) == 2)

    last = bodies[-1]
    assert (last["typed"]["active"], last["typed"]["wasActive"]) == (True, False)
    assert (last["typed"]["frames"], last["pointer"]["downs"], last["clicks"], last["keys"]) == (0, 0, 0, 0)
