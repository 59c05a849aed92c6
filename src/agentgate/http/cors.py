"""Cross-origin resource sharing: headers that let pages of other origins read a response.

Responses with these headers need no credentials: their routes read no cookie.
"""

import re

from agentgate.http.request import Request

Headers = tuple[tuple[str, str], ...]

# For responses that are equal for all clients.
OPEN_TO_ALL: Headers = (("access-control-allow-origin", "*"), ("cross-origin-resource-policy", "cross-origin"))
# Longer than this, Chromium asks again anyway.
PREFLIGHT_MAX_AGE_S = 7_200
# An origin as a browser serializes it, or `null` for a page that has none.
_ORIGIN = re.compile(r"(?:[a-z][a-z0-9+.-]*://[A-Za-z0-9._~%:\[\]-]{1,255}|null)\Z", re.ASCII)


def cors_headers(request: Request) -> Headers:
    """Return the headers that let the requesting page read the response, including errors.

    The handler decides which origins are allowed.
    """
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


def preflight_headers(methods: tuple[str, ...]) -> Headers:
    """Return the response headers of a preflight request."""
    return (
        ("access-control-allow-methods", ", ".join(methods)),
        ("access-control-allow-headers", "Content-Type"),
        ("access-control-max-age", str(PREFLIGHT_MAX_AGE_S)),
    )
