"""Directions: whether a feature may raise a score, lower it, or both.

Training keeps to them (more evidence against a client never lowers a score), and the review of labels looks for people
whose evidence contradicts their label.
"""

from agentgate.decision.signals.families import FAMILIES
from agentgate.decision.signals.numbers import NUMBERS
from agentgate.lib.enums import ModelKind

AGAINST, EITHER, FOR = 1, 0, -1

# Any client sets these as it likes, so a model of them learns one program and loses it with its next release.
CLIENT_SET = frozenset(("header_count", "ua_length", "accept_language_count", "cookie_count", "target_length"))
# Names, networks and what is added after scoring.
NEVER_LEARNED = ("agent.name", "decoy", "net.asn", "robots.disallowed", "ua.refused")

_FOR = frozenset(
    (
        "agent.program_named",
        "agent.program_verified",
        "agent.search_verified",
        "agent.verified",
        "list.allow",
        "privacy_pass.verified",
        "probes.right",
        "receipt.browser",
        "receipt.clearance",
        "receipt.handoff",
        "receipt.valid",
        "ua.wanted",
    )
)
_EITHER = frozenset(
    (
        "agent.search_unconfirmed",
        "agent.search_unknown",
        "behavior.keyboard_only",
        "behavior.none",
        "browser.evidence",
        "browser.software_renderer",
        "http.plain_origin",
        "http.via",
        "net.private",
        "probes.unproven",
        "receipt.agent",
        "receipt.clearance_low",
        "receipt.missing",
        "receipt.test",
        "ua.app",
        "ua.bare",
        "ua.browser",
        "ua.claims_browser",
        "ua.console",
        "ua.legacy",
        "ua.old",
        "ua.text_browser",
        "ua.tv",
        "ua.webview",
    )
)
_AGAINST_SOURCES = ("behavior", "browser", "cluster", "content", "evidence", "http", "input", "probes", "rate", "ua")
_AGAINST = frozenset(
    ("agent.invalid", "agent.search_forged", "agent.unverified", "list.block", "net.datacenter", "net.tor", "net.vpn")
)
_AGAINST_NUMBERS = frozenset(("content_links", "rate_network", "rate_visitor"))

# The default rules challenge or block these by themselves.
DECISIVE = frozenset(
    (
        "browser.automation",
        "browser.headless",
        "browser.webdriver",
        "http.client_hints_mismatch",
        "http.fetch_metadata_mismatch",
        "http.unlike_browser",
    )
)
# One of these alone has benign causes: extensions, privacy tools, assistive tools, old devices, proxies.
INNOCENT_ALONE = tuple(
    sorted(
        {label for labels in FAMILIES.values() for label in labels if label not in DECISIVE}
        | {"browser.no_plugins", "browser.no_timezone", "browser.language_mismatch", "browser.instrument_failed"}
        | {"behavior.click_only", "behavior.straight_pointer", "behavior.uniform_timing", "behavior.too_fast"}
        | {"http.accept_language_missing", "http.connection_close", "http.few_headers", "http.many_headers"}
        | {"http.duplicate_header", "input.foreign_clock", "input.missing", "net.datacenter", "net.vpn", "ua.unknown"}
        | {name for name in _EITHER if name.startswith(("behavior.", "browser.software", "http.", "ua."))}
        - {"ua.browser"}
    )
)


def direction_of(name: str, kind: ModelKind = ModelKind.BOT) -> int:
    """Return AGAINST, FOR or EITHER. No feature is evidence of an agent in itself."""
    if kind is ModelKind.AGENT or name in _EITHER:
        return EITHER
    if name in _FOR:
        return FOR
    if name in NUMBERS:
        return AGAINST if name in _AGAINST_NUMBERS else EITHER
    return AGAINST if name in _AGAINST or name.partition(".")[0] in _AGAINST_SOURCES else EITHER


def is_learned(name: str) -> bool:
    """Return whether training may use a feature."""
    return name not in CLIENT_SET and not any(name == part or name.startswith(part + ".") for part in NEVER_LEARNED)
