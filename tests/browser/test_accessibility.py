"""Every state of the widget: axe finds nothing, and each state has its words for a screen reader.

Each state is checked in half of the looks, two states in one half and two in the other; `make soak` checks all.
"""

import json
from datetime import datetime, timedelta

import pytest

from tests.browser.axe import load_axe, run_axe
from tests.browser.chromium import plain_user_agent
from tests.browser.steps import challenge_all, wait_for

PAGE = """<!doctype html><html lang="{lang}" dir="{dir}"><title>Sign up</title>
<style>body {{ background: {ground}; color: {ink}; font: 16px sans-serif }}</style>{script}
<body><main><h1>Sign up</h1><form><label>Mail <input name=mail></label><div id=widget></div></form></main>"""
RENDER = """(options) => { window.states = [];
  const element = document.querySelector('#widget');
  element.addEventListener('statechange', (event) => window.states.push(event.detail.state));
  window.widget = agentgate.render(element, options); }"""
STATE = "window.states.at(-1)"
LOOKS = {
    "light": {"theme": "light"},
    "dark": {"theme": "dark", "ground": "#111", "ink": "#eee"},
    "auto, dark": {"theme": "auto", "ground": "#111", "ink": "#eee", "color_scheme": "dark"},
    "right to left": {"theme": "light", "lang": "ar", "dir": "rtl"},
    "compact": {"theme": "light", "size": "compact"},
    "zoomed": {"theme": "light", "zoomed": True},
    "forced colors": {"theme": "light", "forced_colors": "active"},
    "reduced motion, narrow": {"theme": "dark", "reduced_motion": "reduce", "narrow": True},
}


def looks(first):
    """Return every other look, from this one on; the rest for `make soak`."""
    rest = [[], [pytest.mark.soak]]
    cases = [pytest.param(name, marks=rest[(place + first) % 2]) for place, name in enumerate(LOOKS)]
    return pytest.mark.parametrize("look", cases, indirect=True)


@pytest.fixture
def look(request):
    """One look of the widget."""
    defaults = {"lang": "en", "dir": "ltr", "ground": "#fff", "ink": "#222", "size": "normal"}
    return {**defaults, **LOOKS[request.param]}


@pytest.fixture
def widget_page(browser, site, look):
    """A page in that look, with axe in it."""
    media = {name: look[name] for name in ("color_scheme", "forced_colors", "reduced_motion") if name in look}
    size = {"width": 320, "height": 560} if look.get("narrow") else {"width": 1000, "height": 700}
    if look.get("zoomed"):
        # What zooming a window of 1000 by 700 to 200 % does.
        size, media["device_scale_factor"] = {"width": 500, "height": 350}, 2
    context = browser.new_context(user_agent=plain_user_agent(browser), viewport=size, **media)
    page = context.new_page()
    page.set_default_timeout(15_000)
    page.goto(site.serve(PAGE.format(script=site.script(), **look)))
    load_axe(page)
    page.evaluate("(options) => window.options = options", _options(site, look))
    try:
        yield page
    finally:
        context.close()


def _options(site, look):
    given = {"theme": look["theme"], "size": look["size"], "mode": "managed", "execution": "execute"}
    return {"sitekey": site.site_key, "action": site.action, "refreshExpired": "never", **given}


def render(page, **more):
    """Render the widget again."""
    page.evaluate("(more) => (" + RENDER + ")({...window.options, ...more})", more)


def until(page, state):
    """Wait for a state and for what is shown of it."""
    wait_for(page, lambda: page.evaluate(STATE) == state)
    page.wait_for_timeout(250)


def check(page, *, inside=True):
    """Let axe look; it must have seen the widget itself unless there is nothing to see."""
    found = run_axe(page)
    assert found["violations"] == []
    assert bool(found["inside"]) or not inside, "axe saw nothing of the widget"


def status(page):
    """Return the text for screen readers."""
    return page.get_by_role("status").first.text_content()


@looks(0)
def test_axe_finds_nothing_in_idle_checking_verified_and_expired(widget_page, site):
    page = widget_page
    held = []
    # Playwright takes no method of a list for a handler.
    page.route("**/v1/browser/challenge*", lambda route: held.append(route))  # noqa: PLW0108
    page.route("**/v1/browser/verify", _expire_soon)
    render(page)
    check(page, inside=False)
    page.evaluate("void agentgate.execute(window.widget)")
    until(page, "checking")
    check(page)
    assert status(page)
    wait_for(page, lambda: held)
    held[0].continue_()
    until(page, "verified")
    check(page)
    assert status(page)
    until(page, "expired")
    check(page)
    assert status(page)


def _expire_soon(route):
    """Let the token expire in two seconds, so that the test does not wait two minutes."""
    answer = route.fetch()
    said = answer.json()
    moment = said["expiresAt"]
    seconds = 2.5
    route.fulfill(response=answer, body=json.dumps({**said, "expiresAt": _earlier(moment, 120 - seconds)}))


def _earlier(moment, seconds):
    before = datetime.fromisoformat(moment) - timedelta(seconds=seconds)
    return before.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@looks(1)
def test_axe_finds_nothing_when_it_failed(widget_page, site):
    page = widget_page
    site.change(allowedOrigins=["https://elsewhere.example"])
    render(page)
    page.evaluate("void agentgate.execute(window.widget).catch(() => 0)")
    until(page, "failed")
    check(page)
    assert status(page)
    # The help is collapsed until the visitor opens it.
    page.locator("summary").click()
    check(page)


@looks(0)
def test_axe_finds_nothing_in_the_interactive_challenge(widget_page, site):
    page = widget_page
    challenge_all(site)
    render(page)
    page.evaluate("void agentgate.execute(window.widget).catch(() => 0)")
    until(page, "interactive")
    button = page.locator("button.press")
    button.wait_for()
    check(page)
    assert button.get_attribute("aria-label").strip()
    box = button.bounding_box()
    assert min(box["width"], box["height"]) >= 44
    button.press("Enter", delay=60)
    page.wait_for_timeout(150)
    check(page)
    page.wait_for_timeout(1000)
    check(page)
    button.press("Enter", delay=60)
    until(page, "verified")


@looks(1)
def test_axe_finds_nothing_in_the_check_in_front_of_the_page(widget_page, site):
    page = widget_page
    challenge_all(site)
    page.evaluate("void agentgate.execute(window.options).then((found) => window.result = found)")
    button = page.locator("button.press")
    button.wait_for()
    page.wait_for_timeout(200)
    check(page)
    button.press("Enter", delay=60)
    page.wait_for_timeout(1100)
    check(page)
    button.press("Enter", delay=60)
    assert wait_for(page, lambda: page.evaluate("window.result?.token"))
    check(page, inside=False)


def test_the_words_are_the_ones_of_the_pages_language(page, site):
    challenge_all(site)
    look = {"lang": "ar", "dir": "rtl", "ground": "#fff", "ink": "#222"}
    page.goto(site.serve(PAGE.format(script=site.script(), **look)))
    page.evaluate(RENDER, {"sitekey": site.site_key, "action": site.action, "mode": "managed"})
    button = page.locator("button.press")
    button.wait_for()
    page.wait_for_timeout(400)

    assert not button.get_attribute("aria-label").isascii()
    assert button.evaluate("(element) => getComputedStyle(element).direction") == "rtl"


def test_axe_itself_would_find_a_wrong_widget(page, site):
    page.goto(site.serve(PAGE.format(script="", lang="en", dir="ltr", ground="#fff", ink="#222")))
    load_axe(page)
    page.evaluate(
        "document.querySelector('#widget').attachShadow({mode: 'open'})"
        ".append(Object.assign(document.createElement('button'), {style: 'color: #fefefe; background: #fff'}))"
    )

    assert any(line.startswith("button-name") for line in run_axe(page)["violations"])
