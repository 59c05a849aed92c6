"""Pages written by hand for the three services, with nothing changed but the script's address."""

from typing import Any
from urllib.parse import parse_qs

import pytest
from playwright.sync_api import Page

from tests.browser.compat.conftest import TOLD, first, redeem
from tests.browser.site import ProtectedSite

TURNSTILE = "/compat/turnstile/v0/siteverify"
RECAPTCHA = "/compat/recaptcha/api/siteverify"
HCAPTCHA = "/compat/hcaptcha/siteverify"

SERVICES = {
    "turnstile": ("cf-turnstile", ["cf-turnstile-response"], TURNSTILE),
    "recaptcha": ("g-recaptcha", ["g-recaptcha-response"], RECAPTCHA),
    "hcaptcha": ("h-captcha", ["h-captcha-response", "g-recaptcha-response"], HCAPTCHA),
}

TEST_KEYS = {
    "turnstile": ("1x00000000000000000000AA", "1x0000000000000000000000000000000AA"),
    "recaptcha": ("6LeIxAcTAAAAAJcZVRqyHh71UMIEGNQ_MXjiZKhI", "6LeIxAcTAAAAAGG-vFI1TnRWxMZNFuojJ4WifJWe"),
    "hcaptcha": ("10000000-ffff-ffff-ffff-000000000001", "0x0000000000000000000000000000000000000000"),
}


@pytest.fixture
def visit(page: Page, shop: ProtectedSite) -> Any:
    """Return a function that opens a page with the given body and loads the script with the given query."""

    def open_it(query: str, body: str, script: str = "", **headers: str) -> None:
        own = f"{TOLD} window.sitekey = '{shop.site_key}'; {script}"
        shop.pages.serve("/own.js", own, Content_Type="text/javascript")
        shown = f"<!doctype html><html lang=en><title>Shop</title><body>{body.replace('SITEKEY', shop.site_key)}"
        loaded = f"{shop.script(query) if query else ''}<script src=/own.js></script>"
        page.goto(shop.serve(f"{shown}{loaded}</body>", path="/page", **headers))

    return open_it


@pytest.mark.parametrize("service", SERVICES)
def test_a_declared_widget_fills_its_field_and_calls_back_by_name(
    page: Page, shop: ProtectedSite, visit: Any, service: str
):
    class_name, fields, path = SERVICES[service]
    widget = f'<div class="{class_name}" data-sitekey=SITEKEY data-action=Sign-Up data-callback=passed></div>'
    visit(
        f"?compat={service}",
        f'<form method=post action="/received">{widget}<button>Send</button></form>',
        'window.passed = (token) => told("success", token);',
    )
    token = first(page, "success")

    with page.expect_navigation():
        page.click("button")

    answer = redeem(shop, path, token)
    assert parse_qs(shop.pages.posted[-1]) == {field: [token] for field in fields}
    assert answer["action"] == "sign_up"
    # A visible widget corresponds to version 2 of reCAPTCHA, whose responses contain neither field.
    assert not {"score", "cdata"} & set(answer)


def test_a_page_that_renders_by_itself_is_called_when_the_service_exists(page: Page, shop: ProtectedSite, visit: Any):
    script = """window.begin = () => {
        const given = {sitekey, callback: (token) => told("success", token)};
        told("names", [turnstile.render("#one", given), turnstile.render("#two", {...given, "response-field": false})]);
    };"""
    visit("?compat=turnstile&render=explicit&onload=begin", "<div id=one></div><div id=two></div>", script)

    names = first(page, "names")
    page.wait_for_function("window.heard.filter(([name]) => name === 'success').length === 2")
    tokens = page.evaluate("names => [turnstile.getResponse(), ...names.map(turnstile.getResponse)]", names)

    assert tokens[0] == tokens[1] != tokens[2]
    assert page.locator("[name=cf-turnstile-response]").count() == 1
    assert page.evaluate("turnstile.getResponse('#nowhere')") is None
    page.evaluate("turnstile.remove('#one')")
    assert page.evaluate("turnstile.getResponse()") == tokens[2]


def test_recaptcha_3_gives_a_token_for_each_action_that_is_challenged_for(page: Page, shop: ProtectedSite, visit: Any):
    script = """
        const passed = (token) => told("success", token);
        grecaptcha.ready(() => grecaptcha.execute(sitekey, {action: "sign_up"}).then(passed));
    """
    # The script of the page that follows uses the global at once.
    visit(f"?compat=recaptcha&render={shop.site_key}", "", script)

    answer = redeem(shop, RECAPTCHA, first(page, "success"))
    enterprise = page.evaluate("grecaptcha.enterprise.execute(sitekey)")

    assert (answer["action"], answer["score"]) == ("sign_up", 0.9)
    assert redeem(shop, RECAPTCHA, enterprise)["action"] == "submit"


def test_a_button_that_is_the_widget_runs_the_check_when_it_is_pressed(page: Page, shop: ProtectedSite, visit: Any):
    button = "<button class=g-recaptcha data-sitekey=SITEKEY data-callback=passed>Send</button>"
    script = 'window.passed = (token) => { told("success", token); document.forms[0].submit(); };'
    visit("?compat=recaptcha", f'<form method=post action="/received">{button}</form>', script)
    page.wait_for_selector("[name=g-recaptcha-response]", state="attached")
    assert page.evaluate("window.heard") == []

    with page.expect_navigation():
        page.click("button")

    [token] = parse_qs(shop.pages.posted[-1])["g-recaptcha-response"]
    assert redeem(shop, RECAPTCHA, token)["success"] is True


@pytest.mark.parametrize("service", TEST_KEYS)
def test_the_services_own_test_keys_give_test_tokens(page: Page, shop: ProtectedSite, visit: Any, service: str):
    sitekey, secret = TEST_KEYS[service]
    class_name, _, path = SERVICES[service]
    visit(
        f"?compat={service}",
        f'<div class="{class_name}" data-sitekey="{sitekey}" data-callback=passed></div>',
        'window.passed = (token) => told("success", token);',
    )
    token = first(page, "success")

    assert redeem(shop, path, token, secret=secret)["success"] is True
    assert redeem(shop, path, token)["success"] is False


def test_turnstiles_key_that_always_fails_does(page: Page, visit: Any):
    widget = "<div class=cf-turnstile data-sitekey=2x00000000000000000000AB data-error-callback=failed></div>"
    visit("?compat=turnstile", widget, 'window.failed = (code) => told("error", code);')

    assert first(page, "error") == "challenge_failed"


def test_a_strict_policy_of_the_page_permits_it(page: Page, shop: ProtectedSite, visit: Any):
    policy = (
        f"default-src 'none'; script-src {shop.gate} 'self'; connect-src {shop.gate}; worker-src blob:;"
        " style-src 'self'; require-trusted-types-for 'script'; trusted-types agentgate"
    )
    violations: list[str] = []
    page.on("console", lambda message: violations.append(message.text) if "Policy" in message.text else None)
    widget = "<div class=h-captcha data-sitekey=SITEKEY data-callback=passed></div>"
    script = 'window.passed = (token) => told("success", token);'

    visit("?compat=hcaptcha", widget, script, Content_Security_Policy=policy)

    assert redeem(shop, HCAPTCHA, first(page, "success"))["success"] is True
    assert violations == []
