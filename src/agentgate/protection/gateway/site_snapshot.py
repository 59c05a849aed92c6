"""SiteSnapshot: a site's part of the snapshot. Cache keys of a site's entries contain it."""

from collections.abc import Mapping

from agentgate.http.connection.head import KEPT
from agentgate.lib.bounded_cache import BoundedCache
from agentgate.protection.lists.site_lists import stronger
from agentgate.protection.rules.evaluate import Traits
from agentgate.protection.rules.patterns.predicates import USER_AGENT_HEADER
from agentgate.protection.sites.directory import SiteView
from agentgate.protection.sites.request_matcher import RequestMatcher

_FINGERPRINTS = 4_096
_KEPT_NAMES = tuple(name.decode() for name in KEPT)

Fields = Mapping[bytes, bytes]


class SiteSnapshot:
    """One site as checks see it."""

    __slots__ = ("cookie_name", "key", "traits", "view")

    def __init__(self, view: SiteView, cookie_name: str) -> None:
        self.view = view
        self.key = view.site_key.encode()
        self.cookie_name = cookie_name.encode()
        # None where neither rules nor lists ask for more than labels, scores and routes.
        self.traits = None if view.matcher is None else HeaderTraits(view.matcher)


class HeaderTraits:
    """What the site's rules and lists say of a check's headers.

    Headers whose value is part of a fingerprint's key are read once for each fingerprint; the others each time.
    """

    __slots__ = ("_by_fingerprint", "_changing", "_kept", "_matcher", "reads_each")

    def __init__(self, matcher: RequestMatcher) -> None:
        self._matcher = matcher
        self._kept = matcher.header_predicates(_KEPT_NAMES)
        self._changing = matcher.header_predicates(_KEPT_NAMES, others=True)
        self._by_fingerprint: BoundedCache[object, Traits] = BoundedCache(_FINGERPRINTS)
        self.reads_each = bool(self._changing)

    def find(self, fingerprint: object) -> Traits | None:
        """Return the cached traits of a fingerprint."""
        return self._by_fingerprint.get(fingerprint)

    def read(self, fingerprint: object, fields: Fields) -> Traits:
        """Read the traits of the headers, and cache them by the fingerprint."""

        def value_of(name: str) -> str | None:
            return _value(fields, name)

        listed = self._matcher.of_program(value_of(USER_AGENT_HEADER))
        traits = listed._replace(sure=self._matcher.of_headers(self._kept, value_of))
        return self._by_fingerprint.put(fingerprint, traits)

    def combine(self, client: Traits, page: Traits, fingerprint: Traits, fields: Fields) -> Traits:
        """Return the traits of a whole check."""
        sure = client.sure | page.sure | fingerprint.sure
        if self.reads_each:
            sure |= self._matcher.of_headers(self._changing, lambda name: _value(fields, name))
        listed = stronger(client, fingerprint)
        return Traits(sure, page.maybe, listed.listed, listed.rank)


def _value(fields: Fields, name: str) -> str | None:
    value = fields.get(name.encode())
    return None if value is None else value.decode("latin-1").lower()
