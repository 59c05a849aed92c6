"""Sec-CH-UA and Sec-Fetch: whether what the browser says of itself agrees with its User-Agent.

Browsers send both to secure origins only, so neither is missed where the other is missing too, but for the one label.
"""

from collections.abc import Mapping

from agentgate.protection.signals.signal_input import Labels, Look
from agentgate.protection.threat_data.views import UserAgentView

# The first releases that send them.
HINTS_SINCE = {"chromium": 90}
FETCH_METADATA_SINCE = {"chromium": 80, "firefox": 90, "safari": 17}

SITES = frozenset({"cross-site", "same-origin", "same-site", "none"})
MODES = frozenset({"cors", "navigate", "no-cors", "same-origin", "websocket", "nested-navigate", "webtransport"})
# What a navigation may be for.
NAVIGATION_DESTINATIONS = frozenset({"document", "iframe", "frame", "embed", "object", "fencedframe"})


def client_hint_labels(look: Look) -> Labels:
    """Return `http.client_hints_*` and `http.fetch_metadata_*`."""
    headers, claimed = look.headers, look.user_agent
    hints, site = headers.get("sec-ch-ua"), headers.get("sec-fetch-site")
    labels = []
    if hints is not None:
        if "Headless" in hints:
            labels.append("http.client_hints_headless")
        if claimed.engine and not _hints_agree(headers, claimed, hints):
            labels.append("http.client_hints_mismatch")
    elif site is not None and not claimed.embedded and claimed.major >= HINTS_SINCE.get(claimed.engine, 1_000_000):
        labels.append("http.client_hints_missing")
    if site is not None:
        if not _fetch_agrees(headers, site):
            labels.append("http.fetch_metadata_mismatch")
    elif not claimed.embedded and claimed.major >= FETCH_METADATA_SINCE.get(claimed.engine, 1_000_000):
        labels.append("http.fetch_metadata_missing")
    return labels


def _hints_agree(headers: Mapping[str, str], claimed: UserAgentView, hints: str) -> bool:
    # Only Chromium sends them.
    if claimed.engine != "chromium" or claimed.hint not in hints:
        return False
    if headers.get("sec-ch-ua-mobile", claimed.mobile_hint) != claimed.mobile_hint:
        return False
    platform = claimed.platform_hint
    return not platform or headers.get("sec-ch-ua-platform", platform) == platform


def _fetch_agrees(headers: Mapping[str, str], site: str) -> bool:
    mode, destination = headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")
    if site not in SITES or (mode is not None and mode not in MODES):
        return False
    if mode == "navigate":
        return destination is None or destination in NAVIGATION_DESTINATIONS
    # Only a navigation comes from a person's own hand.
    return "sec-fetch-user" not in headers
