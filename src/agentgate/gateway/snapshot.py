"""Snapshot: the threat data, models and keys that checks are decided with, and every cache that is derived from them.

A change makes a new snapshot with empty caches. A change of a site replaces only that site's part, and with it all that
was cached for it: every key holds the site. Nothing else is ever dropped by hand.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence

from agentgate.browser_check.tokens.clearance import Clearances
from agentgate.decision.engine import Views
from agentgate.decision.scoring.score import ModelView
from agentgate.decision.signals.facts import NETWORK_EXTREME, NETWORK_HIGH, VISITOR_EXTREME, VISITOR_HIGH
from agentgate.decision.threat_data.intel import Intel
from agentgate.gateway.decisions import CachedDecision, DecisionKey, ExceededKey
from agentgate.gateway.header_fingerprints import (
    FingerprintKey,
    HeaderFingerprint,
    HeaderSet,
    HeaderSetKey,
)
from agentgate.gateway.pages import SitePage
from agentgate.gateway.site_snapshot import SiteSnapshot
from agentgate.gateway.visitors import Visitor
from agentgate.lib.bounded_cache import BoundedCache
from agentgate.lib.keyring import Keyring
from agentgate.lib.limits import GATEWAY_REQUESTS_PER_MINUTE
from agentgate.sites.directory import SiteView

# Entries of the young generation. The old generation holds up to the same number.
HEADER_SETS, FINGERPRINTS, PAGES, DECISIONS, VISITORS = 8_192, 8_192, 8_192, 16_384, 45_000
RATES = 8_192
# The purposes whose keys make visitor IDs and sign clearances.
_KEYS = ("visitor", "clearance")


class RateRanks(dict[int, int]):
    """A rate as far as signals and models can tell: the steps that it has reached, and its rank for the models."""

    def __init__(self, steps: Sequence[int], ranks: Mapping[int, int]) -> None:
        super().__init__()
        self._steps = steps
        self._ranks = ranks

    def __missing__(self, rate: int) -> int:
        rank = self._ranks[rate] * (len(self._steps) + 1) + bisect_right(self._steps, rate)
        if len(self) < RATES:
            self[rate] = rank
        return rank


class Snapshot:
    """Threat data, models, keys and sites at one moment, with their caches."""

    def __init__(self, intel: Intel, models: ModelView, keyring: Keyring) -> None:
        self.intel = intel
        self.models = models
        self.views = Views(intel, models)
        self.keys = current_keys(keyring)
        ranks_of = models.reading.ranks_of
        self.cookie_ranks = ranks_of("cookie_count")
        steps = (VISITOR_HIGH, VISITOR_EXTREME, GATEWAY_REQUESTS_PER_MINUTE + 1)
        self.visitor_ranks = RateRanks(steps, ranks_of("rate_visitor"))
        self.network_ranks = RateRanks((NETWORK_HIGH, NETWORK_EXTREME), ranks_of("rate_network"))
        self.header_sets: BoundedCache[HeaderSetKey, HeaderSet] = BoundedCache(HEADER_SETS)
        self.fingerprints: BoundedCache[FingerprintKey, HeaderFingerprint] = BoundedCache(FINGERPRINTS)
        self.pages: BoundedCache[tuple[object, ...], SitePage] = BoundedCache(PAGES)
        self.decisions: BoundedCache[DecisionKey | ExceededKey, CachedDecision] = BoundedCache(DECISIONS)
        self.visitors: BoundedCache[tuple[object, ...], Visitor] = BoundedCache(VISITORS)
        # By the site's number. After a change the site is read again, because its view is a new object.
        self.sites: dict[int, SiteSnapshot] = {}
        # Of the sites' decoys.
        self.day = 0

    def read_site(self, view: SiteView, clearances: Clearances) -> SiteSnapshot:
        """Create a site's snapshot, which replaces the snapshot of an earlier view."""
        site = self.sites[view.number] = SiteSnapshot(view, clearances.cookie_name(view.site_key), self.day)
        return site

    def begin_day(self, day: int) -> None:
        """Have the sites with decoys read again on a new day, with its links."""
        if day == self.day:
            return
        self.day = day
        for number in [number for number, site in self.sites.items() if site.decoys]:
            del self.sites[number]


def current_keys(keyring: Keyring) -> tuple[bytes, ...]:
    """Return the keys by value: they are reloaded every few seconds as new objects."""
    return tuple(map(keyring.current, _KEYS))
