"""A page load: in which order the claimed engine writes its headers, and what it accepts.

Engines have written a page load in one order for years, over HTTP/1 and HTTP/2; what scripts and pictures ask for is
written in other orders, so only page loads are judged. Headers that an adapter need not pass on are not missed.
"""

from agentgate.protection.signals.signal_input import Look
from agentgate.protection.threat_data.views import UserAgentView

# Only what holds for every release since, and for browsers made from an engine: not where each Sec-Fetch header stands.
ORDERS = {
    "chromium": (
        ("sec-ch-ua", "user-agent", "accept", "accept-encoding", "accept-language"),
        ("sec-ch-ua-mobile", "user-agent", "sec-fetch-site"),
        ("upgrade-insecure-requests", "user-agent", "sec-fetch-mode"),
    ),
    "firefox": (("user-agent", "accept", "accept-language", "accept-encoding", "sec-fetch-site"),),
    # Of Safari's several orders all have the language after the name.
    "safari": (("user-agent", "accept-language"),),
}
# Older releases have other orders, and too few people have them to learn which.
ORDERED_SINCE = {"chromium": 80, "firefox": 90, "safari": 12}
ACCEPTS_SINCE = {"chromium": 40, "firefox": 60, "safari": 12}
NEVER = 1_000_000
# Whoever says that it opens a page sends these too, in every engine. Proxies take Accept-Encoding away, not these.
ALWAYS = ("accept", "accept-language", "sec-fetch-dest", "sec-fetch-site")
PAGE = "text/html"
PAGE_PREFIX = "text/html,application/xhtml+xml,application/xml;q=0.9,"
# Chromium names it in every page load since 2014.
CHROMIUM_PICTURES = "image/webp"
# How unlike a browser each is, in tenths (`headers.py`).
INCOMPLETE, WRONG_ORDER, WRONG_ACCEPT, NO_PICTURES, WRONG_ENCODING = 15, 15, 15, 5, 10


def page_load_points(look: Look, view: UserAgentView, *, is_sorted: bool) -> int:
    """Return how unlike a page load of the claimed browser this is; nothing where it is none, or none is known."""
    if view.device or view.major < ACCEPTS_SINCE.get(view.engine, NEVER):
        return 0
    if look.headers.get("sec-fetch-mode") == "navigate" and not all(name in look.headers for name in ALWAYS):
        return INCOMPLETE
    if not is_page_load(look):
        return 0
    headers, accept, points = look.headers, look.headers["accept"], 0
    is_ordered = is_sorted or view.major < ORDERED_SINCE[view.engine]
    if not (is_ordered or all(follows(look.names, order) for order in ORDERS[view.engine])):
        points += WRONG_ORDER
    if not accept.startswith(PAGE_PREFIX):
        points += WRONG_ACCEPT
    elif view.engine == "chromium" and CHROMIUM_PICTURES not in accept:
        points += NO_PICTURES
    # Browsers take Brotli from secure sites only.
    if "sec-fetch-site" in headers and "br" not in headers.get("accept-encoding", "br"):
        points += WRONG_ENCODING
    return points


def is_page_load(look: Look) -> bool:
    """Say whether a person's browser would open a page with this: not a part, not a call of a script."""
    headers = look.headers
    if PAGE not in headers.get("accept", "") or look.facts.method not in {"GET", "HEAD", "POST"}:
        return False
    mode = headers.get("sec-fetch-mode")
    if mode is not None:
        return mode == "navigate"
    # Scripts of pages ask for HTML too; they say so, or the page is named.
    return "x-requested-with" not in headers and "referer" not in headers and "sec-fetch-site" not in headers


def follows(names: tuple[str, ...], expected: tuple[str, ...]) -> bool:
    """Say whether those of the expected headers that are there stand in the expected order."""
    places = [names.index(name) for name in expected if name in names]
    return places == sorted(places)
