"""Facts for the tests of signals: a plain browser's request, which a test can change."""

from typing import Any

from agentgate.decision.signals.facts import RequestFacts

CHROME = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36"
)
PHONE = (
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Mobile Safari/537.36"
)


def make_facts(*, user_agent: str = CHROME, **changes: Any) -> RequestFacts:
    """Return the facts of a request."""
    headers = (("user-agent", user_agent), ("accept", "*/*"), ("accept-encoding", "gzip"), ("accept-language", "en"))
    return RequestFacts(
        **{"now_ms": 0, "method": "GET", "target": "/", "address": "81.2.69.160", "headers": headers, **changes}
    )
