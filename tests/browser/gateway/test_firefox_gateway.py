"""The challenge page in a real Firefox: a photo, a service worker, a fragment.

Firefox reveals that it is automated, so the site's rules allow automated browsers. The route still requires the check.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.browser.chromium import absent, firefox_path, node_path
from tests.browser.gateway.conftest import GatedSite

SCRIPT = Path(__file__).parents[1] / "scripts" / "firefox_gateway.mjs"
RUN_S = 150


@pytest.fixture(scope="module")
def found(shared_site: GatedSite, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    firefox, node = firefox_path(), node_path()
    if not (SCRIPT.parents[3] / "node_modules" / "puppeteer-core").exists():
        absent("puppeteer-core: node_modules is not installed (npm ci)")
    shared_site.adapter.reset("203.0.113.250")
    shared_site.rules()
    done = subprocess.run(
        [node, str(SCRIPT)],
        input=json.dumps({"executable": firefox, "origin": shared_site.adapter.origin}),
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
        # Use a separate home: Firefox writes there, and rejects a home that belongs to another user.
        env={**os.environ, "HOME": str(tmp_path_factory.mktemp("firefox"))},
    )
    assert done.returncode == 0, done.stderr
    visits: dict[str, Any] = json.loads(done.stdout)
    return visits


def test_a_form_with_a_photo_is_sent_again_by_hand(shared_site: GatedSite, found: dict[str, Any]) -> None:
    assert "Site POST /members" in found["photo"].get("text", ""), found["photo"]
    [(_, _, [(_, sent)])] = [each for each in shared_site.adapter.reached if each[0] == "POST"]
    assert "Evening by the lake" in sent
    assert len(sent) > 100_000


def test_a_navigation_under_a_service_worker_gets_on(shared_site: GatedSite, found: dict[str, Any]) -> None:
    assert found["worker"].get("url") == shared_site.url("/members#part"), found["worker"]


def test_the_subresource_is_kept(shared_site: GatedSite, found: dict[str, Any]) -> None:
    assert found["fragment"].get("url") == shared_site.url("/members?a=b#part"), found["fragment"]
