"""Passkeys in Chromium, with a virtual authenticator: added on the security page, used to sign in, turned off."""

from typing import Any

from playwright.sync_api import Page

from tests.browser.console.hands import Hand
from tests.browser.console.steps import PASSWORD, Console, open_page


def add_authenticator(page: Page, *, verified: bool = True) -> Any:
    """Give the tab an authenticator that verifies its user, or does not; return the DevTools session."""
    devtools = page.context.new_cdp_session(page)
    devtools.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasUserVerification": True,
        "isUserVerified": verified,
        "automaticPresenceSimulation": True,
    }
    made = devtools.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    return devtools, made["authenticatorId"]


def begin(hand: Hand, url: str, email: str) -> None:
    """Send email and password on the sign-in page."""
    hand.page.goto(f"{url}/console/sign-in")
    hand.fill(hand.page.locator("#email"), email)
    hand.fill(hand.page.locator("#password"), PASSWORD)
    hand.send(hand.page.locator("#password"))


def test_a_passkey_is_added_signs_in_and_turns_two_factor_authentication_off(hand: Hand, console: Console) -> None:
    page, email = hand.page, f"passkey-{hand.name}@example.com"
    # An IP address cannot have passkeys.
    url = console.url.replace("127.0.0.1", "localhost")
    console.join(console.invite(email, role="member"), PASSWORD)
    devtools, authenticator = add_authenticator(page)
    begin(hand, url, email)
    page.get_by_role("heading", name="Sites", exact=True).wait_for()
    open_page(page, f"{url}/console/security", "Security")

    hand.press(page.get_by_role("button", name="Add a passkey"))
    hand.fill(page.locator("#passkey-name"), "This laptop")
    hand.fill(page.locator("#passkey-password"), PASSWORD)
    hand.send(page.locator("#passkey-password"))
    codes = page.locator("pre.code")
    codes.wait_for()
    assert len(codes.inner_text().split()) == 10
    hand.press(page.get_by_role("button", name="I saved the codes"))
    page.get_by_role("cell", name="This laptop").wait_for()
    assert len(devtools.send("WebAuthn.getCredentials", {"authenticatorId": authenticator})["credentials"]) == 1

    page.context.clear_cookies()
    begin(hand, url, email)
    hand.press(page.get_by_role("button", name="Use a passkey"))
    page.get_by_role("heading", name="Sites", exact=True).wait_for()

    open_page(page, f"{url}/console/security", "Security")
    hand.press(page.locator("summary", has_text="Turn off"))
    hand.fill(page.locator("#off-password"), PASSWORD)
    hand.send(page.locator("#off-password"))
    page.get_by_text("You have no passkeys.").wait_for()
    page.get_by_text("Not set up", exact=True).wait_for()


def test_an_authenticator_that_does_not_verify_its_person_does_not_sign_in(page: Page, console: Console) -> None:
    email = "unverified@example.com"
    url = console.url.replace("127.0.0.1", "localhost")
    console.join(console.invite(email, role="member"), PASSWORD)
    devtools, authenticator = add_authenticator(page)
    page.goto(f"{url}/console/sign-in")
    page.locator("#email").fill(email)
    page.locator("#password").fill(PASSWORD)
    page.locator("#password").press("Enter")
    page.get_by_role("heading", name="Sites", exact=True).wait_for()
    open_page(page, f"{url}/console/security", "Security")
    page.get_by_role("button", name="Add a passkey").click()
    page.locator("#passkey-name").fill("Key")
    page.locator("#passkey-password").fill(PASSWORD)
    page.locator("#passkey-password").press("Enter")
    page.locator("pre.code").wait_for()

    devtools.send("WebAuthn.setUserVerified", {"authenticatorId": authenticator, "isUserVerified": False})
    page.context.clear_cookies()
    page.goto(f"{url}/console/sign-in")
    page.locator("#email").fill(email)
    page.locator("#password").fill(PASSWORD)
    page.locator("#password").press("Enter")
    page.get_by_role("button", name="Use a passkey").click()

    page.get_by_text("The passkey did not sign.").wait_for()
    assert page.url.startswith(f"{url}/console/code")


def test_a_page_at_an_address_states_why_it_offers_no_passkeys(signed_in: Page, console: Console) -> None:
    open_page(signed_in, f"{console.url}/console/security", "Security")

    signed_in.get_by_text("Passkeys need HTTPS and a host name.").wait_for()
    assert signed_in.get_by_role("button", name="Add a passkey").count() == 0
