"""SitePage: a parsed URL of a site: its origin, and the protections of all routes that it could match."""

from msgspec import Struct

from agentgate.decision.scoring.score import FigureReading
from agentgate.decision.signals.paths import OPEN_LABELS, path_labels
from agentgate.decision.signals.request_class import is_file
from agentgate.gateway.request.described_request import origin_at
from agentgate.gateway.request.original_request import check_method, read_origin, split_url
from agentgate.gateway.route_protection import (
    ALL_PATHS,
    ANY_ROUTE,
    OPENED,
    MethodClaims,
    Protection,
    other_target,
    protections_of,
)
from agentgate.gateway.site_snapshot import SiteSnapshot
from agentgate.lib.bounded_cache import BoundedCache
from agentgate.sites.open_paths import OpenPath
from agentgate.sites.request_matcher import RequestMatcher
from agentgate.sites.request_methods import KNOWN_METHODS
from agentgate.sites.rules.evaluate import NO_TRAITS, Traits
from agentgate.sites.rules.patterns.robots_rules import RobotsVerdict

_KINDS, _ORIGINS = 4_096, 256


class PageKind:
    """Pages of a site that clearances, rules and models cannot distinguish. There is one object of each."""

    __slots__ = (
        "decoy",
        "has_named_route",
        "is_decoy",
        "is_file",
        "is_foreign",
        "labels",
        "open_path",
        "opened",
        "origin",
        "protections",
        "robots",
        "target",
        "traits",
    )

    def __init__(
        self,
        origin: str,
        protections: tuple[Protection, ...],
        target: str,
        traits: Traits,
        labels: tuple[str, ...] = (),
        *,
        is_foreign: bool = False,
    ) -> None:
        self.origin = origin
        # `path.*`.
        self.labels = labels
        # Whether the site does not have the host that the proxy routes by.
        self.is_foreign = is_foreign
        # The ruling of the site's robots.txt on the page.
        self.robots: RobotsVerdict | None = None
        # The hidden link that the adapter adds to the page, and whether the page is such a link's target.
        self.decoy = b""
        self.is_decoy = False
        # Whether a subresource with this path is certainly not a page.
        self.is_file = is_file(target)
        # The path that the site opened to one sender, and the page kind that applies to that sender.
        self.open_path: OpenPath | None = None
        self.opened: PageKind | None = None
        # Each must let the request pass.
        self.protections = protections
        # Whether the site has a route that names the page, which no claim opens.
        self.has_named_route = any(each.route not in {ANY_ROUTE, ALL_PATHS} for each in protections)
        # The target of the first page of the kind: models read at most its length, and these all score alike.
        self.target = target
        # Results of the rules' predicates on method, path and host.
        self.traits = traits


class SitePage(Struct, frozen=True, eq=False, gc=False):
    """A URL of a site."""

    # Undecoded, with its query.
    target: str
    kind: PageKind


class Pages:
    """Reads URLs, with one set of models."""

    def __init__(self, figures: FigureReading) -> None:
        self._lengths = figures.ranks_of("target_length")
        # By scheme and authority as they were sent: the origin, and its host.
        self._origins: BoundedCache[bytes, tuple[str, bytes]] = BoundedCache(_ORIGINS)
        self._kinds: BoundedCache[tuple[object, ...], PageKind] = BoundedCache(_KINDS)

    def read(self, site: SiteSnapshot, claims: MethodClaims, url: bytes | None) -> SitePage:
        method, view = claims.method, site.view
        if method not in KNOWN_METHODS:
            check_method(method)
        start, data = split_url(url or b"")
        origin, host = self._origins.young.get(start) or self._find_origin(start)
        is_foreign = False
        if claims.host:
            origin, is_known = origin_at(view.origins, origin, claims.host)
            host, is_foreign = claims.host, not is_known
        target = data.decode("latin-1")
        labels = path_labels(method, target, view.feeds) if claims.is_plain and not is_foreign else ()
        is_open = not OPEN_LABELS.isdisjoint(labels)
        protections = protections_of(view, claims, data, host, is_open=is_open)
        traits = NO_TRAITS
        if view.matcher is not None:
            traits = _traits_of(view.matcher, claims, data, host.decode("latin-1"), is_foreign=is_foreign)
        # Signals and counting depend on this property of the target, in addition to its length.
        names_file = is_file(target)
        # A path is open to one sender. A request that may be another one is not.
        is_bound = not (claims.overrides or claims.retargets)
        open_path = None if claims.targets or is_foreign else view.open_paths.find(target, method if is_bound else "")
        length = self._lengths[len(target)]
        robots = None if view.robots is None else view.robots.judge(target)
        is_decoy = bool(site.decoys) and target.partition("?")[0] in site.decoys
        key = (site, origin, protections, length, labels, names_file, open_path, traits, is_foreign, robots, is_decoy)
        kind = self._kinds.young.get(key) or self._kinds.promote(key)
        if kind is None:
            made = PageKind(origin, protections, target, traits, labels, is_foreign=is_foreign)
            made.robots, made.decoy, made.is_decoy = robots, site.decoy, is_decoy
            kind = self._kinds.put(key, made)
            if open_path is not None:
                kind.open_path = open_path
                kind.opened = PageKind(origin, (OPENED,), target, traits, labels)
                kind.opened.robots = robots
        return SitePage(target, kind)

    def _find_origin(self, start: bytes) -> tuple[str, bytes]:
        found = self._origins.promote(start)
        if found is None:
            origin = read_origin(start)
            found = self._origins.put(start, (origin, origin.partition("://")[2].encode()))
        return found


def _traits_of(matcher: RequestMatcher, claims: MethodClaims, data: bytes, host: str, *, is_foreign: bool) -> Traits:
    """Return the results of the rules' predicates, also for other targets and hosts that the request could have."""
    traits = matcher.of_page(claims.method, claims.overrides, data, host)
    maybe = traits.maybe | (matcher.host_bits if is_foreign else 0)
    if claims.targets:
        other = matcher.of_page(claims.method, claims.overrides, other_target(claims, data), host)
        maybe |= other.sure | other.maybe
    return traits._replace(maybe=maybe & ~traits.sure)
