"""Our React and Vue components in Chromium: the token in the form, other options, unmounting, servers, and size."""

import gzip
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from playwright.sync_api import Page

from tests.browser.chromium import node_path
from tests.browser.compat.conftest import APPS, Bundle, bundled, first, open_application
from tests.browser.site import ProtectedSite

SRC = "sdk/v1/agentgate.js"
LARGEST_BYTES = 1536


@pytest.mark.parametrize("application", ["react.jsx", "vue.js"])
def test_the_form_carries_the_token_of_one_widget(page: Page, shop: ProtectedSite, bundle: Bundle, application: str):
    scripts = []
    page.on("request", lambda request: scripts.append(request.url) if SRC in request.url else None)
    open_application(page, shop, bundle(application))
    token = first(page, "success")

    with page.expect_navigation():
        page.click("button[type=submit]")

    assert parse_qs(shop.pages.posted[-1]) == {"agentgate-token": [token]}
    assert shop.redeem(token, "submit").json()["success"] is True
    assert len(scripts) == 1


def test_react_calls_the_latest_callback_and_makes_a_new_widget_for_another_option(
    page: Page, shop: ProtectedSite, bundle: Bundle
):
    open_application(page, shop, bundle("react.jsx"))
    first(page, "success")
    page.evaluate("window.heard = []; window.tick(7)")
    page.evaluate("window.widget.current.reset()")
    token = first(page, "success")

    assert page.evaluate("window.heard[0]") == ["success", token, 7]
    page.evaluate("window.heard = []; window.change({cData: 'order-17'})")
    assert shop.redeem(first(page, "success"), "submit").json()["cData"] == "order-17"
    assert page.locator("[name=agentgate-token]").count() == 1
    assert page.locator("div.gate").count() == 1


def test_react_gives_a_token_to_anyone_who_asks_before_the_script_exists(
    page: Page, shop: ProtectedSite, bundle: Bundle
):
    open_application(page, shop, bundle("react.jsx"))

    result = page.evaluate("window.widget.current.execute()")

    assert shop.redeem(result["token"], "submit").json()["success"] is True


def test_vues_model_is_empty_again_while_a_new_token_is_fetched(page: Page, shop: ProtectedSite, bundle: Bundle):
    open_application(page, shop, bundle("vue.js"))
    token = first(page, "success")
    assert page.evaluate("window.token.value") == token

    # In one call: a new token may be there before the next one.
    emptied = page.evaluate("() => { window.heard = []; window.widget.value.reset(); return window.token.value; }")
    renewed = first(page, "success")
    page.evaluate("window.heard = []; window.properties.cData = 'order-17'")
    changed = first(page, "success")

    assert emptied == ""
    assert renewed != token
    assert page.evaluate("window.token.value") == changed
    assert shop.redeem(changed, "submit").json()["cData"] == "order-17"


@pytest.mark.parametrize(
    ("application", "leave"),
    [("react.jsx", "window.change({gone: true})"), ("vue.js", "window.properties.gone = true")],
)
def test_nothing_is_left_of_a_component_that_was_taken_away(
    page: Page, shop: ProtectedSite, bundle: Bundle, application: str, leave: str
):
    open_application(page, shop, bundle(application))
    first(page, "success")

    page.evaluate(leave)
    page.wait_for_selector("form", state="detached")

    assert page.evaluate("window.agentgate.getResponse()") is None


@pytest.mark.parametrize("application", ["react.jsx", "vue.js"])
def test_a_script_that_cannot_be_loaded_is_an_error_like_any_other(
    page: Page, shop: ProtectedSite, bundle: Bundle, application: str
):
    page.route(f"**/{SRC}*", lambda route: route.abort())

    open_application(page, shop, bundle(application))

    assert first(page, "error") == "network"


def test_on_a_server_both_are_an_empty_element(tmp_path: Path):
    made = bundled(APPS / "server.jsx", tmp_path / "server.cjs", "--platform=node")

    shown = subprocess.run([node_path(), str(made)], capture_output=True, text=True, timeout=60, check=True)

    assert shown.stdout.splitlines() == ['<div class="gate"></div>', '<div class="gate"></div>']


@pytest.mark.parametrize("framework", ["react", "vue"])
def test_a_wrapper_is_small(tmp_path: Path, framework: str):
    source = APPS.parents[3] / "packages" / framework / "index.js"
    options: list[Any] = ["--format=esm", "--external:react", "--external:vue"]

    made = bundled(source, tmp_path / "wrapper.js", *options)

    assert len(gzip.compress(made.read_bytes(), 9)) <= LARGEST_BYTES
