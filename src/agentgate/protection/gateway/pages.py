"""Page: a URL of a site, read once: its origin, and the protection of the routes that a request for it could be."""

from agentgate.lib.bounded_cache import BoundedCache
from agentgate.protection.gateway.original_request import check_method, read_origin, split_url
from agentgate.protection.gateway.route_protection import MethodClaims, Protection, protections_of
from agentgate.protection.gateway.site_snapshot import SiteSnapshot
from agentgate.protection.rules.evaluate import NO_TRAITS, Traits
from agentgate.protection.scoring.score import FigureReading

_KINDS, _ORIGINS = 4_096, 256


class PageKind:
    """What neither clearance nor rules nor models can tell apart of a site's pages. There is one of each."""

    __slots__ = ("origin", "protections", "target", "traits")

    def __init__(self, origin: str, protections: tuple[Protection, ...], target: str, traits: Traits) -> None:
        self.origin = origin
        # Each must let the request pass.
        self.protections = protections
        # That of the first page of the kind: models tell targets apart by their length at most, and these they do not.
        self.target = target
        # What the predicates of the site's rules say of method, path and host.
        self.traits = traits


class Page:
    """A URL of a site."""

    __slots__ = ("kind", "target")

    def __init__(self, target: str, kind: PageKind) -> None:
        # Undecoded, with its query.
        self.target = target
        self.kind = kind


class Pages:
    """Reads URLs, with one set of models."""

    def __init__(self, figures: FigureReading) -> None:
        self._lengths = figures.ranks_of("target_length")
        self._origins: BoundedCache[bytes, str] = BoundedCache(_ORIGINS)
        self._kinds: BoundedCache[tuple[object, ...], PageKind] = BoundedCache(_KINDS)

    def read(self, site: SiteSnapshot, claims: MethodClaims, url: bytes | None) -> Page:
        """Return the page that is asked for."""
        check_method(claims.method)
        start, target = split_url(url or b"")
        origin = self._origins.get(start) or self._origins.put(start, read_origin(start))
        host = origin.partition("://")[2].encode()
        protections = protections_of(site.view, claims, target.encode("latin-1"), host)
        traits = NO_TRAITS
        if site.view.matcher is not None:
            traits = site.view.matcher.of_page(claims.method, claims.overrides, target.encode("latin-1"), host.decode())
        key = (site, origin, protections, self._lengths[len(target)], traits)
        kind = self._kinds.get(key) or self._kinds.put(key, PageKind(origin, protections, target, traits))
        return Page(target, kind)
