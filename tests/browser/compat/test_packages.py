"""The three services' own React packages, unchanged, with our script at the address of theirs."""

from typing import Any
from urllib.parse import parse_qs

import pytest
from playwright.sync_api import Page

from tests.browser.compat.conftest import Bundle, first, open_application, redeem, stand_in
from tests.browser.site import ProtectedSite

TURNSTILE = "/compat/turnstile/v0/siteverify"
RECAPTCHA = "/compat/recaptcha/api/siteverify"
HCAPTCHA = "/compat/hcaptcha/siteverify"

ADDRESSES = {
    "turnstile": "https://challenges.cloudflare.com/**",
    "recaptcha": "https://www.google.com/recaptcha/**",
    "hcaptcha": "https://js.hcaptcha.com/**",
}

ROUTES = {
    "turnstile": (TURNSTILE, "cf-turnstile-response"),
    "recaptcha": (RECAPTCHA, "g-recaptcha-response"),
    "hcaptcha": (HCAPTCHA, "h-captcha-response"),
}


@pytest.fixture
def open_package(page: Page, shop: ProtectedSite, bundle: Bundle) -> Any:
    """Return what opens a page with one of the packages."""

    def open_it(service: str, **settings: Any) -> list[str]:
        asked = stand_in(page, shop, service, ADDRESSES[service])
        open_application(page, shop, bundle(f"{service}.jsx"), **settings)
        return asked

    return open_it


@pytest.mark.parametrize("service", ADDRESSES)
def test_the_token_of_an_unchanged_package_is_redeemed_once(
    page: Page, shop: ProtectedSite, open_package: Any, service: str
):
    path, field = ROUTES[service]
    asked = open_package(service)
    token = first(page, "success")

    with page.expect_navigation():
        page.click("button[type=submit]")
    posted = parse_qs(shop.pages.posted[-1])
    answers = [redeem(shop, path, posted[field][0]) for _ in range(2)]

    assert len(asked) == 1
    assert posted[field] == [token]
    assert answers[0]["success"] is True
    assert answers[0]["hostname"] == "127.0.0.1"
    assert answers[0]["action"] == "submit"
    assert answers[1]["success"] is False


@pytest.mark.parametrize("service", ADDRESSES)
def test_a_package_takes_the_global_that_a_script_tag_made_and_asks_its_vendor_for_nothing(
    page: Page, shop: ProtectedSite, open_package: Any, service: str
):
    source = f"{shop.gate}/sdk/v1/agentgate.js?compat={service}&render=explicit"

    asked = open_package(service, head=f'<script id=cf-turnstile-script src="{source}"></script>')

    assert redeem(shop, ROUTES[service][0], first(page, "success"))["success"] is True
    assert asked == []


def test_turnstiles_cdata_comes_back_and_its_methods_work(page: Page, shop: ProtectedSite, open_package: Any):
    open_package("turnstile")
    token = first(page, "success")

    assert page.evaluate("window.widget.current.getResponse()") == token
    assert page.evaluate("window.widget.current.isExpired()") is False
    assert redeem(shop, TURNSTILE, token)["cdata"] == "order-17"

    page.evaluate("window.heard = []; window.widget.current.reset()")
    renewed = first(page, "success")
    assert renewed != token
    assert redeem(shop, TURNSTILE, renewed)["success"] is True

    page.evaluate("window.widget.current.remove()")
    assert page.locator("[name=cf-turnstile-response]").count() == 0


def test_turnstile_waits_for_execute_when_it_is_instructed_to(page: Page, open_package: Any):
    open_package("turnstile", options={"execution": "execute"})
    page.wait_for_selector("[name=cf-turnstile-response]", state="attached")
    page.wait_for_timeout(300)
    assert page.evaluate("window.heard") == []

    page.evaluate("window.widget.current.execute()")

    assert first(page, "success")


def test_recaptchas_invisible_widget_gives_a_token_to_anyone_who_awaits_it(
    page: Page, shop: ProtectedSite, open_package: Any
):
    open_package("recaptcha", size="invisible")

    token = page.evaluate("window.widget.current.executeAsync()")
    page.evaluate("window.widget.current.reset()")
    again = page.evaluate("window.widget.current.executeAsync()")

    assert redeem(shop, RECAPTCHA, token)["score"] == 0.9
    assert redeem(shop, RECAPTCHA, again)["success"] is True


def test_hcaptchas_promise_has_the_response_and_its_widget_can_be_unmounted(
    page: Page, shop: ProtectedSite, open_package: Any
):
    open_package("hcaptcha", size="invisible")
    first(page, "load")

    answer = page.evaluate("window.widget.current.execute({async: true})")

    assert redeem(shop, HCAPTCHA, answer["response"], sitekey=shop.site_key)["success"] is True
    page.evaluate("window.unmount()")
    assert page.locator("[name=h-captcha-response]").count() == 0


def test_an_error_is_shown_once_although_the_package_resets_its_widget_then(page: Page, open_package: Any):
    open_package("hcaptcha", sitekey="site_unknown_here")

    assert first(page, "error") == "challenge-error"
    page.wait_for_timeout(500)
    assert [name for name, *_ in page.evaluate("window.heard")].count("error") == 1
