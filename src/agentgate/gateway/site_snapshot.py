"""SiteSnapshot: a site's part of the snapshot. Cache keys of a site's entries contain it."""

from agentgate.http.connection.head_names import KEPT
from agentgate.http.request_guard import Fields
from agentgate.lib.bounded_cache import BoundedCache
from agentgate.sites.decoys import html_of, link_of, targets_on
from agentgate.sites.directory import SiteView
from agentgate.sites.lists.site_lists import stronger
from agentgate.sites.request_matcher import RequestMatcher
from agentgate.sites.rules.evaluate import Traits
from agentgate.sites.rules.patterns.predicates import USER_AGENT_HEADER

_FINGERPRINTS = 4_096
# The key of header traits: fingerprint, User-Agent and languages.
HeaderValues = tuple[object, bytes | None, bytes | None]
_KEPT_NAMES = (*(name.decode() for name in KEPT), USER_AGENT_HEADER, "accept-language")


class SiteSnapshot:
    """One site as checks see it."""

    __slots__ = ("cookie_name", "decoy", "decoys", "key", "traits", "view")

    def __init__(self, view: SiteView, cookie_name: str, day: int = 0) -> None:
        self.view = view
        self.key = view.site_key.encode()
        self.cookie_name = cookie_name.encode()
        # The link that pages of the day have, and the targets that count as decoys; none where the site has none.
        self.decoy = html_of(link_of(view.id, day)).encode() if view.decoys else b""
        self.decoys = targets_on(view.id, day) if view.decoys else frozenset()
        # None where neither rules nor lists ask for more than labels, scores and routes.
        self.traits = None if view.matcher is None else HeaderTraits(view.matcher)


class HeaderTraits:
    """Results of the site's rules and lists on a check's headers.

    Headers whose values lead to a fingerprint are read once for all checks with these values; the others each time.
    """

    __slots__ = ("_by_values", "_changing", "_kept", "_matcher", "reads_each")

    def __init__(self, matcher: RequestMatcher) -> None:
        self._matcher = matcher
        self._kept = matcher.header_predicates(_KEPT_NAMES)
        self._changing = matcher.header_predicates(_KEPT_NAMES, others=True)
        self._by_values: BoundedCache[HeaderValues, Traits] = BoundedCache(_FINGERPRINTS)
        self.reads_each = bool(self._changing)

    def find(self, key: HeaderValues) -> Traits | None:
        return self._by_values.get(key)

    def read(self, key: HeaderValues, fields: Fields) -> Traits:
        def value_of(name: str) -> str | None:
            return _value(fields, name)

        listed = self._matcher.of_program(value_of(USER_AGENT_HEADER))
        traits = listed._replace(sure=self._matcher.of_headers(self._kept, value_of))
        return self._by_values.put(key, traits)

    def combine(self, client: Traits, page: Traits, headers: Traits, fields: Fields) -> Traits:
        """Return the traits of a whole check."""
        sure = client.sure | page.sure | headers.sure
        if self.reads_each:
            sure |= self._matcher.of_headers(self._changing, lambda name: _value(fields, name))
        listed = stronger(client, headers)
        return Traits(sure, page.maybe, listed.listed, listed.rank)


def _value(fields: Fields, name: str) -> str | None:
    value = fields.get(name.encode())
    return None if value is None else value.decode("latin-1").lower()
