"""Examining an installation: every check in order, and no further check if the site does not respond."""

from agentgate_tools.doctor.asking import Asked, NoAnswer, Site
from agentgate_tools.doctor.cache_checks import check_caches
from agentgate_tools.doctor.checks import (
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
from agentgate_tools.doctor.findings import Finding, State, failed, passed, skipped, warned
from agentgate_tools.doctor.robots_check import check_robots
from agentgate_tools.doctor.route_checks import check_forged_headers, check_protected_route
from agentgate_tools.doctor.seen_checks import ask_seen, check_seen
from agentgate_tools.doctor.unavailable_check import check_unavailable
from agentgate_tools.doctor.upstream_checks import check_upstream

UNSEEN = (
    "whether other names, ports or paths lead around the proxy, "
    "which routes and rules the site should have, who can read the secret, and what the application does by itself"
)


# The gateway wants a browser check of this client: as of every new visitor while the whole site is protected.
CHALLENGES = frozenset(("receipt_required", "expired_receipt"))
# What closed adapters return while AgentGate is unavailable.
OF_ADAPTERS = (b"Try again in a moment", b"service_unavailable")
# Causes before what follows from them; the rest in the order of the checks.
FIRST = ("reachable", "secret", "gate", "application", "clock", "origin", "own-paths")


def check_reachable(home: Asked) -> Finding:
    """Report the response to the first request."""
    if home.reason in CHALLENGES:
        return passed("reachable", f"the site responds, and challenges this client ({home.status} {home.reason})")
    if home.reason:
        found = f"the site's rules block this client ({home.status} {home.reason}), which hides the results"
        return warned("reachable", found, "Wait a minute, or run the doctor from an allowed IP address.")
    return passed("reachable", f"the site responds ({home.status})")


def check_application(home: Asked) -> Finding:
    """Look whether the application behind the proxy responds. A challenge of the gateway hides it."""
    if home.reason:
        return skipped("application", "the gateway responds for it", "Run the doctor from an allowed IP address.")
    if home.status in {502, 504} or (home.status == 503 and not any(each in home.body for each in OF_ADAPTERS)):
        fix = "Start the application, or correct its address in the adapter: agentgate protect ... --upstream ADDRESS"
        return failed("application", f"the proxy does not reach the application ({home.status})", fix)
    if home.status >= 500:
        return warned("application", f"the application fails ({home.status})", "Read its log.")
    return passed("application", f"the application responds ({home.status})")


def by_cause(findings: list[Finding]) -> list[Finding]:
    """Return failures, then warnings, then the rest; causes first."""
    severity = {State.FAIL: 0, State.WARN: 1}
    rank = {check: number for number, check in enumerate(FIRST)}
    return sorted(findings, key=lambda each: (severity.get(each.state, 2), rank.get(each.check, len(FIRST))))


def examine(installation: Installation) -> list[Finding]:
    """Return the findings in the order of the checks."""
    site = installation.site
    try:
        home = site.ask("GET", site.path)
        refused = site.ask("GET", site.path, headers=[("User-Agent", SCANNER)])
    except NoAnswer as silent:
        return [failed("reachable", f"no response: {silent}", _how_to_reach(site, str(silent)))]
    findings = [
        check_reachable(home),
        check_application(home),
        *check_transport(installation, home),
        *check_gate(installation),
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
        skipped(
            "unseen", f"not testable from outside: {UNSEEN}", "Read docs/test-installation.md and check these manually."
        ),
    ]
    return by_cause(findings)


def _how_to_reach(site: Site, silent: str) -> str:
    """Return the command that shows why a site does not respond."""
    if "CERTIFICATE_VERIFY_FAILED" in silent or "SSL" in silent:
        return f"Install a certificate for {site.host} with its whole chain: certbot certonly -d {site.host}"
    if "gaierror" in silent:
        return f"Add {site.host} to the DNS: getent hosts {site.host}"
    if "Refused" in silent:
        return f"Start the proxy; nothing listens on port {site.port}: ss -ltn sport = :{site.port}"
    return f"Check the address, the firewall and the proxy's log: curl -v {site.origin}/"


def _unavailable(installation: Installation, home: Asked, refused: Asked) -> Finding:
    knows_secret = ask_seen(installation.site).reason != "invalid_credential"
    script = installation.site.try_asking("GET", OWN_SCRIPT)
    is_down = script is not None and script.status in {502, 503, 504}
    fails = is_down or not knows_secret
    return check_unavailable(installation.adapter, home, refused, fails=fails, knows_secret=knows_secret)
