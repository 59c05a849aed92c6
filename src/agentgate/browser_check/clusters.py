"""Clusters: the same evidence from many addresses, counted for a day in bounded memory. No identity is kept.

Evidence is the input on a page (replays), its rhythm (timing), the computer (shape) and the TLS fingerprint (JA4).

Digests are counted under a random key that the workers share and drop at the end of the day. People have popular
browsers too, so that a header set or a phone's model is not evidence; `sites/rules/labels.toml` lists the evidence.
"""

import hashlib
import secrets
from collections import Counter, OrderedDict, deque
from collections.abc import Mapping
from math import log
from typing import Any

import msgspec
from msgspec import Struct

from agentgate.browser_check.machines import Machines
from agentgate.browser_check.rhythm import pace_of, rhythm_of
from agentgate.decision.signals.detectors.browser_class import browser_class
from agentgate.decision.signals.evidence import read_evidence
from agentgate.http.address import network_of, source_of
from agentgate.http.request import Request
from agentgate.lib.clock import DAY_MS
from agentgate.lib.shared_cache import SharedCache

# Cached clusters; the least recently seen are evicted first.
MOST_CLUSTERS = 16_384
# The site's latest checks, of which a shape is a share.
RECENT = 256
SITES = 4_096
# Addresses and share from which on a shape is a cluster, and a farm.
SHAPE_ADDRESSES, SHAPE_SHARE = 32, 0.25
FARM_ADDRESSES, FARM_NETWORKS, FARM_SHARE = 64, 8, 0.5
# And this multiple of its share of the day's earlier checks, of which there are so many: identical kiosks and popular
# laptops are always at their site.
FARM_TIMES, EARLIER = 3, 1_024
# Of a farm's checks, at least this share has distinct addresses, and at most this share has any input.
FARM_SINGLE, FARM_INPUT = 0.7, 0.05
# A shape with a debugger, from so many networks, and so large a part of the shape's checks.
DEBUGGED_NETWORKS, DEBUGGED_PART = 8, 0.1
# The same input with at least this number of events, from this number of networks or addresses. Two people never have
# the same input statistics, but an open page renews its token without new input, and its visitor may have moved or have
# IPv4 and IPv6.
INPUT_EVENTS, INPUT_NETWORKS, INPUT_ADDRESSES = 8, 3, 4
# The same rhythm from this number of networks. It does not change while a page is open and only read, and carriers and
# privacy relays may change the visitor's address during that time.
RHYTHM_NETWORKS = 4
# The same pace of keys and presses, within 15%, from this number of networks, and this share of the site's latest
# checks with a rhythm. A given pace is found in one of some tens of thousands of people.
PACE_NETWORKS, PACE_SHARE = 8, 1 / 32
# A handshake is its engine's. Of one that names several engines, so many of its checks name another than most do:
# an extension that changes the name is far rarer.
OTHER_ENGINES = 0.2
# So many bits count distinct addresses: up to some 1,000 of them.
BITS = 256
# From so many addresses on, which this worker has seen itself, the workers count together.
SHARED_FROM = 4
SUSPECTED_MS = 60 * 60_000

# Properties of the computer that do not change between visits.
SHAPE = (
    *("platform", "screen", "hardwareConcurrency", "renderer", "languages", "timezone"),
    *("touchPoints", "plugins", "userAgent"),
)
# The budget of a machine counts by its hardware: a farm can vary headers, languages, time zones, windows and zoom
# without cost.
HARDWARE, SCREEN = ("platform", "hardwareConcurrency", "renderer", "touchPoints"), ("width", "height")
APPLE = ("iPhone", "iPad", "iPod")
# A header that the site's adapter alone sets (`CheckAdmission.see`).
JA4_HEADER = "x-ja4"
JA4_NAME = JA4_HEADER.encode()
EVENTS = ("pointerMoves", "touches", "keys", "scrolls", "clicks")
_encode = msgspec.json.Encoder(order="sorted").encode


class ClusterMembership(Struct, frozen=True):
    """The clusters of a check: labels, and the key of the day's budget of its cluster."""

    labels: tuple[str, ...] = ()
    cluster: str = ""
    # An exact replay: at most one member of such a cluster is a person.
    is_replayed: bool = False


# Labels, each with the digest of its cluster.
FoundClusters = list[tuple[str, bytes]]


class CountedCheck(Struct, frozen=True):
    """One verification as it is counted: its site, and keyed numbers instead of address and network."""

    site: int
    address: int
    network: int
    has_input: bool


class Cluster(Struct):
    """How often some evidence came, with bitmaps of its addresses and networks."""

    count: int = 0
    with_input: int = 0
    addresses: int = 0
    networks: int = 0
    # Addresses that all workers together have reported.
    shared: int = 0
    # Of a handshake: how many checks named which engine.
    engines: dict[str, int] = {}

    def add(self, address: int, network: int) -> bool:
        """Count one more; say whether its address is new."""
        bit = 1 << address % BITS
        is_new = not self.addresses & bit
        self.count += 1
        self.addresses |= bit
        self.networks |= 1 << network % BITS
        return is_new

    @property
    def distinct(self) -> int:
        """About how many addresses there were."""
        return max(_distinct(self.addresses), self.shared)


class LatestChecks:
    """A site's latest checks of one kind of evidence, and the number of the day's checks."""

    def __init__(self) -> None:
        self._order: deque[bytes] = deque()
        self._counts: Counter[bytes] = Counter()
        self._all = 0

    def add(self, digest: bytes) -> float:
        """Add a check, and return the digest's share of the latest ones."""
        self._all += 1
        self._order.append(digest)
        self._counts[digest] += 1
        if len(self._order) > RECENT:
            oldest = self._order.popleft()
            self._counts[oldest] -= 1
            if not self._counts[oldest]:
                del self._counts[oldest]
        return self._counts[digest] / len(self._order)

    def earlier_share(self, digest: bytes, count: int) -> float:
        """Return the digest's share of the day's earlier checks, from its count of the day; 1 while they are few."""
        earlier = self._all - len(self._order)
        return (count - self._counts[digest]) / earlier if earlier >= EARLIER else 1.0


class Clusters:
    """Counts visitors of a site with identical evidence."""

    def __init__(self, shared_cache: SharedCache) -> None:
        self._shared_cache = shared_cache
        self._day = -1
        self._key = b""
        self._machines = Machines(shared_cache)
        self._known: OrderedDict[bytes, Cluster] = OrderedDict()
        self._recent: OrderedDict[tuple[str, int], LatestChecks] = OrderedDict()
        # Headers of clusters, by site -> until when visitors with these headers get a higher difficulty.
        self._suspected: OrderedDict[tuple[int, bytes], int] = OrderedDict()
        self._now_ms = 0

    async def observe(
        self,
        site: int,
        request: Request,
        signals: Mapping[str, Any],
        interaction: object,
        now_ms: int,
        *,
        machine_tokens: int = 0,
    ) -> ClusterMembership:
        """Count a verification, and return its clusters. `machine_tokens`: the site's hourly budget of one shape."""
        await self._start_day(now_ms)
        did = interaction if isinstance(interaction, Mapping) else {}
        events = sum(read_evidence(did).number(name) or 0 for name in EVENTS)
        seen = CountedCheck(
            site, self._number(source_of(request.address)), self._number(network_of(request.address)), events > 0
        )
        replays = await self._replays(seen, did, events)
        found = [*replays, *await self._paces(seen, did), *await self._handshakes(seen, request)]
        agent = request.header("user-agent") or ""
        told = [signals.get(name) for name in SHAPE]
        shape = self._digest(b"shape", site, [told, agent, request.header("accept-language")])
        cluster = await self._count(shape, seen)
        found += await self._shapes(seen, shape, cluster, is_apple_phone=_is_apple_phone(agent, signals))
        # No name of a browser escapes these.
        popular: FoundClusters = []
        screen = read_evidence(signals).part("screen").values
        hardware = [signals.get(name) for name in HARDWARE] + [screen.get(name) for name in SCREEN]
        machine = self._digest(b"machine", site, hardware)
        if await self._machines.is_over(machine, seen.network, tokens=machine_tokens, now_ms=now_ms):
            popular.append(("cluster.budget", shape))
        if signals.get("debugger") is True:
            popular += await self._debuggers(seen, shape, cluster.count)
        if found:
            self._suspect(site, request)
        # Others who use a popular computer's budget up do not slow its people down.
        found += popular
        if not found:
            return ClusterMembership()
        # The first cluster with a label names the budget.
        labels = dict.fromkeys(label for label, _ in found)
        return ClusterMembership(tuple(labels), found[0][1].hex(), is_replayed=bool(replays))

    async def _replays(self, seen: CountedCheck, did: Mapping[str, Any], events: float) -> FoundClusters:
        """Find exact copies of the input, or of its rhythm to the millisecond."""
        found: FoundClusters = []
        if events >= INPUT_EVENTS and read_evidence(did).number("variation") is not None:
            digest = self._digest(b"input", seen.site, did)
            if is_replay(await self._count(digest, seen)):
                found.append(("cluster.evidence", digest))
        rhythm = rhythm_of(did)
        if rhythm is not None:
            digest = self._digest(b"rhythm", seen.site, rhythm)
            if _distinct((await self._count(digest, seen)).networks) >= RHYTHM_NETWORKS:
                found.append(("cluster.timing", digest))
        return found

    async def _paces(self, seen: CountedCheck, did: Mapping[str, Any]) -> FoundClusters:
        """Find rhythms that differ only by added noise."""
        rhythm = rhythm_of(did)
        if rhythm is None:
            return []
        # The steps are shifted each day, so that clients cannot stay on their edges.
        digest = self._digest(b"pace", seen.site, pace_of(rhythm, self._key[0] / 256))
        cluster = await self._count(digest, seen)
        share = self._shares(("pace", seen.site)).add(digest)
        is_many = _distinct(cluster.networks) >= PACE_NETWORKS and share >= PACE_SHARE
        return [("cluster.timing", digest)] if is_many else []

    async def _handshakes(self, seen: CountedCheck, request: Request) -> FoundClusters:
        """Find a TLS handshake that many addresses use under the names of different engines."""
        ja4 = request.header(JA4_HEADER)
        if ja4 is None:
            return []
        digest = self._digest(b"ja4", seen.site, ja4)
        cluster = await self._count(digest, seen)
        engine = browser_class(request.header("user-agent") or "").engine
        cluster.engines[engine] = cluster.engines.get(engine, 0) + 1
        share = self._shares(("ja4", seen.site)).add(digest)
        if cluster.count - max(cluster.engines.values()) < OTHER_ENGINES * cluster.count:
            return []
        return [("cluster.ja4", digest)] if is_many(cluster, share) else []

    async def _shapes(
        self, seen: CountedCheck, shape: bytes, cluster: Cluster, *, is_apple_phone: bool
    ) -> FoundClusters:
        """Find a computer that many addresses have, and a farm of it."""
        latest = self._shares(("shape", seen.site))
        share = latest.add(shape)
        if is_apple_phone or not is_many(cluster, share):
            return []
        usual = latest.earlier_share(shape, cluster.count)
        labels = ["cluster.shape", "cluster.farm"] if is_farm(cluster, share, usual) else ["cluster.shape"]
        return [(label, shape) for label in labels]

    async def _debuggers(self, seen: CountedCheck, shape: bytes, checks: int) -> FoundClusters:
        """Find a shape that many networks have with a debugger."""
        digest = self._digest(b"debugged", seen.site, shape.hex())
        cluster = await self._count(digest, seen)
        is_large = cluster.count >= DEBUGGED_PART * checks
        is_many = is_large and _distinct(cluster.networks) >= DEBUGGED_NETWORKS
        return [("cluster.debugged", digest)] if is_many else []

    def is_suspected(self, site: int, request: Request) -> bool:
        """Return whether a caller has the headers of a cluster that was seen within the hour."""
        until_ms = self._suspected.get((site, self._headers(request)))
        return until_ms is not None and self._now_ms < until_ms

    def _suspect(self, site: int, request: Request) -> None:
        self._suspected[site, self._headers(request)] = self._now_ms + SUSPECTED_MS
        if len(self._suspected) > MOST_CLUSTERS:
            self._suspected.popitem(last=False)

    async def _start_day(self, now_ms: int) -> None:
        """Drop all counts when a day begins, and take the day's key."""
        self._now_ms = now_ms
        day = now_ms // DAY_MS
        if day == self._day:
            return
        name = f"cluster-key:{day}"
        key = await self._shared_cache.get(name)
        if key is None:
            if await self._shared_cache.take_once(f"{name}:made", ttl_ms=DAY_MS):
                await self._shared_cache.put(name, secrets.token_bytes(16), ttl_ms=DAY_MS)
            # If the store does not keep the key, this worker counts alone.
            key = await self._shared_cache.get(name) or secrets.token_bytes(16)
        if day != self._day:
            self._day, self._key = day, key
            self._machines.clear()
            self._known.clear()
            self._recent.clear()
            self._suspected.clear()

    async def _count(self, digest: bytes, seen: CountedCheck) -> Cluster:
        cluster = self._known.get(digest)
        if cluster is None:
            cluster = self._known[digest] = Cluster()
            if len(self._known) > MOST_CLUSTERS:
                self._known.popitem(last=False)
        self._known.move_to_end(digest)
        cluster.with_input += seen.has_input
        is_new = cluster.add(seen.address, seen.network)
        if is_new and not self._shared_cache.is_alone and cluster.distinct >= SHARED_FROM:
            await self._share_count(cluster, digest, seen.address)
        return cluster

    async def _share_count(self, cluster: Cluster, digest: bytes, address: int) -> None:
        name = f"cluster:{digest.hex()}"
        is_first = await self._shared_cache.take_once(f"{name}:{address % BITS}", ttl_ms=DAY_MS)
        total = await self._shared_cache.add(name, int(is_first), ttl_ms=DAY_MS)
        cluster.shared = max(cluster.shared, _estimate(total))

    def _shares(self, kind: tuple[str, int]) -> LatestChecks:
        """Return the latest checks of a kind and site."""
        latest = self._recent.setdefault(kind, LatestChecks())
        if len(self._recent) > SITES:
            self._recent.popitem(last=False)
        return latest

    def _headers(self, request: Request) -> bytes:
        told = [request.header(name) for name in ("user-agent", "accept-language", "sec-ch-ua-platform")]
        return self._digest(b"headers", 0, told)

    def _digest(self, kind: bytes, site: int, value: object) -> bytes:
        data = kind + site.to_bytes(8, "big") + _encode(value)
        return hashlib.blake2b(data, key=self._key, digest_size=16).digest()

    def _number(self, text: str) -> int:
        return int.from_bytes(hashlib.blake2b(text.encode(), key=self._key, digest_size=8).digest(), "big")


def is_replay(cluster: Cluster) -> bool:
    """Return whether input that is unique to one person came from several networks."""
    return _distinct(cluster.networks) >= INPUT_NETWORKS or cluster.distinct >= INPUT_ADDRESSES


def is_many(cluster: Cluster, share: float) -> bool:
    """Return whether a computer or handshake comes from many addresses, and often."""
    return cluster.distinct >= SHAPE_ADDRESSES and share >= SHAPE_SHARE


def is_farm(cluster: Cluster, share: float, usual: float) -> bool:
    """Return whether a computer without input came to be half of a site's checks. `usual`: its share before."""
    return (
        cluster.distinct >= FARM_ADDRESSES
        and _distinct(cluster.networks) >= FARM_NETWORKS
        and share >= max(FARM_SHARE, FARM_TIMES * usual)
        and _distinct(cluster.addresses) >= FARM_SINGLE * min(cluster.count, BITS)
        and cluster.with_input <= FARM_INPUT * cluster.count
    )


def _is_apple_phone(agent: str, signals: Mapping[str, Any]) -> bool:
    """Return whether the measurements agree with the name of Apple's phones, of which millions are the same."""
    browser = browser_class(agent)
    is_claimed = browser.engine == "safari" and browser.mobile
    return is_claimed and signals.get("platform") in APPLE and bool(read_evidence(signals).number("touchPoints"))


def _distinct(bitmap: int) -> int:
    return _estimate(bitmap.bit_count())


def _estimate(bits: int) -> int:
    """Estimate the number of distinct items that set so many bits (linear counting)."""
    empty = BITS - min(bits, BITS - 1)
    return round(BITS * log(BITS / empty))
