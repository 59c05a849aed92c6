"""What guards and scopes share: the errors and security schemes that OpenAPI lists, and the origin of a call."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from agentgate.http.request import Request
from agentgate.lib.errors import Refused

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class DeclaredErrors:
    """Error codes, and alternatives to satisfy the guard: each is a set of security schemes."""

    refuses: tuple[str, ...] = ()
    security: tuple[tuple[str, ...], ...] = ()


def declares(*, refuses: tuple[str, ...] = (), security: tuple[tuple[str, ...], ...] = ()) -> Callable[[F], F]:
    """Declare the errors and the security schemes of a guard or scope."""

    def mark(function: F) -> F:
        function.declared = DeclaredErrors(refuses, security)  # type: ignore[attr-defined]
        return function

    return mark


def declared_errors(function: Callable[..., Any] | None) -> DeclaredErrors:
    """Return the declaration of a guard or scope."""
    return getattr(function, "declared", DeclaredErrors())


# Scheme and host only. `null` does not match: it is never an origin of ours.
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://([^/?#@\\\s]+)\Z", re.ASCII | re.IGNORECASE)


def check_same_origin(request: Request) -> None:
    """Reject requests of another site's page. Clients that are not browsers send no origin and pass."""
    site = request.header("sec-fetch-site")
    if site is not None:
        if site not in {"same-origin", "none"}:
            raise Refused("cross_origin")
        return
    origin = request.header("origin")
    if origin is None:
        return
    # The scheme is ignored: behind a proxy that terminates TLS, this service sees http where the browser saw https.
    match = _ORIGIN.match(origin)
    if match is None or match[1].lower() != (request.header("host") or "").lower():
        raise Refused("cross_origin")


def check_browser_origin(request: Request) -> None:
    """Reject a form unless the browser proves that it comes from a page of this origin.

    A form needs no permission to be sent to another site, so a missing header is not enough. Every browser sends one of
    the two.
    """
    if request.header("sec-fetch-site") is None and request.header("origin") is None:
        raise Refused("cross_origin", "A form must come from a page of this service: its Origin is missing.")
    check_same_origin(request)
