"""BlockFeed: collects the addresses of a site's feed in memory, and shares them with the other workers.

An address may belong to thousands of people, and a firewall shows them no challenge. So an address is listed only for
an offense that is not a person's, only after every worker had time to object, and never while anyone else at this
address loads pages or uses a clearance. A worker that saw such a person spares the address for all workers.
"""

import asyncio
from collections.abc import Collection, Iterable

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from agentgate.decision.signals.detectors.address import find_address
from agentgate.decision.threat_data.intel import IntelDirectory
from agentgate.gateway.pending_check import DecidedCheck
from agentgate.gateway.ruling import PROVEN
from agentgate.gateway.visitors import Visitor
from agentgate.http.outbound.public_address import is_public
from agentgate.lib.bounded_cache import BoundedCache
from agentgate.lib.clock import MINUTE_MS, SECOND_MS, Clock
from agentgate.lib.enums import Outcome
from agentgate.lib.ip_address import read_address, read_network
from agentgate.lib.limits import GATEWAY_REQUESTS_PER_MINUTE
from agentgate.lib.shared_cache import SharedCache
from agentgate.sites.lists.networks import Network, of_network, overlaps

SYNC_S = 3.0
# A worker lists an address after so many offenses within a minute.
LEAST_OFFENSES = 20
# An address is in the feed for so long after its last known offense. A firewall hides further ones.
LISTED_MS = 10 * MINUTE_MS
# So long every worker may object before an address is shown.
SETTLE_MS = 15 * SECOND_MS
# A person who was seen so recently spares the address, and it stays spared for so long.
SEEN_MS = 30 * MINUTE_MS
# Most browsers of an office are the same. One that loaded pages so long before the offense is a person's.
FAMILIAR_MS = 5 * MINUTE_MS
# A worker that has just started does not know yet which addresses people use, and lists nothing.
WARM_MS = 5 * MINUTE_MS
# Bounds of each worker: addresses of a site and of all sites, addresses whose offenses it counts, people it remembers.
MOST_OF_SITE, MOST_LISTED, MOST_COUNTED, MOST_SEEN = 4_000, 40_000, 20_000, 50_000
# Only one worker at a time exchanges a site's addresses.
LOCK_MS, LOCK_TRIES, LOCK_WAIT_S = 2 * SECOND_MS, 40, 0.05

# Addresses that are proven, not checked yet, shared by design, or in lists of the installation.
NEVER = PROVEN | {
    *("agent.search_unconfirmed", "agent.search_unknown", "agent.operator_unchecked", "agent.program_named"),
    *("net.private", "net.unknown", "net.tor", "net.vpn", "list.allow", "list.block"),
}
SCANNER, RATE = "scanner", "rate"
_SCANNER_RULE = "automation-scanner"
# Instead of a browser's tag: a clearance was used.
_CLEARED = -1


class ListedAddress(Struct, frozen=True, array_like=True):
    """An address: the offense, the browser that committed it, and whether people were seen who spare it."""

    reason: str
    tag: int
    since_ms: int
    until_ms: int
    spared: bool = False


class SeenPeople(Struct, gc=False):
    """When browsers loaded allowed pages from an address; two of them, as only others than the offender's matter."""

    tag: int
    # First and last page.
    since_ms: int
    seen_ms: int
    other_tag: int = 0
    other_ms: int = 0

    def note(self, tag: int, now_ms: int) -> None:
        if tag != self.tag:
            self.other_tag, self.other_ms, self.tag, self.since_ms = self.tag, self.seen_ms, tag, now_ms
        elif now_ms - self.seen_ms >= SEEN_MS:
            self.since_ms = now_ms
        self.seen_ms = now_ms

    def last_ms(self, found: ListedAddress) -> int:
        """Return when someone other than the offender was last seen."""
        is_offender = self.tag == found.tag and self.since_ms > found.since_ms - FAMILIAR_MS
        return self.other_ms if is_offender else self.seen_ms


Addresses = dict[str, ListedAddress]
_ENCODE, _DECODE = msgspec.msgpack.encode, msgspec.msgpack.Decoder(dict[str, ListedAddress]).decode


def offense_of(decided: DecidedCheck) -> str | None:
    """Return the offense of a blocked request for which the feed lists its address; None for all others."""
    decision, pending = decided.decision, decided.pending
    if decided.ruling.outcome is not Outcome.BLOCK or decision.verdict.listed or decided.shown.reason is None:
        return None
    if not NEVER.isdisjoint(decision.labels):
        return None
    if pending.rates.visitor > GATEWAY_REQUESTS_PER_MINUTE and decided.ruling.reason == "rate_limited":
        return RATE
    return SCANNER if decision.verdict.rule == _SCANNER_RULE else None


class BlockFeed:
    """The feeds of all sites, as this worker knows them."""

    def __init__(
        self, shared_cache: SharedCache, clock: Clock, intel: IntelDirectory, *, trusted_proxies: Iterable[str] = ()
    ) -> None:
        self._shared_cache = shared_cache
        self._clock = clock
        self._intel = intel
        self._warm_ms = clock.now_ms() + WARM_MS
        self._is_proxy = overlaps([of_network(read_network(text)) for text in trusted_proxies])
        self._sites: dict[int, Addresses] = {}
        # Sites whose addresses this worker exchanges: it may object, or show them.
        self._active: set[int] = set()
        self._listed = 0
        # Offenses of the present minute, by site and address.
        self._offenses: dict[tuple[int, str], int] = {}
        self._minute = 0
        # Apart, because a clearance costs more than a page: clients with many addresses evict no one's clearances.
        self._cleared: BoundedCache[tuple[int, str], SeenPeople] = BoundedCache(MOST_SEEN)
        self._pages: BoundedCache[tuple[int, str], SeenPeople] = BoundedCache(MOST_SEEN)
        self.results: dict[tuple[str, ...], int] = {("listed",): 0, ("spared",): 0, ("full",): 0}

    # Of each request of a site with a feed.

    def note_person(self, visitor: Visitor, tag: int, now_ms: int, *, cleared: bool) -> None:
        """Note a clearance, or an allowed page, from an address."""
        key = (visitor.site, visitor.address)
        cache = self._cleared if cleared else self._pages
        seen, tag = cache.get(key), _CLEARED if cleared else tag
        if seen is None:
            cache.put(key, SeenPeople(tag, now_ms, now_ms))
        else:
            seen.note(tag, now_ms)
        self._active.add(visitor.site)
        self._spare_seen(visitor.site, (visitor.address,), now_ms)

    def note_offense(self, visitor: Visitor, reason: str, tag: int, now_ms: int) -> None:
        """Count an offense, and list the address from the least number on."""
        minute = now_ms // MINUTE_MS
        if minute != self._minute:
            self._minute = minute
            self._offenses.clear()
        key = (visitor.site, visitor.address)
        count = self._offenses.get(key, 0) + 1
        if count > 1 or len(self._offenses) < MOST_COUNTED:
            self._offenses[key] = count
        if count % LEAST_OFFENSES == 0:
            self._list(visitor, ListedAddress(reason, tag, now_ms, now_ms + LISTED_MS))

    def _list(self, visitor: Visitor, found: ListedAddress) -> None:
        addresses = self._sites.setdefault(visitor.site, {})
        known = addresses.get(visitor.address)
        if known is not None and found.since_ms < known.until_ms:
            addresses[visitor.address] = _merge(known, found)
            return
        if found.since_ms < self._warm_ms or not self._may_list(visitor.address):
            return
        if len(addresses) >= MOST_OF_SITE or self._listed >= MOST_LISTED:
            self.results["full",] += 1
            return
        self._listed += known is None
        self.results["listed",] += 1
        self._active.add(visitor.site)
        addresses[visitor.address] = found
        self._spare_seen(visitor.site, (visitor.address,), found.since_ms)

    def _may_list(self, address: str) -> bool:
        read = read_address(address)
        if read is None or not is_public(address) or find_address(address, self._intel.current).search:
            return False
        return not self._is_proxy(Network(read.version, read.number, 32 if read.version == 4 else 128))

    def _spare_seen(self, site: int, among: Collection[str], now_ms: int) -> None:
        """Spare the addresses from which this worker saw someone else."""
        addresses = self._sites.get(site, {})
        for address in among:
            found = addresses.get(address)
            if found is None or found.spared:
                continue
            both = (cache.get((site, address)) for cache in (self._cleared, self._pages))
            if any(seen is not None and seen.last_ms(found) > now_ms - SEEN_MS for seen in both):
                addresses[address] = replace(found, spared=True, until_ms=now_ms + SEEN_MS)
                self.results["spared",] += 1

    # The feed itself.

    async def read(self, site: int) -> tuple[Addresses, Addresses]:
        """Return the addresses that a site's firewall may drop, and those it must not drop any more."""
        self._active.add(site)
        await self._sync_site(site)
        now_ms, addresses = self._clock.now_ms(), self._sites.get(site, {})
        # While the workers cannot object, nothing is shown.
        settled_ms = now_ms - SETTLE_MS if await self._shared_cache.ping() else 0
        shown = {
            address: each
            for address, each in addresses.items()
            if not each.spared and each.since_ms <= settled_ms and now_ms < each.until_ms
        }
        return shown, {address: each for address, each in addresses.items() if each.spared}

    async def sync(self) -> None:
        """Exchange the addresses of all sites with the other workers."""
        for site in tuple(self._active):
            await self._sync_site(site)

    async def _sync_site(self, site: int) -> None:
        cache, key = self._shared_cache, f"block-feed:{site}"
        if cache.is_alone:
            self._take(site, {})
            return
        for _ in range(LOCK_TRIES):
            if await cache.take_once(f"{key}:lock", ttl_ms=LOCK_MS):
                break
            await asyncio.sleep(LOCK_WAIT_S)
        before = await cache.get(key) or b"\x80"
        self._take(site, _DECODE(before))
        after = _ENCODE(self._sites.get(site, {}))
        if after != before:
            await cache.put(key, after, ttl_ms=SEEN_MS)
        await cache.delete(f"{key}:lock")

    def _take(self, site: int, others: Addresses) -> None:
        """Merge what the other workers know, and delete expired ones."""
        now_ms, own = self._clock.now_ms(), self._sites.get(site, {})
        merged = own | {
            address: each if address not in own else _merge(own[address], each) for address, each in others.items()
        }
        kept = {address: each for address, each in merged.items() if now_ms < each.until_ms}
        self._listed += len(kept) - len(own)
        if kept:
            self._sites[site] = kept
            self._spare_seen(site, tuple(kept), now_ms)
        else:
            self._sites.pop(site, None)


def _merge(one: ListedAddress, other: ListedAddress) -> ListedAddress:
    """Return what two workers, or two moments, know of an address. A worker that spared it prevails."""
    first = min(one, other, key=lambda each: each.since_ms)
    if one.spared is not other.spared:
        spared = one if one.spared else other
        return replace(first, spared=True, until_ms=spared.until_ms)
    return replace(first, spared=one.spared, until_ms=max(one.until_ms, other.until_ms))
