"""Pages with strict content security policies: a token without a single violation, or a clear error."""

import json

import pytest

from tests.browser.steps import COLLECT_VIOLATIONS, begin, check_token, execute, finished, token_in_field, wait_for

STRICT = (
    "default-src 'none'; script-src {gate}; connect-src {gate}; worker-src blob:; "
    "require-trusted-types-for 'script'; trusted-types agentgate; style-src 'self'; form-action 'self'"
)
NONCE = (
    "default-src 'none'; script-src 'nonce-r4nd0m' 'strict-dynamic'; connect-src {gate}; worker-src blob:; "
    "require-trusted-types-for 'script'; trusted-types agentgate; style-src 'self'; base-uri 'none'"
)
REPORTED = "; report-uri /csp"
WIDGET = '<form method="post"><div class="agentgate" data-sitekey="{key}" data-action="signup" {more}></div></form>'


@pytest.fixture
def open_page(page, site):
    """Open a page under a policy; violations are collected from before its first script on."""
    page.add_init_script(COLLECT_VIOLATIONS)

    def open_with(policy, body="", **script):
        query = script.pop("query", "?render=explicit")
        html = f"<!doctype html><html lang=en><title>Strict</title>{site.script(query, **script)}<body>{body}"
        page.goto(site.serve(html, Content_Security_Policy=policy.format(gate=site.gate)))
        return page

    return open_with


def test_a_strict_page_gets_a_token_without_a_violation(open_page, site):
    page = open_page(STRICT)

    check_token(site, execute(page, site), action="signup", origin=site.pages.url(""))
    assert page.evaluate("window.violations") == []


def test_a_widget_declared_on_a_strict_page_fills_its_field_without_a_violation(open_page, site):
    page = open_page(STRICT, WIDGET.format(key=site.site_key, more='data-mode="managed"'), query="")

    check_token(site, {"token": token_in_field(page)})
    assert page.evaluate("window.violations") == []


def test_the_interactive_challenge_works_on_a_strict_page_without_a_violation(open_page, site):
    page = open_page(STRICT)
    begin(page, site, mode="interactive")
    page.get_by_role("button", name="Confirm you are human").press("Enter", delay=60)
    page.wait_for_timeout(1100)
    page.get_by_role("button", name="Continue").press("Enter", delay=60)

    check_token(site, finished(page))
    assert page.evaluate("window.violations") == []


def test_a_nonce_with_strict_dynamic_is_enough(open_page, site):
    page = open_page(NONCE, nonce="r4nd0m")

    check_token(site, execute(page, site))
    assert page.evaluate("window.violations") == []


def test_the_interactive_challenge_loads_its_part_under_a_nonce(open_page, site):
    page = open_page(NONCE, nonce="r4nd0m")
    begin(page, site, mode="interactive")

    page.get_by_role("button", name="Confirm you are human").wait_for()
    assert page.evaluate("window.violations") == []


def test_without_blob_workers_the_page_does_the_work(open_page, site):
    page = open_page(STRICT.replace("worker-src blob:", "worker-src 'none'"))

    check_token(site, execute(page, site))
    assert page.workers == []
    assert {line.split()[0] for line in page.evaluate("window.violations")} == {"worker-src"}


def reports_of(site):
    """Return directive and resource of each report that a browser sent to /csp."""
    sent = [json.loads(body)["csp-report"] for body in site.pages.posted if body.startswith('{"csp-report"')]
    return {(report["effective-directive"], report["blocked-uri"]) for report in sent}


def confirm(page):
    page.get_by_role("button", name="Confirm you are human").press("Enter", delay=60)
    page.wait_for_timeout(1100)
    page.get_by_role("button", name="Continue").press("Enter", delay=60)


def test_without_workers_the_memory_hard_work_causes_no_report_of_the_script_policy(open_page, site):
    site.pages.posted.clear()
    page = open_page(STRICT.replace("worker-src blob:", "worker-src 'none'") + REPORTED)
    begin(page, site, mode="interactive")
    confirm(page)

    check_token(site, finished(page))
    wait_for(page, lambda: reports_of(site))
    assert {line.split()[0] for line in page.evaluate("window.violations")} == {"worker-src"}
    assert reports_of(site) == {("worker-src", "blob")}


def test_a_worker_without_webassembly_hands_over_to_another_and_the_page_does_no_work(open_page, site):
    site.pages.posted.clear()
    page = open_page(STRICT + REPORTED)
    started = []
    page.on("worker", lambda worker: started.append(worker))  # noqa: PLW0108 - Playwright marks its handlers
    begin(page, site, mode="interactive")
    confirm(page)

    check_token(site, finished(page))
    # One for the work, one for the program, one for the work in JavaScript.
    assert len(started) == 3
    assert page.evaluate("window.violations") == []
    wait_for(page, lambda: reports_of(site))
    assert reports_of(site) == {("script-src", "wasm-eval")}


def test_the_worker_is_allowed_webassembly_and_nothing_is_reported(open_page, site):
    site.pages.posted.clear()
    page = open_page(STRICT.replace("script-src {gate}", "script-src {gate} 'wasm-unsafe-eval'") + REPORTED)
    started = []
    page.on("worker", lambda worker: started.append(worker))  # noqa: PLW0108 - Playwright marks its handlers
    begin(page, site, mode="interactive")
    confirm(page)

    check_token(site, finished(page))
    assert len(started) == 2
    assert page.evaluate("window.violations") == []
    assert reports_of(site) == set()


def test_a_policy_that_forbids_the_calls_gives_a_network_error(open_page, site):
    page = open_page(STRICT.replace("connect-src {gate}; ", ""))

    assert execute(page, site)["code"] == "network"


def test_a_policy_that_allows_no_trusted_type_settles_anyway(open_page, site):
    page = open_page(STRICT.replace("trusted-types agentgate", "trusted-types 'none'"))

    assert "code" in execute(page, site)


def test_nothing_of_the_check_needs_eval_or_inline_code(open_page, site):
    # The policy above would have reported both; this test inspects the served files.
    for name in ("agentgate.js", "evidence.js", "worker.js", "plain.js", "check.js"):
        text = site.service.public.get(f"/sdk/v1/{name}").text
        assert "eval(" not in text, name
        assert "new Function" not in text, name
        assert "innerHTML" not in text, name


def test_a_report_only_policy_hears_nothing_either(page, site):
    page.add_init_script(COLLECT_VIOLATIONS)
    html = f"<!doctype html><html lang=en><title>Report</title>{site.script()}"
    page.goto(site.serve(html, Content_Security_Policy_Report_Only=STRICT.format(gate=site.gate)))

    check_token(site, execute(page, site))
    wait_for(page, lambda: page.evaluate("document.readyState === 'complete'"))
    assert page.evaluate("window.violations") == []
