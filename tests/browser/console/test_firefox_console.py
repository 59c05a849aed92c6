"""Four journeys of the consoles in the second engine: a real Firefox, driven over WebDriver BiDi by a Node script."""

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


def journeys(console: Console, invite: str) -> dict[str, list[list[str]]]:
    """Return the journeys as steps."""
    public, admin = console.url, console.admin_url
    signed_in = [
        ["goto", f"{public}/console/sign-in?next=/console/tokens"],
        ["fill", "#email", EMAIL],
        ["fill", "#password", PASSWORD],
        ["press", "Enter"],
    ]
    operator = [
        ["goto", f"{admin}/operator/sign-in"],
        ["fill", "#key", ADMIN_KEY],
        ["fill", "#operator", "fay"],
        ["press", "Enter"],
        ["see", "main h1", "Service"],
        ["see", ".tiles", "Workers alive"],
    ]
    return {
        "invite": [
            ["goto", f"{public}/console/invite#{invite}"],
            ["see", "[data-invite]", "fox@example.com"],
            ["fill", "#password", NEW],
            ["press", "Enter"],
            ["see", "main h1", "Sites"],
            ["see", "tbody", "Demo shop"],
        ],
        "token": [
            *signed_in,
            ["see", "main h1", "API tokens"],
            ["press", "n"],
            ["fill", "dialog[open] #name", "Firefox"],
            ["press", "Enter"],
            ["see", ".secret", "agt_"],
            ["keep", ".secret code"],
        ],
        "access": [
            *operator,
            ["press", "g"],
            ["press", "q"],
            ["see", "section", "fire@example.com"],
            ["press", "a"],
            ["see", ".secret", "/console/invite#"],
            ["see", "main", "Nobody waits."],
        ],
        "labelling": [
            *operator,
            ["goto", f"{admin}/operator/sites/{SITE}/labelling"],
            ["see", "aside .path", "Route"],
            ["keep", "aside header code"],
            ["press", "h"],
            ["see", ".toast", "Labelled human"],
        ],
    }


@pytest.mark.timeout(RUN_S + 60)
def test_four_journeys_in_firefox(console: Console, tmp_path: Path) -> None:
    firefox, node = firefox_path(), node_path()
    if not (SCRIPT.parents[3] / "node_modules" / "puppeteer-core").exists():
        absent("puppeteer-core: node_modules is not installed (npm ci)")
    console.service.public.post("/v1/account/request-access", json={"email": "fire@example.com", "name": "Fire"})
    given = {"executable": firefox, "journeys": journeys(console, console.invite("fox@example.com", role="member"))}
    found = _run(node, given, tmp_path)

    assert {name: each.get("error") for name, each in found.items()} == dict.fromkeys(given["journeys"])
    secret = found["token"]["kept"][0]
    answer = console.service.public.get("/v1/console/sites", headers={"Authorization": f"Bearer {secret}"})
    assert answer.status_code == 200
    labels = console.service.operator.get(f"/v1/admin/labels?siteKey={SITE}").json()["items"]
    assert [(each["decisionId"], each["label"]) for each in labels] == [(found["labelling"]["kept"][0], "human")]
    assert console.service.operator.get("/v1/admin/access-requests?status=pending").json()["items"] == []


def _run(node: str, given: dict[str, Any], home: Path) -> dict[str, Any]:
    # A home of its own: Firefox writes there, and refuses one that belongs to somebody else.
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
