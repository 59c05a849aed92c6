"""Pages that changed the language's own methods, named elements like properties, or hide everything: still a token.

The page itself hands its token over, by what it kept from before: the test's own tools would trip over such pages.
"""

import json
import time
from pathlib import Path

import pytest

from tests.browser.steps import check_token, wait_for

PAGES = Path(__file__).parent / "pages"
# Kept by the page before it is spoilt.
REPORT = """
var keptFetch = window.fetch, keptStringify = JSON.stringify;
function report(kind, value) { keptFetch('/result', {__proto__: null, method: 'POST', body: kind + ' ' + value}); }
function passed(token) { report('token', token); }
function failed(error) { report('failed', error.code + ' ' + error.message); }
window.onerror = function (message) { report('mistake', message); };
window.onunhandledrejection = function (event) { report('mistake', event.reason && event.reason.stack); };
"""
EXPLICIT = """
agentgate.execute({{__proto__: null, sitekey: '{key}', action: 'signup'}}).then(
  function (found) {{ passed(found.token); }}, failed);
"""
WIDGET = (
    '<div class="agentgate" data-sitekey="{key}" data-action="signup" data-mode="managed" '
    'data-callback="passed" data-error-callback="failed"></div>'
)


def reported(page, site):
    """Wait for what the page reports and return it."""
    deadline_s = time.monotonic() + 10
    while not site.pages.posted:
        assert time.monotonic() < deadline_s, "the page reported nothing"
        page.wait_for_timeout(20)
    kind, _, value = site.pages.posted[0].partition(" ")
    assert kind == "token", site.pages.posted
    return {"token": value}


def script(name):
    """Return a spoiling script of the folder as a tag."""
    return f"<script>{(PAGES / name).read_text()}</script>"


@pytest.mark.parametrize("name", ["prototype_library.js", "throwing_methods.js", "polluted_objects.js"])
def test_a_page_with_clobbered_prototypes_gets_a_token(page, site, name):
    ending = f"<script>{EXPLICIT.format(key=site.site_key)}</script>"
    start = f"<!doctype html><html lang=en><title>Clobbered</title><script>{REPORT}</script>"
    page.goto(site.serve(f"{start}{script(name)}{site.script()}{ending}"))

    check_token(site, reported(page, site))


@pytest.mark.parametrize("name", ["prototype_library.js", "throwing_methods.js", "polluted_objects.js"])
def test_a_widget_declared_on_a_page_with_clobbered_prototypes_gets_a_token(page, site, name):
    start = f"<!doctype html><html lang=en><title>Clobbered</title><script>{REPORT}</script>"
    body = f"<form method=post>{WIDGET.format(key=site.site_key)}</form>"
    page.goto(site.serve(f"{start}{script(name)}{site.script('')}<body>{body}"))

    check_token(site, reported(page, site))


def test_elements_named_like_properties_hide_nothing_from_the_check(page, site):
    clobbering = (PAGES / "clobbering.html").read_text().replace("WIDGET", WIDGET.format(key=site.site_key))
    start = f"<!doctype html><html lang=en><title>Clobbering</title><script>{REPORT}</script>"
    # After the elements: what the SDK reads while it loads is already hidden by then.
    page.goto(site.serve(f"{start}<body>{clobbering}{site.script('')}"))

    check_token(site, reported(page, site))
    assert page.evaluate("new FormData(document.forms.clobbered).get('agentgate-token')").count(".") == 2


def test_a_page_whose_style_sheet_hides_everything_gets_a_token(page, site):
    style = f"<style>{(PAGES / 'hostile.css').read_text()}</style>"
    start = f"<!doctype html><html lang=ar dir=rtl><title>Hidden</title>{style}<script>{REPORT}</script>"
    ending = f"<script>{EXPLICIT.format(key=site.site_key)}</script>"
    page.goto(site.serve(f"{start}{site.script()}<body>{ending}"))

    check_token(site, reported(page, site))


def test_a_page_that_wraps_listeners_timers_and_promises_gets_a_token(page, site):
    # As zone libraries, error trackers and test tools do.
    wrapping = """
    for (const [holder, name] of [[EventTarget.prototype, 'addEventListener'], [window, 'setTimeout'],
        [window, 'fetch'], [Promise.prototype, 'then'], [MessagePort.prototype, 'postMessage']]) {
      const inner = holder[name];
      holder[name] = function (...given) { return inner.apply(this, given); };
    }
    window.Promise = class Zoned extends Promise {};
    """
    start = f"<!doctype html><html lang=en><title>Wrapped</title><script>{REPORT}</script><script>{wrapping}</script>"
    ending = f"<script>{EXPLICIT.format(key=site.site_key)}</script>"
    page.goto(site.serve(f"{start}{site.script()}{ending}"))

    check_token(site, reported(page, site))


def test_a_page_in_a_frame_of_another_origin_gets_a_token(page, site):
    ending = f"<script>{REPORT}{EXPLICIT.format(key=site.site_key)}</script>"
    site.serve(f"<!doctype html><html lang=en><title>Framed</title>{site.script()}{ending}", path="/framed")
    framed = json.dumps(site.pages.url("/framed", "localhost"))
    page.goto(
        site.serve(f"<!doctype html><html lang=en><title>Outer</title><iframe title=inner src={framed}></iframe>")
    )

    check_token(site, reported(page, site), origin=site.pages.url("", "localhost"))


def test_waiting_fails_when_a_page_reports_nothing(page, site):
    page.goto(site.serve("<!doctype html><title>Silent</title>"))

    with pytest.raises(AssertionError, match="nothing came of it: Silent"):
        wait_for(page, lambda: site.pages.posted, timeout_s=0.1)
