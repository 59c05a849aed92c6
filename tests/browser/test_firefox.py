"""The second engine: the check in a real Firefox, driven over WebDriver BiDi by a Node script.

Firefox always reveals that it is automated, so the site's own rules allow automated browsers.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.browser.chromium import absent, firefox_path, node_path
from tests.browser.site import ACTION, protected_site
from tests.browser.steps import check_token, decide_all, read_decision

SCRIPT = Path(__file__).parent / "scripts" / "firefox.mjs"
PLAIN = "<!doctype html><html lang=en><title>Plain</title>{script}<body><main>A page.</main>"
STRICT = (
    "default-src 'none'; script-src {gate}; connect-src {gate}; worker-src blob:; "
    "require-trusted-types-for 'script'; trusted-types agentgate; style-src 'self'"
)
EXPECTED = {
    "browser.injected",
    "browser.evidence",
    "probes.right",
    "browser.webdriver",
    "ua.browser",
    "net.private",
    "behavior.none",
    "browser.unseen_activation",
    "assistant.challenge",
}
RUN_S = 100


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    """Open all pages in one Firefox; the results by name, and the site."""
    firefox, node = firefox_path(), node_path()
    if not (SCRIPT.parents[3] / "node_modules" / "puppeteer-core").exists():
        absent("puppeteer-core: node_modules is not installed (npm ci)")
    folder = tmp_path_factory.mktemp("firefox")
    with protected_site(folder) as site:
        decide_all(site, "allow")
        page = PLAIN.format(script=site.script())
        options = {"sitekey": site.site_key, "action": ACTION}
        plain = site.serve(page)
        strict = site.pages.serve("/strict", page, Content_Security_Policy=STRICT.format(gate=site.gate))
        workerless = STRICT.replace("worker-src blob:", "worker-src 'none'") + "; report-uri /csp"
        no_workers = site.pages.serve("/no-workers", page, Content_Security_Policy=workerless.format(gate=site.gate))
        shown = {**options, "mode": "interactive"}
        # This is a name like any other to the site, and another origin than the address.
        elsewhere = site.pages.url("/", "localhost")
        given = {
            "executable": firefox,
            "visits": [
                {"name": "plain", "url": plain, "options": options},
                {"name": "strict", "url": strict, "options": options},
                {"name": "other origin", "url": elsewhere, "options": options},
                {"name": "step-up", "url": plain, "options": shown, "press": ["Enter", "Enter"]},
                {"name": "no workers", "url": no_workers, "options": shown, "press": ["Enter", "Enter"]},
                {"name": "given up", "url": plain, "options": shown, "press": ["Escape"]},
            ],
        }
        yield _run(node, given, folder), site


def _run(node, given, home):
    # Use a separate home: Firefox writes there, and rejects a home that belongs to another user.
    environment = {**os.environ, "HOME": str(home)}
    done = subprocess.run(
        [node, str(SCRIPT)],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=RUN_S,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_plain_page_gets_a_token_with_workers(visits):
    found, site = visits

    # One for the work, one for the program.
    assert found["plain"]["workers"] == 2, found["plain"]
    check_token(site, found["plain"])


def test_a_strict_page_gets_a_token_without_a_violation(visits):
    found, site = visits

    check_token(site, found["strict"])
    assert found["strict"]["violations"] == []
    assert found["strict"]["workers"] == 2


def test_a_page_of_another_allowed_origin_gets_a_token(visits):
    found, site = visits

    check_token(site, found["other origin"], origin=site.pages.url("", "localhost"))


def test_the_interactive_challenge_is_passed_by_keyboard(visits):
    found, site = visits

    check_token(site, found["step-up"])


def test_without_workers_memory_hard_work_causes_no_report_of_the_script_policy(visits):
    found, site = visits
    sent = [json.loads(body)["csp-report"] for body in site.pages.posted if body.startswith('{"csp-report"')]

    check_token(site, found["no workers"])
    assert set(found["no workers"]["violations"]) == {"worker-src"}
    # Firefox requests the icon by itself.
    asked = {report["effective-directive"] for report in sent if not report["blocked-uri"].endswith("/favicon.ico")}
    assert asked == {"worker-src"}


def test_escape_gives_it_up(visits):
    found, _ = visits

    assert found["given up"]["code"] == "canceled"


def test_being_driven_is_all_that_is_suspicious_about_it(visits):
    found, site = visits
    labels = set(read_decision(site, found["plain"])["labels"])

    assert "browser.evidence" in labels
    assert {label for label in labels if not label.startswith("model.")} == EXPECTED
