"""Packages that know a script's address by the name of a host: the service has its script at the same path."""

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page

from tests.browser.compat.conftest import Bundle, first, open_application, redeem
from tests.browser.site import ProtectedSite

# The application, the vendor's own path that verifies, the script that it loads.
PACKAGES = [
    ("recaptcha-v3.js", "/recaptcha/api/siteverify", "/recaptcha/api.js"),
    ("vue-recaptcha-v3.js", "/recaptcha/api/siteverify", "/recaptcha/api.js"),
    ("hcaptcha-loader.js", "/siteverify", "/1/api.js"),
    ("hcaptcha-element.js", "/siteverify", "/1/api.js"),
]


def scripts_of(page: Page) -> list[str]:
    """Return the list that the paths of all loaded scripts go to."""
    loaded: list[str] = []
    page.on("response", lambda response: loaded.append(urlsplit(response.url).path) if response.ok else None)
    return loaded


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package[0])
def test_a_package_works_with_the_address_changed_alone(
    page: Page, shop: ProtectedSite, bundle: Bundle, package: tuple[str, str, str]
) -> None:
    application, verify, script = package
    loaded = scripts_of(page)
    open_application(page, shop, bundle(application))

    token = first(page, "success")

    assert [redeem(shop, verify, token)["success"] for _ in range(2)] == [True, False]
    assert script in loaded
    assert "/sdk/v1/agentgate.js" not in loaded
    assert page.evaluate("window.heard.filter(([name]) => name === 'strange')") == []


def test_a_second_question_mark_in_the_scripts_address_is_read_as_an_ampersand(
    page: Page, shop: ProtectedSite, bundle: Bundle
) -> None:
    open_application(page, shop, bundle("recaptcha-v3.js"), address="/sdk/v1/agentgate.js?compat=recaptcha")

    assert redeem(shop, "/recaptcha/api/siteverify", first(page, "success"))["success"] is True


def test_turnstiles_own_address_fills_the_form(page: Page, shop: ProtectedSite) -> None:
    page.goto(
        shop.serve(
            f"<!doctype html><html lang=en><title>Shop</title>"
            f'<script src="{shop.gate}/turnstile/v0/api.js" async defer></script>'
            f'<form><div class="cf-turnstile" data-sitekey="{shop.site_key}"></div></form>',
            path="/turnstile",
        )
    )
    page.wait_for_function("document.querySelector('[name=cf-turnstile-response]')?.value")

    token = page.evaluate("turnstile.getResponse()")

    assert redeem(shop, "/turnstile/v0/siteverify", token)["success"] is True


def test_an_unknown_service_is_shown_in_the_console(page: Page, shop: ProtectedSite) -> None:
    with page.expect_console_message(lambda message: "compat=friendly" in message.text) as said:
        page.goto(
            shop.serve(
                f"<!doctype html><html lang=en><title>Shop</title>"
                f'<script src="{shop.gate}/sdk/v1/agentgate.js?compat=friendly"></script>',
                path="/unknown",
            )
        )

    assert "turnstile, recaptcha or hcaptcha" in said.value.text
