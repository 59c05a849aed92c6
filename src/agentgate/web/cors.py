"""Cross-origin resource sharing: what tells a browser that a page of another origin may read an answer.

No answer with these headers carries credentials: nothing here ever looks at a cookie.
"""

import re
from enum import Enum

from agentgate.web.request import Request

Headers = tuple[tuple[str, str], ...]

# Longer than this, Chromium asks again anyway.
PREFLIGHT_MAX_AGE_S = 7_200
# An origin as a browser serialises it, or `null` for a page that has none.
_ORIGIN = re.compile(r"(?:[a-z][a-z0-9+.-]*://[A-Za-z0-9._~%:\[\]-]{1,255}|null)\Z", re.ASCII)


class Cors(Enum):
    """Who may read."""

    # The same answer for everybody.
    ANYBODY = "anybody"
    # Whoever asks, by name. Which origins are served is the handler's to say; the page must be able to read a refusal.
    ECHO = "echo"


def cors_headers(cors: Cors, request: Request) -> Headers:
    """Return the headers that an answer carries."""
    if cors is Cors.ANYBODY:
        return (("access-control-allow-origin", "*"), ("cross-origin-resource-policy", "cross-origin"))
    vary = ("vary", "Origin")
    origin = request.header("origin")
    if origin is None or not _ORIGIN.match(origin):
        return (vary,)
    return (
        ("access-control-allow-origin", origin),
        ("access-control-expose-headers", "Retry-After, X-Request-Id"),
        ("cross-origin-resource-policy", "cross-origin"),
        vary,
    )


def preflight_headers(cors: Cors, request: Request, methods: tuple[str, ...]) -> Headers:
    """Return what a browser wants to know before it sends the request itself."""
    return (
        *cors_headers(cors, request),
        ("access-control-allow-methods", ", ".join(methods)),
        ("access-control-allow-headers", "Content-Type"),
        ("access-control-max-age", str(PREFLIGHT_MAX_AGE_S)),
    )
