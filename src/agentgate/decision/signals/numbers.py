"""NUMBERS: the numeric features that a model may use in addition to labels, each with its meaning."""

from agentgate.decision.signals.detectors.content import count_links
from agentgate.decision.signals.facts import RequestFacts

NUMBERS: dict[str, str] = {
    "header_count": "Number of headers",
    "ua_length": "Length of the User-Agent",
    "accept_language_count": "Number of languages in Accept-Language",
    "cookie_count": "Number of cookies",
    "target_length": "Length of path and query",
    "rate_visitor": "Requests of the visitor within a minute",
    "rate_network": "Requests of the visitor's /24 or /64 within a minute",
    "content_length": "Length of submitted content",
    "content_links": "Number of links in submitted content",
}
# Numeric features of content; 0 without content.
OF_CONTENT = frozenset(("content_length", "content_links"))


def measure(facts: RequestFacts, **of_headers: float) -> dict[str, float]:
    """Return every numeric feature. The caller passes those from headers; a feature with nothing to count is 0."""
    content = facts.content
    return {
        **of_headers,
        "target_length": len(facts.target),
        "rate_visitor": facts.rates.visitor,
        "rate_network": facts.rates.network,
        "content_length": len(content) if content else 0,
        "content_links": count_links(content) if content else 0,
    }
