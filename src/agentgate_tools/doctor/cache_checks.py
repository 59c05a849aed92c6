"""Checks of caches: neither a decision nor an answer that is for one visitor may be given to another."""

import secrets
from collections.abc import Iterator

from agentgate_tools.doctor.asking import Asked, Site
from agentgate_tools.doctor.checks import SCANNER, Installation
from agentgate_tools.doctor.findings import Finding, failed, passed, skipped, warned

UNCACHED = (
    "Put no cache before the gate, and let none keep the check's answers: what is cached is given to those who are "
    "refused. A cache belongs between the proxy and the application."
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
        fix = "Give --protected-path: refusals carry the decision's ID."
        return skipped("cached-decisions", "this client was not refused, so no decision can be told from another", fix)
    if len(set(ids)) < len(ids):
        return failed("cached-decisions", f"several requests were answered with one decision ({ids[0]})", UNCACHED)
    return passed("cached-decisions", "each request gets a decision of its own")


def _answers(site: Site, home: Asked) -> Finding:
    """A scanner must be refused also where a browser was answered before, and the other way round."""
    first, second = _new_url(site), _new_url(site)
    browser = site.try_asking("GET", first)
    after_browser = site.try_asking("GET", first, ("User-Agent", SCANNER))
    scanner = site.try_asking("GET", second, ("User-Agent", SCANNER))
    after_scanner = site.try_asking("GET", second)
    if browser is None or after_browser is None or scanner is None or after_scanner is None:
        return skipped("cached-answers", "the site stopped answering", "Run the doctor again.")
    is_judged = bool(scanner.reason) and not browser.reason
    if is_judged and not after_browser.reason:
        found = "a scanner, who is refused, gets what a browser was answered at the same address before"
        return failed("cached-answers", found, UNCACHED)
    if is_judged and after_scanner.reason:
        found = "a browser is refused where a scanner was refused before"
        return failed("cached-answers", found, UNCACHED)
    kept = [name for name in KEPT if "hit" in home.header(name).lower()]
    kept += ["age"] if home.header("age").isdigit() and int(home.header("age")) > 0 else []
    if kept:
        found = f"the front page comes from a cache ({', '.join(kept)})"
        return warned("cached-answers", found, "See that nothing is kept that only some visitors may have.")
    if not is_judged:
        return skipped("cached-answers", "a scanner is not refused, so nothing can be told", "Switch to enforce mode.")
    return passed("cached-answers", "answers are not given to those who are refused")


def _new_url(site: Site) -> str:
    """Return an address that nobody has asked for."""
    return f"{site.path}?agentgate-doctor={secrets.token_hex(8)}"
