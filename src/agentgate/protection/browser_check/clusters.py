"""Clusters: the same evidence from many addresses, counted for a day in bounded memory. No identity is kept.

Counted are digests under a key that is random, shared by the workers, and gone with the day. People have popular
browsers too, so that a header set or a phone's model says nothing; `signals/detectors/clusters.py` tells what does.
"""

import hashlib
import secrets
from collections import Counter, OrderedDict, deque
from collections.abc import Mapping
from math import log
from typing import Any

import msgspec
from msgspec import Struct

from agentgate.http.address import network_of, source_of
from agentgate.http.request import Request
from agentgate.lib.clock import DAY_MS
from agentgate.lib.shared_cache import SharedCache
from agentgate.protection.signals.detectors.browser_class import browser_class
from agentgate.protection.signals.evidence import read_evidence

# Shapes and sequences of input that are remembered; the least lately seen are forgotten first.
MOST_CLUSTERS = 8_192
# The site's latest checks, of which a shape is a share.
RECENT = 256
SITES = 4_096
# Addresses and share from which on a shape is a cluster, and a farm.
SHAPE_ADDRESSES, SHAPE_SHARE = 32, 0.25
FARM_ADDRESSES, FARM_NETWORKS, FARM_SHARE = 64, 8, 0.5
# Of the farm's checks, so many come from an address of their own, and so many at most had any input.
FARM_SINGLE, FARM_INPUT = 0.7, 0.05
# The same input with at least so many events, from so many networks or addresses. No two people's sums are the same,
# but an open page renews its token without new input, and its person may have moved or have IPv4 and IPv6.
INPUT_EVENTS, INPUT_NETWORKS, INPUT_ADDRESSES = 8, 3, 4
# So many bits count distinct addresses: up to some 1,000 of them.
BITS = 256
# From so many addresses on, which this worker has seen itself, the workers count together.
SHARED_FROM = 4
SUSPECTED_MS = 60 * 60_000

# Properties of the computer that do not change between visits.
SHAPE = (
    *("platform", "screen", "hardwareConcurrency", "deviceMemory", "renderer", "languages", "timezone"),
    *("touchPoints", "plugins", "userAgent"),
)
EVENTS = ("pointerMoves", "touches", "keys", "scrolls", "clicks")
_encode = msgspec.json.Encoder(order="sorted").encode


class Cluster(Struct, gc=False):
    """How often something came, and a bitmap each of the addresses and networks that it came from."""

    count: int = 0
    with_input: int = 0
    addresses: int = 0
    networks: int = 0
    # Addresses that all workers together have seen, as far as they told.
    shared: int = 0

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


class Clusters:
    """Counts visitors of a site with identical evidence."""

    def __init__(self, shared_cache: SharedCache) -> None:
        self._shared_cache = shared_cache
        self._day = -1
        self._key = b""
        self._known: OrderedDict[bytes, Cluster] = OrderedDict()
        self._recent: OrderedDict[int, tuple[deque[bytes], Counter[bytes]]] = OrderedDict()
        # Headers of clusters, by site -> until when visitors with these headers get more work.
        self._suspected: OrderedDict[tuple[int, bytes], int] = OrderedDict()
        self._now_ms = 0

    async def observe(
        self, site: int, request: Request, signals: Mapping[str, Any], interaction: object, now_ms: int
    ) -> tuple[str, ...]:
        """Count a verification, and return what it belongs to."""
        await self._start_day(now_ms)
        address = self._number(source_of(request.address))
        network = self._number(network_of(request.address))
        did = interaction if isinstance(interaction, Mapping) else {}
        events = sum(read_evidence(did).number(name) or 0 for name in EVENTS)
        labels = []
        if events >= INPUT_EVENTS and read_evidence(did).number("variation") is not None:
            replayed = await self._count(self._digest(b"input", site, did), address, network)
            if _distinct(replayed.networks) >= INPUT_NETWORKS or replayed.distinct >= INPUT_ADDRESSES:
                labels.append("cluster.evidence")
        shape = self._shape(site, request, signals)
        if shape is not None:
            cluster = await self._count(shape, address, network)
            cluster.with_input += events > 0
            share = self._share(site, shape)
            labels += shape_labels(cluster, share)
        if labels:
            self._suspect(site, request)
        return tuple(labels)

    def is_suspected(self, site: int, request: Request) -> bool:
        """Say whether a caller has the headers of a cluster that was seen within the hour."""
        until_ms = self._suspected.get((site, self._headers(request)))
        return until_ms is not None and self._now_ms < until_ms

    def _suspect(self, site: int, request: Request) -> None:
        self._suspected[site, self._headers(request)] = self._now_ms + SUSPECTED_MS
        if len(self._suspected) > MOST_CLUSTERS:
            self._suspected.popitem(last=False)

    async def _start_day(self, now_ms: int) -> None:
        """Forget everything when a day begins, and take the day's key."""
        self._now_ms = now_ms
        day = now_ms // DAY_MS
        if day == self._day:
            return
        name = f"cluster-key:{day}"
        key = await self._shared_cache.get(name)
        if key is None:
            if await self._shared_cache.take_once(f"{name}:made", ttl_ms=DAY_MS):
                await self._shared_cache.put(name, secrets.token_bytes(16), ttl_ms=DAY_MS)
            # Where the store forgets at once, this worker counts alone.
            key = await self._shared_cache.get(name) or secrets.token_bytes(16)
        if day != self._day:
            self._day, self._key = day, key
            self._known.clear()
            self._recent.clear()
            self._suspected.clear()

    async def _count(self, digest: bytes, address: int, network: int) -> Cluster:
        cluster = self._known.get(digest)
        if cluster is None:
            cluster = self._known[digest] = Cluster()
            if len(self._known) > MOST_CLUSTERS:
                self._known.popitem(last=False)
        self._known.move_to_end(digest)
        if cluster.add(address, network) and not self._shared_cache.is_alone and cluster.distinct >= SHARED_FROM:
            await self._share_count(cluster, digest, address)
        return cluster

    async def _share_count(self, cluster: Cluster, digest: bytes, address: int) -> None:
        name = f"cluster:{digest.hex()}"
        is_first = await self._shared_cache.take_once(f"{name}:{address % BITS}", ttl_ms=DAY_MS)
        total = await self._shared_cache.add(name, int(is_first), ttl_ms=DAY_MS)
        cluster.shared = max(cluster.shared, _estimate(total))

    def _share(self, site: int, shape: bytes) -> float:
        """Add a check to the site's latest and return the shape's share of them."""
        if site not in self._recent:
            self._recent[site] = deque(), Counter()
            if len(self._recent) > SITES:
                self._recent.popitem(last=False)
        order, counts = self._recent[site]
        order.append(shape)
        counts[shape] += 1
        if len(order) > RECENT:
            oldest = order.popleft()
            counts[oldest] -= 1
            if not counts[oldest]:
                del counts[oldest]
        return counts[shape] / len(order)

    def _shape(self, site: int, request: Request, signals: Mapping[str, Any]) -> bytes | None:
        """Return the digest of a computer's evidence; None for Apple's phones, of which millions are the same."""
        agent = request.header("user-agent") or ""
        browser = browser_class(agent)
        if browser.engine == "safari" and browser.mobile:
            return None
        names = [name.decode("latin-1") for name, _ in request.headers]
        told = [signals.get(name) for name in SHAPE]
        if all(value is None for value in told):
            return None
        return self._digest(b"shape", site, [told, agent, request.header("accept-language"), names])

    def _headers(self, request: Request) -> bytes:
        told = [request.header(name) for name in ("user-agent", "accept-language", "sec-ch-ua-platform")]
        return self._digest(b"headers", 0, told)

    def _digest(self, kind: bytes, site: int, value: object) -> bytes:
        data = kind + site.to_bytes(8, "big") + _encode(value)
        return hashlib.blake2b(data, key=self._key, digest_size=16).digest()

    def _number(self, text: str) -> int:
        return int.from_bytes(hashlib.blake2b(text.encode(), key=self._key, digest_size=8).digest(), "big")


def shape_labels(cluster: Cluster, share: float) -> list[str]:
    """Return what a shape's counts mean."""
    if cluster.distinct < SHAPE_ADDRESSES or share < SHAPE_SHARE:
        return []
    is_farm = (
        cluster.distinct >= FARM_ADDRESSES
        and _distinct(cluster.networks) >= FARM_NETWORKS
        and share >= FARM_SHARE
        and _distinct(cluster.addresses) >= FARM_SINGLE * min(cluster.count, BITS)
        and cluster.with_input <= FARM_INPUT * cluster.count
    )
    return ["cluster.shape", "cluster.farm"] if is_farm else ["cluster.shape"]


def _distinct(bitmap: int) -> int:
    return _estimate(bitmap.bit_count())


def _estimate(bits: int) -> int:
    """Return about how many different things set so many bits (linear counting)."""
    empty = BITS - min(bits, BITS - 1)
    return round(BITS * log(BITS / empty))
