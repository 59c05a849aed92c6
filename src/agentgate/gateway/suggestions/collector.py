"""SuggestionCollector: counts denied requests of programs in groups, and saves groups that pass the thresholds.

Only denied requests cost time here. Memory is bounded for each site and in total, a network may open few groups of a
site, and proven senders have separate room, so an attacker cannot evict them. A group is saved from its fifth request
on, if it came from enough networks: neither one address nor one network can create a suggestion.
"""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from agentgate.decision.threat_data.views import UserAgentView
from agentgate.decision.visitor import Visitors
from agentgate.gateway.suggestions.masking import (
    mask_path,
    name_of,
    origin_of,
    owner_of,
    sender_of_headers,
)
from agentgate.gateway.suggestions.records import MOST_NETWORKS, SeenGroup, SuggestionGroup
from agentgate.lib.clock import DAY_MS, HOUR_MS, SECOND_MS
from agentgate.lib.tasks.background import BackgroundTasks
from agentgate.sites.directory import SiteView

LEAST_REQUESTS = 5
# Of a sender that nothing proves; of a proven one so many addresses.
LEAST_NETWORKS, LEAST_ADDRESSES = 3, 2
# Groups of a site, of unproven and of proven senders each; new ones of one network within an hour; groups in all.
MOST_OF_SITE, MOST_OF_NETWORK, MOST_GROUPS = 100, 5, 10_000
# Networks whose new groups are counted within an hour.
MOST_COUNTED = 1_000
# One save in so much time, with so many groups.
SAVE_EVERY_MS, MOST_SAVED = 10 * SECOND_MS, 100

Save = Callable[[list[SeenGroup]], Awaitable[None]]


class RefusedRequest(NamedTuple):
    """The parts of a denied request that the collector reads."""

    method: str
    target: str
    user_agent: UserAgentView
    # Headers in which services sign.
    signatures: frozenset[str]
    address: str
    # Of the address.
    labels: tuple[str, ...]


class _Count:
    """The requests of a group within a day that are not saved yet, and where they came from."""

    __slots__ = ("addresses", "first_ms", "is_open", "last_ms", "networks", "requests")

    def __init__(self, now_ms: int) -> None:
        self.first_ms = self.last_ms = now_ms
        self.requests = 0
        # Whether it passed the thresholds.
        self.is_open = False
        self.networks: set[str] = set()
        self.addresses: set[str] = set()


class _SiteGroups:
    __slots__ = ("claimed", "hour", "opened", "proven", "site_key")

    def __init__(self, site_key: str) -> None:
        self.site_key = site_key
        self.proven: dict[SuggestionGroup, _Count] = {}
        self.claimed: dict[SuggestionGroup, _Count] = {}
        # New groups of each network in the current hour.
        self.hour = 0
        self.opened: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.proven) + len(self.claimed)

    def may_open(self, network: str, now_ms: int) -> bool:
        """Count a new group of a network; return whether the network may open another."""
        hour = now_ms // HOUR_MS
        if hour != self.hour:
            self.hour, self.opened = hour, {}
        opened = self.opened.get(network, 0)
        if opened >= MOST_OF_NETWORK or (not opened and len(self.opened) >= MOST_COUNTED):
            return False
        self.opened[network] = opened + 1
        return True


class SuggestionCollector:
    """Collects groups of denied requests in one worker."""

    def __init__(self, save: Save, visitors: Visitors, background: BackgroundTasks) -> None:
        self._save = save
        self._visitors = visitors
        self._background = background
        self._sites: dict[str, _SiteGroups] = {}
        self._groups = 0
        # Groups with requests to save.
        self._ready: dict[tuple[str, SuggestionGroup], _Count] = {}
        self._saved_ms = 0

    def __len__(self) -> int:
        return self._groups

    def note(self, site: SiteView, request: RefusedRequest, now_ms: int) -> None:
        """Count a request of a program that was denied, or would be in enforce mode."""
        path = mask_path(request.target.partition("?")[0])
        if path is None or not site.suggestions:
            return
        network, sender = origin_of(request.address)
        group = _group_of(request, path, sender)
        found = self._sites.get(site.id) or self._open_site(site)
        groups = found.proven if group.is_proven else found.claimed
        count = groups.get(group)
        if count is None or now_ms - count.first_ms >= DAY_MS:
            count = self._open(found, groups, group, network, now_ms)
            if count is None:
                return
        count.requests += 1
        count.last_ms = now_ms
        if len(count.networks) < MOST_NETWORKS:
            count.networks.add(network)
        if len(count.addresses) < LEAST_ADDRESSES:
            count.addresses.add(request.address)
        if not count.is_open:
            is_spread = len(count.networks) >= LEAST_NETWORKS or (
                group.is_proven and len(count.addresses) >= LEAST_ADDRESSES
            )
            count.is_open = is_spread and count.requests >= LEAST_REQUESTS
        if count.is_open:
            self._ready[site.id, group] = count
            if now_ms - self._saved_ms >= SAVE_EVERY_MS:
                self._saved_ms = now_ms
                self._background.start("save-suggestions", self.save)

    async def save(self) -> None:
        """Save what is ready, within a bound; the rest waits for the next time."""
        ready = list(self._ready.items())[:MOST_SAVED]
        seen = []
        for (site_id, group), count in ready:
            del self._ready[site_id, group]
            found = self._sites.get(site_id)
            if found is None or not count.requests:
                continue
            networks = [f"{self._visitors.find(found.site_key, each):016x}" for each in sorted(count.networks)]
            seen.append(SeenGroup(site_id, group, count.requests, networks, count.first_ms, count.last_ms))
            count.requests, count.networks = 0, set()
        if seen:
            await self._save(seen)

    def _open_site(self, site: SiteView) -> _SiteGroups:
        found = self._sites[site.id] = _SiteGroups(site.site_key)
        return found

    def _open(
        self,
        site: _SiteGroups,
        groups: dict[SuggestionGroup, _Count],
        group: SuggestionGroup,
        network: str,
        now_ms: int,
    ) -> _Count | None:
        """Return a new count of a group, which replaces an old one; None if its network may not open more groups."""
        if not group.is_proven and not site.may_open(network, now_ms):
            return None
        if groups.pop(group, None) is not None:
            self._groups -= 1
        elif len(groups) >= MOST_OF_SITE:
            del groups[next(iter(groups))]
            self._groups -= 1
        while self._groups >= MOST_GROUPS:
            # The site that was noted first.
            self._groups -= len(self._sites.pop(next(iter(self._sites))))
        count = groups[group] = _Count(now_ms)
        self._groups += 1
        return count


def _group_of(request: RefusedRequest, path: str, sender: str) -> SuggestionGroup:
    if sender:
        return SuggestionGroup(request.method, path, "", sender, sender, is_proven=True)
    claimed = sender_of_headers(request.signatures)
    program = "" if claimed else name_of(request.user_agent.program, request.user_agent.programs)
    return SuggestionGroup(request.method, path, program, claimed, owner_of(request.labels), is_proven=False)
