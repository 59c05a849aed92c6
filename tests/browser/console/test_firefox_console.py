"""Four journeys of the consoles in a real Firefox, by keyboard and in `make soak` by mouse, over WebDriver BiDi."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.browser.chromium import absent, firefox_path, node_path
from tests.browser.console.steps import EMAIL, PASSWORD, SITE, Console
from tests.support.service import ADMIN_KEY

SCRIPT = Path(__file__).parents[1] / "scripts" / "firefox_console.mjs"
NEW = "a few words are better"
RUN_S = 200


Steps = list[list[str]]


class PointerSteps:
    """Steps with a pointer."""

    name = "mouse"

    def press(self, selector: str, key: str = "") -> Steps:
        """Click what has a key too."""
        return [["click", selector]]

    def fill(self, selector: str, text: str) -> Steps:
        """Click into a field and type."""
        return [["fill", selector, text]]


class KeyboardSteps:
    """The same steps with the keyboard alone."""

    name = "keyboard"

    def press(self, selector: str, key: str = "") -> Steps:
        """Press its key, or reach it and press Enter."""
        return [["press", each] for each in key.split()] if key else [["reach", selector], ["press", "Enter"]]

    def fill(self, selector: str, text: str) -> Steps:
        """Reach a field and type."""
        return [["reach", selector], ["type", text]]


HANDS = (PointerSteps(), KeyboardSteps())


def journeys(console: Console, invite: str, hand: PointerSteps | KeyboardSteps) -> dict[str, Steps]:
    """Return the journeys as steps of one hand."""
    public, admin = console.url, console.admin_url
    submit = "form button:not([type=button])"
    operator = [
        ["goto", f"{admin}/operator/sign-in"],
        *hand.fill("#key", ADMIN_KEY),
        *hand.fill("#operator", "fay"),
        *hand.press(submit),
        ["see", "main h1", "Service"],
        ["see", ".tiles", "Active workers"],
    ]
    return {
        "invite": [
            ["goto", f"{public}/console/invite#{invite}"],
            ["see", "[data-invite]", f"fox-{hand.name}@example.com"],
            *hand.fill("#password", NEW),
            *hand.press(submit),
            ["see", "main h1", "Sites"],
            ["see", "tbody", "Demo shop"],
        ],
        "token": [
            ["goto", f"{public}/console/sign-in?next=/console/tokens"],
            *hand.fill("#email", EMAIL),
            *hand.fill("#password", PASSWORD),
            *hand.press(submit),
            ["see", "main h1", "API tokens"],
            *hand.press("main .head button.main", "n"),
            *hand.fill("dialog[open] #name", f"Firefox {hand.name}"),
            *hand.press("dialog[open] footer button.main"),
            ["see", ".secret", "agt_"],
            ["keep", ".secret code"],
        ],
        "access": [
            *operator,
            *hand.press("nav a[href$='/access-requests']", "g q"),
            ["see", "section", f"fire-{hand.name}@example.com"],
            *hand.press(".answers button.main", "a"),
            *hand.press("dialog[open] footer button.main"),
            ["see", ".secret", "/console/invite#"],
            ["see", "main", "No pending requests."],
        ],
        "labeling": [
            *operator,
            ["goto", f"{admin}/operator/sites/{SITE}/labeling"],
            ["see", "aside .path", "Route"],
            ["keep", "aside header code"],
            *hand.press("aside footer button", "h"),
            ["see", ".toast", "Labeled human"],
        ],
    }


@pytest.mark.timeout(RUN_S + 60)
@pytest.mark.parametrize("hand", HANDS, ids=lambda hand: hand.name)
def test_four_journeys_in_firefox(console: Console, tmp_path: Path, hand: PointerSteps | KeyboardSteps) -> None:
    firefox, node = firefox_path(), node_path()
    if not (SCRIPT.parents[3] / "node_modules" / "puppeteer-core").exists():
        absent("puppeteer-core: node_modules is not installed (npm ci)")
    asked = {"email": f"fire-{hand.name}@example.com", "name": "Fire"}
    console.service.public.post("/v1/account/request-access", json=asked)
    invite = console.invite(f"fox-{hand.name}@example.com", role="member")
    given = {"executable": firefox, "journeys": journeys(console, invite, hand)}
    found = _run(node, given, tmp_path)

    assert {name: each.get("error") for name, each in found.items()} == dict.fromkeys(given["journeys"])
    secret = found["token"]["kept"][0]
    answer = console.service.public.get("/v1/console/sites", headers={"Authorization": f"Bearer {secret}"})
    assert answer.status_code == 200
    labels = console.service.operator.get(f"/v1/admin/labels?siteKey={SITE}").json()["items"]
    assert (found["labeling"]["kept"][0], "human") in [(each["decisionId"], each["label"]) for each in labels]
    assert console.service.operator.get("/v1/admin/access-requests?status=pending").json()["items"] == []


def _run(node: str, given: dict[str, Any], home: Path) -> dict[str, Any]:
    # Use a separate home: Firefox writes there, and rejects a home that belongs to another user.
    done = subprocess.run(
        [node, str(SCRIPT)],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=RUN_S,
        env={**os.environ, "HOME": str(home)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found
