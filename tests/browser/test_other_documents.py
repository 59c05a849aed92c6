"""Documents outside a browser, jsdom and happy-dom, with the real SDK and the real service: they get no token."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.browser.chromium import absent, node_path
from tests.browser.site import protected_site
from tests.browser.steps import decide_all, read_decision

SCRIPT = Path(__file__).parent / "scripts" / "documents.mjs"
ENGINES = ["jsdom", "jsdom with sizes", "happy-dom", "happy-dom with sizes"]
USER_AGENT = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"
RUN_S = 60


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Run the check in each of them; return the results by name, and the site, whose rules allow every visitor."""
    node = node_path()
    if not (SCRIPT.parents[3] / "node_modules" / "jsdom").exists():
        absent("jsdom: node_modules is not installed (npm ci)")
    with protected_site(tmp_path_factory.mktemp("documents")) as site:
        # The check then fails because of the program that they cannot solve, not because of a rule.
        decide_all(site, "allow")
        given = {
            "gate": site.gate,
            "origin": site.pages.url(""),
            "userAgent": USER_AGENT,
            "options": {"sitekey": site.site_key, "action": site.action},
        }
        yield {engine: _run(node, {**given, "engine": engine}) for engine in ENGINES}, site


def _run(node, given):
    done = subprocess.run(
        [node, str(SCRIPT)], input=json.dumps(given), capture_output=True, text=True, timeout=RUN_S, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_document_written_in_javascript_gets_no_token(results, engine):
    found, _ = results

    assert found[engine].get("code") == "challenge_failed", found[engine]


@pytest.mark.parametrize("engine", ENGINES)
def test_it_is_blocked_because_it_could_not_respond_the_program(results, engine):
    found, site = results

    assert "browser.instrument_failed" in read_decision(site, found[engine])["labels"]
