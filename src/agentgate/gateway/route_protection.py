"""The protections of a request: one for each route of the site that the request may match.

Proxies and frameworks disagree on `%2f`, `//`, `..`, `;` and capital letters, and on whether a client may change a
request's method. So a request is compared with every route that any of them could run for it, and each must allow it.
"""

from msgspec import Struct

from agentgate.sites.directory import SiteView
from agentgate.sites.request_methods import methods_of
from agentgate.sites.route_table import MatchedRoute

# The route of a request for which the site has none.
ANY_ROUTE = "*"


class Protection(Struct, frozen=True, gc=False):
    """The route as decisions name it, its action, and whether a token or clearance is needed."""

    route: str
    action: str | None
    required: bool
    # Whether a clearance will do, as opposed to a token for each request.
    clearance: bool = False
    # The site opened the path to this sender: rules are not asked.
    opened: bool = False


OPEN = Protection(ANY_ROUTE, None, required=False)
OPENED = Protection(ANY_ROUTE, None, required=False, opened=True)
# The route of all paths, as decisions name it.
ALL_PATHS = "/*"


class MethodClaims(Struct, frozen=True, gc=False, cache_hash=True):
    """The methods, and the further targets and host, that a request names in its request line and headers."""

    method: str
    # Values of the headers that override it.
    overrides: tuple[bytes, ...] = ()
    # Whether servers could read fields from the body, of which one may override the method.
    has_fields: bool = False
    # Targets that other headers name, as one text.
    targets: bytes = b""
    # The host that the proxy routes by, where it is not the printed one.
    host: bytes = b""
    # Whether another header names a target that servers behind the proxy may use instead.
    retargets: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether the request line alone decides which resource is meant."""
        return not (self.overrides or self.retargets or self.targets)


def protections_of(
    site: SiteView, claims: MethodClaims, target: bytes, host: bytes = b"", *, is_open: bool = False
) -> tuple[Protection, ...]:
    """Return the protection of every route that the request could be; OPEN alone when it could be none.

    A route for all paths does not cover standard paths and feeds (`is_open`).
    """
    routes = site.routes
    if routes.is_empty:
        return (OPEN,)
    methods = methods_of(
        claims.method,
        target,
        overrides=claims.overrides,
        has_fields=claims.has_fields,
        form_override=site.form_method_override,
    )
    matches = routes.matches(methods, target, host)
    if claims.targets:
        matches = tuple(dict.fromkeys((*matches, *routes.matches(methods, other_target(claims, target), host))))
    elif is_open and routes.has_all_paths:
        matches = tuple(each for each in matches if each.route != ALL_PATHS)
    return tuple([_protection_of(site, matched) for matched in matches]) or (OPEN,)


def other_target(claims: MethodClaims, target: bytes) -> bytes:
    """Return the targets that headers name as one odd target, so that it could be any route with these words."""
    return b"//%b %b" % (claims.targets, target)


def strongest(protections: tuple[Protection, ...]) -> Protection:
    """Return the strongest protection; of equal ones the first."""
    return max(protections, key=lambda each: (each.required, not each.clearance))


def _protection_of(site: SiteView, matched: MatchedRoute) -> Protection:
    route, name = matched
    # No action has an empty name.
    action = site.actions.get(name or "")
    if action is None:
        return Protection(route, name, required=False)
    return Protection(route, name, action.browser_required, action.clearance is True)
