"""An element that a person is about to press keeps its position while the widget opens its check."""

import re

import pytest

from tests.browser.steps import challenge_all, press_by_hand, wait_for

PAGE = """<!doctype html><html lang=en><title>Form</title>{script}<style>body{{margin:0}}</style>
<form action=/ok style="{style}"><div class="agentgate" data-sitekey="{key}" data-action="signup" data-mode="{mode}"
 data-size="flexible"></div><button id=send>Send</button></form><p id=after>After</p>"""
CHALLENGE = re.compile("/v1/browser/challenge")
SHIFTS = """window.shifts = []; new PerformanceObserver((list) => list.getEntries().forEach((each) =>
shifts.push(...each.sources.map((source) => source.node?.id || source.node?.nodeName)))
).observe({type: 'layout-shift', buffered: true});"""


def top_of(page, selector="#send"):
    """Return where an element begins."""
    return page.evaluate("(selector) => document.querySelector(selector).getBoundingClientRect().top", selector)


def open_step_up(page, site, *, mode, style=""):
    """Open a form with the widget; where its button was when the widget had appeared, and where the check's one is."""
    challenge_all(site)
    page.add_init_script(SHIFTS)
    # The check is held until the widget has shown that it runs.
    held = []

    def hold(route):
        if held:
            route.continue_()
        else:
            held.append(route)

    page.route(CHALLENGE, hold)
    address = site.serve(PAGE.format(script=site.script(""), key=site.site_key, mode=mode, style=style))
    page.goto(address, wait_until="domcontentloaded")
    if mode == "managed":
        page.get_by_text("Checking…").wait_for()
    else:
        page.wait_for_function("window.agentgate")
    # The status itself has taken its place by now.
    page.wait_for_timeout(200)
    page.evaluate("shifts.length = 0")
    before = top_of(page)
    wait_for(page, lambda: held)
    held[0].continue_()
    button = page.get_by_role("button", name="Confirm you are human", exact=True)
    button.wait_for()
    page.wait_for_timeout(200)
    return before, button


@pytest.mark.parametrize("mode", ["managed", "invisible"])
def test_nothing_moves_when_the_check_opens(page, site, mode):
    before, button = open_step_up(page, site, mode=mode)

    assert top_of(page) == before
    assert page.evaluate("shifts.filter((each) => each === 'send' || each === 'after')") == []
    # It lies over the rest and can be pressed.
    box = button.bounding_box()
    assert box["height"] >= 44
    press_by_hand(page, button)
    page.wait_for_timeout(1100)
    press_by_hand(page, page.get_by_role("button", name="Continue", exact=True))
    page.wait_for_function("document.querySelector('[name=agentgate-token]').value")
    assert top_of(page) == before


def test_where_the_page_would_cut_it_off_it_takes_its_place(page, site):
    _, button = open_step_up(page, site, mode="managed", style="overflow:hidden")

    form = page.locator("form").bounding_box()
    box = button.bounding_box()
    assert box["y"] + box["height"] <= form["y"] + form["height"]
    button.click(trial=True)


def test_anyone_who_waits_for_it_sees_all_of_it(page, site):
    """The check opens below the window's edge: Firefox's focus alone would leave half of it there."""
    challenge_all(site)
    page.set_viewport_size({"width": 800, "height": 500})
    # The focus does not scroll here, as in Firefox where a part of the button is seen.
    page.add_init_script(
        "const { focus } = HTMLElement.prototype; HTMLElement.prototype.focus = function () {"
        " focus.call(this, { preventScroll: true }); };"
    )
    low = "padding-top:440px;padding-bottom:900px"
    form = PAGE.format(script=site.script(""), key=site.site_key, mode="managed", style=low)
    page.goto(site.serve(form.replace('data-size="flexible"', 'data-size="flexible" data-execution="execute"')))
    page.locator("#send").click()
    button = page.get_by_role("button", name="Confirm you are human", exact=True)
    button.wait_for()
    page.wait_for_timeout(200)

    box = button.bounding_box()
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= 500
    cancel = page.get_by_role("button", name="Cancel").bounding_box()
    assert cancel["y"] + cancel["height"] <= 500
