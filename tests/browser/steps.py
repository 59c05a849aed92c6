"""Steps that browser tests share: run the check, wait for something, look at what the service recorded."""

import time
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Locator, Page

from tests.browser.site import ProtectedSite

WAIT_S = 15.0
LOOK_MS = 20

EXECUTE = """(options) => agentgate.execute(options).then(
  (found) => ({token: found.token, expiresAt: found.expiresAt, decisionId: found.decisionId}),
  (error) => ({code: error.code, message: error.message, decisionId: error.decisionId}))"""

# Runs before any script of the page, also where its policy allows no inline script.
COLLECT_VIOLATIONS = """
window.violations = [];
document.addEventListener('securitypolicyviolation', (event) => {
  // Which icon there is, the browser asks by itself.
  if (!event.blockedURI.endsWith('/favicon.ico')) {
    window.violations.push(event.violatedDirective + ' ' + event.blockedURI);
  }
});
"""


def execute(page: Page, site: ProtectedSite, **options: Any) -> dict[str, Any]:
    """Run the check without a widget; return `{token, expiresAt}`, or `{code, message}` of its error."""
    return page.evaluate(EXECUTE, {"sitekey": site.site_key, "action": site.action, **options})


def begin(page: Page, site: ProtectedSite, **options: Any) -> None:
    """Begin the check without waiting for it; `finished` gives its result."""
    script = (
        f"(options) => {{ window.result = undefined; ({EXECUTE})(options).then((found) => window.result = found) }}"
    )
    page.evaluate(script, {"sitekey": site.site_key, "action": site.action, **options})


def finished(page: Page) -> dict[str, Any]:
    """Wait for the result of a check that was begun."""
    return wait_for(page, lambda: page.evaluate("window.result"))


def wait_for(page: Page, look: Callable[[], Any], timeout_s: float = WAIT_S) -> Any:
    """Look until there is something, and return it. Unlike Playwright's own, this works under any policy."""
    deadline_s = time.monotonic() + timeout_s
    while not (found := look()):
        assert time.monotonic() < deadline_s, f"nothing came of it: {page.evaluate('document.title')}"
        page.wait_for_timeout(LOOK_MS)
    return found


def press_by_hand(page: Page, button: Locator) -> None:
    """Move the pointer to a button along a curve, press it off its center and hold it as a finger does."""
    box = button.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] * 0.4, box["y"] + box["height"] * 0.6
    for step in range(1, 13):
        rest = (1 - step / 12) ** 2
        # A mouse is on whole pixels; a driver's fractions are found.
        page.mouse.move(round(x + 90 * rest), round(y + 60 * rest + 9 * rest * (step % 3)))
        page.wait_for_timeout(8)
    page.mouse.down()
    page.wait_for_timeout(60)
    page.mouse.up()


def token_in_field(page: Page, name: str = "agentgate-token") -> str:
    """Wait for the token in a form's hidden field."""
    return wait_for(page, lambda: page.evaluate(f"document.querySelector('[name={name}]')?.value"))


def check_token(site: ProtectedSite, result: dict[str, Any], **expected: str) -> dict[str, Any]:
    """Validate the token of a result as the site's server does; return what siteverify said."""
    assert "token" in result, result
    answer = site.redeem(result["token"])
    assert answer.status_code == 200, answer.text
    said: dict[str, Any] = answer.json()
    assert {name: said[name] for name in expected} == expected
    return said


def challenge_all(site: ProtectedSite) -> None:
    """Let the site's rules require the interactive challenge of every visitor."""
    decide_all(site, "challenge")


def decide_all(site: ProtectedSite, action: str) -> None:
    """Let one action be all that the site's rules know."""
    site.save_rules({"version": action, "rules": [], "default_action": action})


def read_decision(site: ProtectedSite, result: dict[str, Any]) -> dict[str, Any]:
    """Return the decision that a result names, once the recorder has written it."""
    deadline_s = time.monotonic() + WAIT_S
    path = f"/v1/admin/decisions/{result['decisionId']}"
    while True:
        reply = site.service.operator.get(path, params={"siteKey": site.site_key})
        if reply.status_code == 200:
            found: dict[str, Any] = reply.json()["decision"]
            return found
        assert time.monotonic() < deadline_s, reply.text
        time.sleep(0.05)
