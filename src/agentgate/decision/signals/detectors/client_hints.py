"""Sec-CH-UA and Sec-Fetch: whether these headers agree with the User-Agent.

Browsers send both to secure origins only. Except for one label, a missing header therefore counts only if the other is
present.
"""

import re
from collections.abc import Mapping

from agentgate.decision.signals.browsers import engine_of
from agentgate.decision.signals.detectors.headers import is_sorted
from agentgate.decision.signals.header_forms import SAFARI_PAGE
from agentgate.decision.signals.request_class import PARTS
from agentgate.decision.signals.signal_input import Labels, SignalInput
from agentgate.decision.threat_data.views import UserAgentView

# Since 95 all three hints come together, or none.
HINTS = ("sec-ch-ua", "sec-ch-ua-mobile", "sec-ch-ua-platform")
ALL_HINTS_SINCE = 95
FETCH_METADATA = ("sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest")
# Engines that send no client hints; of others nothing is known.
WITHOUT_HINTS = frozenset({"firefox", "safari", "edgehtml", "trident"})
# Browsers of these are not known well enough.
UNKNOWN_DEVICES = frozenset({"tv", "console", "legacy"})
# Televisions, consoles and browsers inside apps leave some of them out.
LENIENT_DEVICES = frozenset({"webview", "tv", "console", "legacy"})

BRAND = re.compile(r'"([^"]*)";\s*v="(\d{1,4})')
# Brands whose version is the engine's version. Small browsers add another version of theirs, or name none of these
# brands.
ENGINE_BRANDS = frozenset({"Chromium", "Google Chrome", "Microsoft Edge"})
PLATFORMS = frozenset({"windows", "macos", "linux", "android", "ios", "chrome os"})
# Platforms whose browsers' User-Agents name another: desktop pages on a phone, and the two names of one system.
ALSO_NAMED = {"linux": {"android", "chrome os"}, "chrome os": {"chromium os", "linux"}, "macos": {"ios", "android"}}

# Headers that mark a subresource. Subresources accept other types than pages.
PART_OF_A_PAGE = frozenset({"referer", "origin", "range"})

SITES = frozenset({"cross-site", "same-origin", "same-site", "none"})
MODES = frozenset({"cors", "navigate", "no-cors", "same-origin", "websocket", "nested-navigate", "webtransport"})
# Destinations that a navigation may have, and destinations that only a navigation has.
NAVIGATION_DESTINATIONS = frozenset({"document", "iframe", "frame", "embed", "object", "fencedframe"})
PAGE_DESTINATIONS = frozenset({"document", "iframe", "frame"})
# In each page's request that a service worker passes on.
PASSED_ON = frozenset({"user-agent", "upgrade-insecure-requests"})
# Never what a page is loaded with.
PART_MODES = frozenset({"cors", "no-cors", "websocket"})


def client_hint_labels(request: SignalInput) -> Labels:
    """Return `http.client_hints_*` and `http.fetch_metadata_*`."""
    headers, claimed = request.headers, request.user_agent
    labels = []
    # People's browsers occasionally send the platform alone.
    if "sec-ch-ua" in headers or "sec-ch-ua-mobile" in headers:
        hints = headers.get("sec-ch-ua", "")
        if "Headless" in hints:
            labels.append("http.client_hints_headless")
        if claimed.engine and not _hints_agree(headers, claimed, hints):
            labels.append("http.client_hints_mismatch")
    elif _misses_hints(request):
        labels.append("http.client_hints_missing")
    if "sec-fetch-site" in headers:
        if not _fetch_agrees(request):
            labels.append("http.fetch_metadata_mismatch")
    elif claimed.major >= engine_of(claimed.engine).fetch_metadata_since:
        labels += _without_fetch_metadata(request)
    return labels


def _misses_hints(request: SignalInput) -> bool:
    claimed = request.user_agent
    if "sec-fetch-site" not in request.headers:
        return False
    if claimed.device in LENIENT_DEVICES or claimed.major < engine_of(claimed.engine).hints_since:
        return False
    # A preflight has none.
    return request.facts.method != "OPTIONS"


def _without_fetch_metadata(request: SignalInput) -> Labels:
    """Return the labels of a request without Sec-Fetch-Site, though its browser sends it to secure origins."""
    if "sec-fetch-mode" in request.headers:
        # No browser sends the one without the other; some libraries do.
        return ("http.fetch_metadata_mismatch",)
    # Chromium opens WebSockets without them.
    if "upgrade" in request.headers:
        return ()
    if request.user_agent.engine == "safari":
        # Some of Safari's captures have none. Then its Accept comes before its User-Agent, and has one fixed value.
        return () if _is_safaris(request) else ("http.fetch_metadata_missing",)
    if request.user_agent.device in LENIENT_DEVICES:
        return ()
    return ("http.fetch_metadata_missing",)


def _is_safaris(request: SignalInput) -> bool:
    names = request.names
    if "accept" not in names or names.index("accept") > names.index("user-agent"):
        return False
    return not PART_OF_A_PAGE.isdisjoint(names) or request.headers["accept"].startswith(SAFARI_PAGE)


def _hints_agree(headers: Mapping[str, str], claimed: UserAgentView, hints: str) -> bool:
    if claimed.engine != "chromium":
        return claimed.engine not in WITHOUT_HINTS
    is_known = claimed.major >= ALL_HINTS_SINCE and claimed.device not in UNKNOWN_DEVICES
    if is_known and not all(name in headers for name in HINTS):
        return False
    versions = {int(version) for brand, version in BRAND.findall(hints) if brand in ENGINE_BRANDS}
    if versions and claimed.major not in versions:
        return False
    return _platform_agrees(headers, claimed)


def _platform_agrees(headers: Mapping[str, str], claimed: UserAgentView) -> bool:
    phone = headers.get("sec-ch-ua-mobile")
    if claimed.platform in {"Windows", "macOS"} and phone == "?1":
        return False
    # Apps rename their embedded browser, which keeps its hints.
    is_named_by_itself = claimed.platform == "Android" and not claimed.device
    if is_named_by_itself and phone not in {None, "?1" if claimed.mobile else "?0"}:
        return False
    told = headers.get("sec-ch-ua-platform", "").strip('"').lower()
    named = claimed.platform.lower()
    if not named or told not in PLATFORMS or told == named:
        return True
    return told in ALSO_NAMED.get(named, ())


def _fetch_agrees(request: SignalInput) -> bool:
    headers, claimed = request.headers, request.user_agent
    site, mode, destination = (headers.get(name) for name in FETCH_METADATA)
    if site not in SITES or (mode is not None and mode not in MODES):
        return False
    if (mode is None or destination is None) and claimed.major >= engine_of(claimed.engine).fetch_metadata_since:
        # Browsers that send one send all three.
        return False
    if mode == "navigate":
        return _navigates_to(request, destination)
    if mode in PART_MODES and (destination in PAGE_DESTINATIONS or "upgrade-insecure-requests" in headers):
        return False
    # Nothing that is no page accepts one.
    if destination in PARTS and "text/html" in headers.get("accept", ""):
        return False
    # Only a navigation comes from a person's own hand.
    return "sec-fetch-user" not in headers


def _navigates_to(request: SignalInput, destination: str | None) -> bool:
    if destination is None or destination in NAVIGATION_DESTINATIONS:
        return True
    # A service worker that passes a page's request on: Chromium writes it as what scripts fetch, the name first.
    names = request.names
    if destination != "empty" or "sec-fetch-user" in names or not PASSED_ON.issubset(names):
        return False
    return is_sorted(names) or names.index("user-agent") < names.index("upgrade-insecure-requests")
