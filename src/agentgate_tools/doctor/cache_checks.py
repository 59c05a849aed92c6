"""Checks of caches: neither a decision nor an answer that is for one visitor may be given to another."""

import secrets
from collections.abc import Iterator

from agentgate_tools.doctor.asking import Asked, Site
from agentgate_tools.doctor.checks import SCANNER, Installation
from agentgate_tools.doctor.findings import Finding, failed, passed, skipped, warned

UNCACHED = (
    "Put no cache in front of AgentGate, and do not cache the gateway check's responses: blocked clients would get "
    "cached pages. A cache belongs between the proxy and the application."
)
# How caches say that an answer was kept.
KEPT = ("x-cache", "x-cache-status", "x-proxy-cache", "cf-cache-status", "x-varnish-cache", "cache-status")


def check_caches(installation: Installation, home: Asked) -> Iterator[Finding]:
    """Look whether decisions or answers are kept and given to others."""
    site = installation.site
    yield _decisions(installation)
    yield _answers(site, home)


def _decisions(installation: Installation) -> Finding:
    """Every request has a decision of its own: the same ID twice was kept."""
    if installation.protected_path is None:
        method, path, headers = "GET", _new_url(installation.site), [("User-Agent", SCANNER)]
    else:
        method, path, headers = installation.method, installation.protected_path, []
    answers = [installation.site.try_asking(method, path, *headers) for _ in range(3)]
    ids = [answer.decision_id for answer in answers if answer is not None and answer.decision_id]
    if len(ids) < 2:
        fix = "Give --protected-path: blocked responses contain the decision ID."
        return skipped("cached-decisions", "this client was not blocked, so decisions cannot be distinguished", fix)
    if len(set(ids)) < len(ids):
        return failed("cached-decisions", f"several requests got the same decision ({ids[0]})", UNCACHED)
    return passed("cached-decisions", "each request gets its own decision")


def _answers(site: Site, home: Asked) -> Finding:
    """A scanner must be refused also where a browser was answered before, and the other way round."""
    first, second = _new_url(site), _new_url(site)
    browser = site.try_asking("GET", first)
    after_browser = site.try_asking("GET", first, ("User-Agent", SCANNER))
    scanner = site.try_asking("GET", second, ("User-Agent", SCANNER))
    after_scanner = site.try_asking("GET", second)
    if browser is None or after_browser is None or scanner is None or after_scanner is None:
        return skipped("cached-answers", "the site stopped responding", "Run the doctor again.")
    is_judged = bool(scanner.reason) and not browser.reason
    if is_judged and not after_browser.reason:
        found = "a blocked scanner gets the response that a browser got at the same URL"
        return failed("cached-answers", found, UNCACHED)
    if is_judged and after_scanner.reason:
        found = "a browser is blocked at a URL where a scanner was blocked"
        return failed("cached-answers", found, UNCACHED)
    kept = [name for name in KEPT if "hit" in home.header(name).lower()]
    kept += ["age"] if home.header("age").isdigit() and int(home.header("age")) > 0 else []
    if kept:
        found = f"the front page comes from a cache ({', '.join(kept)})"
        return warned("cached-answers", found, "Make sure that no response for specific visitors is cached.")
    if not is_judged:
        return skipped(
            "cached-answers", "a scanner is not blocked, so caching cannot be tested", "Switch to enforce mode."
        )
    return passed("cached-answers", "blocked clients get no cached responses")


def _new_url(site: Site) -> str:
    """Return an address that nobody has asked for."""
    return f"{site.path}?agentgate-doctor={secrets.token_hex(8)}"
