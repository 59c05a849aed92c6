"""Examining an installation: every check in order, and no further check if the site does not respond."""

from agentgate_tools.doctor.address_checks import check_addresses
from agentgate_tools.doctor.application_checks import check_application, check_steady
from agentgate_tools.doctor.asking import Asked, NoAnswer
from agentgate_tools.doctor.cache_checks import check_caches
from agentgate_tools.doctor.checks import (
    DOWN,
    OWN_SCRIPT,
    SCANNER,
    Installation,
    check_exposure,
    check_gate,
    check_leaks,
    check_listeners,
    check_transport,
)
from agentgate_tools.doctor.feed_checks import check_feeds
from agentgate_tools.doctor.findings import Finding, State, passed, skipped, warned
from agentgate_tools.doctor.page_checks import check_page
from agentgate_tools.doctor.robots_check import check_robots
from agentgate_tools.doctor.route_checks import check_forged_headers, check_protected_route
from agentgate_tools.doctor.seen_checks import ask_seen, check_seen, with_site_key
from agentgate_tools.doctor.silence import explain_silence
from agentgate_tools.doctor.unavailable_check import check_unavailable
from agentgate_tools.doctor.upstream_checks import check_upstream

UNSEEN = (
    "whether other names, ports or paths lead around the proxy, "
    "which routes and rules the site should have, who can read the secret, and what the application does by itself"
)


# The gateway wants a browser check of this client: as of every new visitor while the whole site is protected.
CHALLENGES = frozenset(("receipt_required", "expired_receipt"))
# Causes before what follows from them; the rest in the order of the checks.
FIRST = (
    *("tls", "reachable", "secret", "gate", "application", "cached-decisions", "cached-answers", "clock", "origin"),
    *("own-paths", "challenge-page", "cookies"),
)


def check_reachable(home: Asked) -> Finding:
    """Report the response to the first request."""
    if home.reason in CHALLENGES:
        return passed("reachable", f"the site responds, and challenges this client ({home.status} {home.reason})")
    if home.reason:
        found = f"the site's rules block this client ({home.status} {home.reason}), which hides the results"
        return warned("reachable", found, "Wait a minute, or run the doctor from an allowed IP address.")
    return passed("reachable", f"the site responds ({home.status})")


def by_cause(findings: list[Finding]) -> list[Finding]:
    """Return failures, then warnings, then the rest; causes first."""
    severity = {State.FAIL: 0, State.WARN: 1}
    rank = {check: number for number, check in enumerate(FIRST)}
    return sorted(findings, key=lambda each: (severity.get(each.state, 2), rank.get(each.check, len(FIRST))))


def examine(installation: Installation) -> list[Finding]:
    """Return the findings in the order of the checks."""
    installation = with_site_key(installation)
    site = installation.site
    try:
        home = site.ask("GET", site.path)
        refused = site.ask("GET", site.path, headers=[("User-Agent", SCANNER)])
    except NoAnswer as silent:
        return [explain_silence(site, str(silent))]
    findings = [
        check_reachable(home),
        check_application(site, home),
        *check_transport(installation, home),
        *check_gate(installation, home),
        *check_page(site),
        *check_addresses(installation),
        *check_seen(installation, home),
        _unavailable(installation, home, refused),
        check_forged_headers(installation),
        *check_protected_route(installation),
        *check_exposure(installation),
        *check_listeners(installation),
        check_leaks(home, refused),
        check_feeds(installation, home),
        check_robots(installation),
        *check_caches(installation, home, refused),
        *check_upstream(installation, home),
        *check_steady(site, home),
        skipped(
            "unseen", f"not testable from outside: {UNSEEN}", "Read docs/test-installation.md and check these manually."
        ),
    ]
    return by_cause(findings)


def _unavailable(installation: Installation, home: Asked, refused: Asked) -> Finding:
    knows_secret = ask_seen(installation.site).reason != "invalid_credential"
    script = installation.site.try_asking("GET", OWN_SCRIPT)
    is_down = script is not None and script.status in DOWN
    fails = is_down or not knows_secret
    return check_unavailable(installation.adapter, home, refused, fails=fails, knows_secret=knows_secret)
