"""Codes of a second factor, as an authenticator app shows them."""

import base64
import time

from agentgate.people.identity.totp import code_of, step_at
from tests.browser.console.hands import Hand


def one_time_code(secret: str) -> str:
    """Return the code of an authenticator app now."""
    text = secret.replace(" ", "")
    return code_of(base64.b32decode(text + "=" * (-len(text) % 8)), step_at(int(time.time() * 1000)))


def set_up_second_factor(hand: Hand) -> list[str]:
    """Turn the second factor on, and return the recovery codes."""
    page = hand.page
    hand.press(page.get_by_role("button", name="Set up"))
    page.locator("svg.qr path").wait_for()
    hand.fill(page.locator("#code"), one_time_code(page.locator(".secret code").inner_text()))
    hand.send(page.locator("#code"))
    codes = page.locator("pre.code").inner_text().split()
    hand.press(page.get_by_role("button", name="I saved the codes"))
    return codes
