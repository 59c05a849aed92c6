"""Checks of caches: they must not give a decision or a response for one visitor to another."""

import re
import secrets
from collections.abc import Iterator
from http import HTTPStatus

from agentgate_tools.doctor.asking import Asked, Site
from agentgate_tools.doctor.checks import SCANNER, Installation
from agentgate_tools.doctor.findings import Finding, failed, passed, skipped, warned

UNCACHED = (
    "Put no cache in front of AgentGate, and do not cache the gateway check's responses: blocked clients would get "
    "cached pages. A cache belongs between the proxy and the application."
)
_SUBRESOURCE = re.compile(r"""(?:src|href)=["']?(/(?!/)[^"'?#\s>]+\.(?:css|js|png|jpe?g|svg|webp))\b""")
# Headers by which caches show that a response was cached.
KEPT = ("x-cache", "x-cache-status", "x-proxy-cache", "cf-cache-status", "x-varnish-cache", "cache-status")


def check_caches(installation: Installation, home: Asked, refused: Asked) -> Iterator[Finding]:
    """Check whether decisions or responses are cached and given to others."""
    site = installation.site
    yield _decisions(installation)
    yield _answers(site, home, refused)


def _decisions(installation: Installation) -> Finding:
    """Check that every request has its own decision: a repeated ID was cached."""
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


def _answers(site: Site, home: Asked, refused: Asked) -> Finding:
    """Each client must get its own response: also after a response to another one, and at the page's own address."""
    first, second = _new_url(site), _new_url(site)
    browser = site.try_asking("GET", first)
    after_browser = site.try_asking("GET", first, ("User-Agent", SCANNER))
    scanner = site.try_asking("GET", second, ("User-Agent", SCANNER))
    after_scanner = site.try_asking("GET", second)
    if browser is None or after_browser is None or scanner is None or after_scanner is None:
        return skipped("cached-answers", "the site stopped responding", "Run the doctor again.")
    # A whole site challenges the browser and blocks the scanner: two responses too.
    is_judged = bool(scanner.reason) and _kind(browser) != _kind(scanner)
    found = ""
    if is_judged and _kind(after_browser) == _kind(browser):
        found = "a blocked scanner gets the response that a browser got at the same URL"
    elif is_judged and _kind(after_scanner) == _kind(scanner):
        found = "a browser is blocked at a URL where a scanner was blocked"
    elif is_judged and (shared := _shared_addresses(site, home, refused, scanner)):
        found = f"a blocked scanner gets the cached response of {', '.join(shared)}"
    if found:
        return failed("cached-answers", found, UNCACHED)
    kept = [name for name in KEPT if "hit" in home.header(name).lower()]
    kept += ["age"] if home.header("age").isdigit() and int(home.header("age")) > 0 else []
    if kept:
        found = f"the front page comes from a cache ({', '.join(kept)})"
        return warned("cached-answers", found, "Make sure that no response for specific visitors is cached.")
    if not is_judged:
        fix = "Run the doctor from an allowed IP address." if scanner.reason else "Switch to enforce mode."
        return skipped("cached-answers", "both test clients get the same response, so caching cannot be tested", fix)
    return passed("cached-answers", "blocked clients get no cached responses")


def _kind(answer: Asked) -> tuple[int, str]:
    return answer.status, answer.reason


def _shared_addresses(site: Site, home: Asked, refused: Asked, scanner: Asked) -> list[str]:
    """Return the addresses without a query, which caches keep, at which a scanner is not blocked."""
    shared = [site.path] if not refused.reason and refused.status == home.status else []
    for path in _linked(home):
        site.try_asking("GET", path)
        answer = site.try_asking("GET", path, ("User-Agent", SCANNER))
        if answer is not None and not answer.reason and answer.status == HTTPStatus.OK != scanner.status:
            shared.append(path)
    return shared


def _linked(home: Asked) -> list[str]:
    """Return the first style sheet, script and image of the page on its own origin."""
    found: dict[str, str] = {}
    for path in _SUBRESOURCE.findall(home.body.decode("utf-8", "replace")):
        found.setdefault(path.rpartition(".")[2], path)
    return list(found.values())[:3]


def _new_url(site: Site) -> str:
    """Return a URL that has never been requested."""
    return f"{site.path}?agentgate-doctor={secrets.token_hex(8)}"
