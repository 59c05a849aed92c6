"""Checks of the challenge page: it must reach the browser unchanged, and the browser's results AgentGate."""

from collections.abc import Iterator

from agentgate_tools.doctor.asking import Asked, Site
from agentgate_tools.doctor.findings import Finding, failed, passed, skipped

PAGE = "/.agentgate/v1/gateway/challenge"
RESULTS = "/.agentgate/v1/browser/challenge"
# More than the results of any browser.
RESULT_BYTES = 48 * 1024
NAVIGATION = (
    *(("Accept", "text/html"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document")),
    *(("Sec-Fetch-Site", "none"), ("Upgrade-Insecure-Requests", "1")),
)
UNCHANGED = "Let the proxy pass responses under /.agentgate/ and denials (401, 403) unchanged"


def check_page(site: Site) -> Iterator[Finding]:
    """Request the page itself, and send a result that is too large to be one."""
    page = site.try_asking("GET", PAGE, *NAVIGATION)
    if page is None or page.status in {404, 502, 503, 504}:
        yield skipped("challenge-page", "AgentGate does not return the challenge page", "See `own-paths` and `gate`.")
        return
    yield _page(page) or _results(site) or passed("challenge-page", "the challenge page arrives as AgentGate wrote it")


def _page(page: Asked) -> Finding | None:
    if page.reason in {"invalid_credential", "invalid_request"}:
        return skipped("challenge-page", "AgentGate rejects the adapter's request", "See `secret`.")
    if not page.reason or b"<html" not in page.body:
        found = f"a proxy replaces the challenge page, or removes X-Service-Reason ({page.status})"
        fix = f"{UNCHANGED}: grep -rnE 'intercept_errors|error_page|hide_header' /etc/nginx"
        return failed("challenge-page", found, fix)
    policies = [value for name, value in page.headers if name == "content-security-policy"]
    if len(policies) != 1 or "'nonce-" not in policies[0] or "," in policies[0]:
        found = "a proxy adds a Content-Security-Policy to the challenge page, so its script does not run"
        return failed("challenge-page", found, f"{UNCHANGED}: grep -rni content-security-policy /etc/nginx")
    nonce = policies[0].partition("'nonce-")[2].partition("'")[0]
    if f'nonce="{nonce}"'.encode() not in page.body:
        found = "a proxy changes the challenge page, so its script does not run"
        return failed("challenge-page", found, f"{UNCHANGED}: grep -rnE 'sub_filter|minify|rocket' /etc/nginx")
    return None


def _results(site: Site) -> Finding | None:
    try_json = b'{"doctor": "' + b"x" * RESULT_BYTES + b'"}'
    sent = site.try_posting(RESULTS, try_json, ("Content-Type", "application/json"), ("Origin", site.origin))
    if sent is None or b'"error"' not in sent.body:
        told = "no response" if sent is None else str(sent.status)
        found = f"a proxy rejects the results of the browser check ({told})"
        fix = "Allow POST with up to 256 KB under /.agentgate/ (nginx: client_max_body_size 256k; no limit_except)"
        return failed("challenge-page", found, f"{fix}: agentgate adapter prints it.")
    return None
