"""Examining an installation: every check in order, and nothing after a site that does not answer."""

from agentgate_tools.doctor.asking import Asked, NoAnswer
from agentgate_tools.doctor.checks import (
    SCANNER,
    Installation,
    check_exposure,
    check_gate,
    check_leaks,
    check_transport,
)
from agentgate_tools.doctor.findings import Finding, failed, passed, warned
from agentgate_tools.doctor.route_checks import check_forged_headers, check_protected_route


def _reachable(home: Asked) -> Finding:
    if home.reason:
        found = f"the site's rules refuse this client ({home.status} {home.reason}), which hides what is behind them"
        return warned("reachable", found, "Wait a minute, or run the doctor from an address that they let through.")
    return passed("reachable", f"the site answers ({home.status})")


def examine(installation: Installation) -> list[Finding]:
    """Return what was found, in the order in which it was looked at."""
    site = installation.site
    try:
        home = site.ask("GET", site.path)
        refused = site.ask("GET", site.path, headers=[("User-Agent", SCANNER)])
    except NoAnswer as silent:
        return [failed("reachable", f"no answer: {silent}", "Check the address, the name in DNS and the certificate.")]
    return [
        _reachable(home),
        *check_transport(installation, home),
        *check_gate(installation),
        check_forged_headers(installation),
        *check_protected_route(installation),
        *check_exposure(installation),
        check_leaks(home, refused),
    ]
