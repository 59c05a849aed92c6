"""Which requests need a token, and for which action."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Route:
    """A method and a path. The path is exact, with or without a final slash, or a prefix that ends in `/*`.

    `*` stands for every method; a route for GET also covers HEAD.
    """

    method: str
    path: str
    action: str

    def __post_init__(self) -> None:
        if not self.path.startswith("/"):
            raise ValueError(f"{self.path!r} is not a path; write it as the application sees it, such as /signup")

    def matches(self, method: str, path: str) -> bool:
        """Return whether a request needs a token for this route."""
        asked = "GET" if method.upper() == "HEAD" else method.upper()
        if self.method != "*" and self.method.upper() != asked:
            return False
        # Frameworks differ in whether they forgive a final or a doubled slash; here all of those are covered.
        plain = _plain(path)
        if self.path.endswith("/*"):
            prefix = _plain(self.path[:-2])
            return plain == prefix or plain.startswith(prefix.rstrip("/") + "/")
        return plain == _plain(self.path)


def find_route(routes: Iterable[Route], method: str, path: str) -> Route | None:
    """Return the first route that covers a request."""
    return next((route for route in routes if route.matches(method, path)), None)


def _plain(path: str) -> str:
    return "/" + "/".join(part for part in path.split("/") if part)
