"""Checks of the application behind the proxy: whether it responds, and whether its redirects stay on the site."""

from collections.abc import Iterator
from http import HTTPStatus
from urllib.parse import SplitResult, urlsplit

from agentgate_tools.doctor.asking import PORTS, Asked, Site, is_private
from agentgate_tools.doctor.checks import DOWN, is_of_adapter
from agentgate_tools.doctor.findings import Finding, failed, passed, skipped, warned

# Characters of an address in a finding.
LONGEST = 200


def check_application(site: Site, home: Asked) -> Finding:
    """Look whether the application responds. A challenge of the gateway hides it."""
    if home.reason:
        return skipped("application", "the gateway responds for it", "Run the doctor from an allowed IP address.")
    if is_of_adapter(home):
        return skipped(
            "application", "the adapter responds for it: AgentGate is unavailable", "See `gate` and `secret`."
        )
    if home.status in DOWN:
        fix = "Start the application, or correct its address in the adapter: agentgate protect ... --upstream ADDRESS"
        return failed("application", f"the proxy does not reach the application ({home.status})", fix)
    if home.status >= 500:
        return warned("application", f"the application fails ({home.status})", "Read its log.")
    return _head(site, home) if home.target is None else _redirect(site, home.target)


def _head(site: Site, home: Asked) -> Finding:
    head = site.try_asking("HEAD", site.path)
    if head is not None and head.status >= 500 and not head.reason:
        fix = f"Support HEAD like GET; monitors and link previews send it: curl -I {site.origin}{site.path}"
        return warned("application", f"the application fails for HEAD ({head.status}), not for GET", fix)
    return passed("application", f"the application responds ({home.status})")


def _redirect(site: Site, target: SplitResult) -> Finding:
    """Judge the redirect of the front page: it must not lead around the proxy, or to itself."""
    if not target.hostname:
        return passed("application", f"the application redirects to {target.path}")
    address = target.geturl()[:LONGEST]
    scheme = target.scheme or site.scheme
    if f"{scheme}://{target.netloc}{target.path or '/'}" == f"{site.origin}{site.path}" and not target.query:
        fix = (
            "The application does not know that visitors use https. Let it trust the proxy's X-Forwarded-Proto, or set "
            f"its public address: {site.origin}"
        )
        return failed("application", f"the front page redirects to itself ({address})", fix)
    is_site = target.hostname == urlsplit(site.origin).hostname
    is_inner = is_private(target.hostname) and not is_private(urlsplit(site.origin).hostname or "")
    if (is_site and (target.port or PORTS.get(scheme)) not in {site.port, *PORTS.values()}) or (
        not is_site and is_inner
    ):
        fix = f"Set the application's public address to {site.origin}, or rewrite it in nginx: proxy_redirect"
        return failed("application", f"the application redirects visitors around the proxy, to {address}", fix)
    if scheme != site.scheme or not is_site:
        return warned("application", f"the front page redirects to {address}", f"Run: agentgate doctor {address}")
    return passed("application", f"the application redirects to {address}")


def check_steady(site: Site, home: Asked) -> Iterator[Finding]:
    """Look whether a limit of a proxy has rejected requests of this test."""
    again = site.try_asking("GET", site.path)
    is_limited = again is None or (again.status in {*DOWN, HTTPStatus.TOO_MANY_REQUESTS} and not again.reason)
    if is_limited and home.status not in {*DOWN, HTTPStatus.TOO_MANY_REQUESTS}:
        told = "does not respond" if again is None else f"returns {again.status}"
        found = f"the site {told} after a hundred requests, which distorts the other results"
        fix = "If a proxy limits requests (limit_req, fail2ban), exempt this IP address: grep -rn limit_req /etc/nginx"
        yield failed("reachable", found, fix)
