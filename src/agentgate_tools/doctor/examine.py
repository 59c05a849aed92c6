"""Examining an installation: every check in order, and nothing after a site that does not answer."""

from agentgate_tools.doctor.asking import Asked, NoAnswer
from agentgate_tools.doctor.cache_checks import check_caches
from agentgate_tools.doctor.checks import (
    OWN_SCRIPT,
    SCANNER,
    Installation,
    check_exposure,
    check_gate,
    check_leaks,
    check_transport,
)
from agentgate_tools.doctor.feed_checks import check_feeds
from agentgate_tools.doctor.findings import Finding, failed, passed, skipped, warned
from agentgate_tools.doctor.route_checks import check_forged_headers, check_protected_route
from agentgate_tools.doctor.seen_checks import ask_seen, check_seen
from agentgate_tools.doctor.unavailable_check import check_unavailable
from agentgate_tools.doctor.upstream_checks import check_upstream

UNSEEN = (
    "whether other names, ports or paths lead around the proxy, "
    "which routes and rules the site should have, who can read the secret, and what the application does by itself"
)


def _reachable(home: Asked) -> Finding:
    if home.reason:
        found = f"the site's rules block this client ({home.status} {home.reason}), which hides the results"
        return warned("reachable", found, "Wait a minute, or run the doctor from an allowed IP address.")
    return passed("reachable", f"the site responds ({home.status})")


def examine(installation: Installation) -> list[Finding]:
    """Return what was found, in the order in which it was looked at."""
    site = installation.site
    try:
        home = site.ask("GET", site.path)
        refused = site.ask("GET", site.path, headers=[("User-Agent", SCANNER)])
    except NoAnswer as silent:
        return [
            failed("reachable", f"no response: {silent}", "Check the address, the name in DNS and the certificate.")
        ]
    return [
        _reachable(home),
        *check_transport(installation, home),
        *check_gate(installation),
        *check_seen(installation, home),
        _unavailable(installation, home, refused),
        check_forged_headers(installation),
        *check_protected_route(installation),
        *check_exposure(installation),
        check_leaks(home, refused),
        check_feeds(installation, home),
        *check_caches(installation, home),
        *check_upstream(installation),
        skipped(
            "unseen", f"not testable from outside: {UNSEEN}", "Read docs/test-installation.md and check these manually."
        ),
    ]


def _unavailable(installation: Installation, home: Asked, refused: Asked) -> Finding:
    knows_secret = ask_seen(installation.site).reason != "invalid_credential"
    script = installation.site.try_asking("GET", OWN_SCRIPT)
    is_down = script is not None and script.status in {502, 503, 504}
    fails = is_down or not knows_secret
    return check_unavailable(installation.adapter, home, refused, fails=fails, knows_secret=knows_secret)
