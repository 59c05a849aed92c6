"""Which of a site's routes a request falls under: method and path to route and action (hot)."""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec
from msgspec import UnsetType

from agentgate.protection.sites.records import SiteRoute

ANY_METHOD = "*"
ANY_ROUTE = "*"


class MatchedRoute(NamedTuple):
    """A route as decisions name it, and its action."""

    # `/login` for a path, `/api/*` for a prefix, `*` when the site has no route for the request.
    route: str
    action: str | None


UNMATCHED = MatchedRoute(ANY_ROUTE, None)


class RouteTable:
    """A site's routes, ready to be searched. An exact path goes before a prefix, a longer prefix before a shorter."""

    def __init__(self, routes: Iterable[SiteRoute]) -> None:
        self._routes = list(routes)
        self._exact: dict[tuple[str, str], MatchedRoute] = {}
        prefixes: list[tuple[str, str, MatchedRoute]] = []
        for route in self._routes:
            if isinstance(route.path, UnsetType):
                assert isinstance(route.path_prefix, str), "a route has exactly one of the two"
                name = f"{route.path_prefix}*"
                prefixes.append((route.path_prefix, route.method, MatchedRoute(name, route.action)))
            else:
                # Of two that say the same the first counts, as with prefixes.
                self._exact.setdefault((route.method, route.path), MatchedRoute(route.path, route.action))
        prefixes.sort(key=lambda each: -len(each[0]))
        self._prefixes = tuple(prefixes)
        self.is_empty = not self._exact and not prefixes

    def folded(self) -> "RouteTable":
        """Return the table for paths in small letters; this one when it has no others."""
        small = [
            msgspec.structs.replace(
                route,
                path=route.path if isinstance(route.path, UnsetType) else route.path.lower(),
                path_prefix=route.path_prefix
                if isinstance(route.path_prefix, UnsetType)
                else route.path_prefix.lower(),
            )
            for route in self._routes
        ]
        return self if small == self._routes else RouteTable(small)

    def match(self, method: str, path: str) -> MatchedRoute:
        """Return the route that a request falls under. A named method goes before any method."""
        found = self._exact.get((method, path)) or self._exact.get((ANY_METHOD, path))
        if found is not None:
            return found
        other: MatchedRoute | None = None
        length = 0
        for prefix, its_method, matched in self._prefixes:
            if other is not None and len(prefix) < length:
                break
            if path.startswith(prefix):
                if its_method == method:
                    return matched
                if its_method == ANY_METHOD and other is None:
                    other, length = matched, len(prefix)
        return other or UNMATCHED
