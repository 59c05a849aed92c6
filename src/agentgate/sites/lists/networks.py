"""The networks of a list: read from published formats, and packed for the store. Run it in a thread.

Packed networks are sorted, without those inside others. Numbers and prefix lengths are in separate columns, so that
50,000 networks are ready to search within milliseconds.
"""

import heapq
import json
import sys
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_network
from itertools import chain, islice
from socket import AF_INET, AF_INET6, inet_pton
from typing import NamedTuple

from msgspec import Struct

from agentgate.lib.ip_address import V4_LAST, read_network
from agentgate.lib.records import UNREADABLE
from agentgate.sites.rules.patterns.networks import V4_BITS, V6_BITS, NetworkSet, read_strict_network

LARGEST = {4: 8, 6: 16}
# A list from outside with more addresses of a family than this has most of the internet.
MOST_ADDRESSES = {4: 1 << 31, 6: 1 << 124}
# Limits of a line and of one sort: a sort and a JSON parser let no other thread run until they are done.
LONGEST_LINE = 1_000
SORTED_AT_ONCE = 10_000
_COUNT_BYTES = 4
_V6_BYTES = 16
# The first bits of an IPv6 address that is an IPv4 address.
_MAPPED = 0xFFFF


class Network(NamedTuple):
    """A network as numbers: sorted by family, first address and size."""

    version: int
    first: int
    prefix: int

    @property
    def last(self) -> int:
        bits = V4_BITS if self.version == 4 else V6_BITS
        return self.first | ((1 << (bits - self.prefix)) - 1)

    def text(self) -> str:
        """Return the network in canonical form."""
        number = self.first.to_bytes(4 if self.version == 4 else _V6_BYTES)
        return str(ip_network((number, self.prefix)))

    def is_inside(self, other: "Network") -> bool:
        return self.version == other.version and other.first <= self.first and self.last <= other.last


class ReadList(Struct, frozen=True):
    """The networks of a text, and how many lines are not networks."""

    networks: list[Network]
    lines: int
    unreadable: int


def of_network(network: IPv4Network | IPv6Network) -> Network:
    return Network(network.version, int(network.network_address), network.prefixlen)


def read_plain(text: str, *, strict: bool = False) -> Network:
    """Read an address or a network; `strict` rejects bits beyond its prefix. ValueError when it is neither.

    Plain forms are read without the objects of the library, which take ten times as long.
    """
    start, slash, length = text.partition("/")
    version, bits = (6, V6_BITS) if ":" in start else (4, V4_BITS)
    is_plain = not slash or (len(length) <= 3 and length.isascii() and length.isdigit() and str(int(length)) == length)
    if is_plain:
        prefix = int(length) if slash else bits
        try:
            number = int.from_bytes(inet_pton(AF_INET6 if version == 6 else AF_INET, start))
        except (OSError, ValueError):
            number = -1
        is_mapped = version == 6 and number >> V4_BITS == _MAPPED
        if number >= 0 and prefix <= bits and not is_mapped and not number & ((1 << bits - prefix) - 1):
            return Network(version, number, prefix)
    return of_network(read_strict_network(text) if strict else read_network(text))


def merge(networks: Iterable[Network]) -> list[Network]:
    """Return networks in order, without those inside others."""
    found: list[Network] = []
    for each in _in_order(networks):
        if not found or not each.is_inside(found[-1]):
            found.append(each)
    return found


def _in_order(networks: Iterable[Network]) -> Iterator[Network]:
    rest = iter(networks)
    return heapq.merge(*(sorted(part) for part in iter(lambda: list(islice(rest, SORTED_AT_ONCE)), [])))


def pack(networks: Sequence[Network]) -> bytes:
    v4 = [each for each in networks if each.version == 4]
    v6 = networks[len(v4) :]
    starts = array("I", (each.first for each in v4))
    if sys.byteorder == "big":
        starts.byteswap()
    return b"".join(
        (
            len(v4).to_bytes(_COUNT_BYTES),
            starts.tobytes(),
            bytes(each.prefix for each in v4),
            *(each.first.to_bytes(_V6_BYTES) for each in v6),
            bytes(each.prefix for each in v6),
        )
    )


class _Columns(NamedTuple):
    """Packed networks, as first addresses and prefix lengths by family."""

    v4: "array[int]"
    v4_prefixes: bytes
    v6: list[int]
    v6_prefixes: bytes


def _columns(packed: bytes) -> _Columns:
    count = int.from_bytes(packed[:_COUNT_BYTES])
    starts = array("I")
    end = _COUNT_BYTES + count * starts.itemsize
    starts.frombytes(packed[_COUNT_BYTES:end])
    if sys.byteorder == "big":
        starts.byteswap()
    rest = packed[end + count :]
    size = len(rest) // (_V6_BYTES + 1) * _V6_BYTES
    firsts = [int.from_bytes(rest[at : at + _V6_BYTES]) for at in range(0, size, _V6_BYTES)]
    return _Columns(starts, packed[end : end + count], firsts, rest[size:])


def unpack(packed: bytes) -> list[Network]:
    found = _columns(packed)
    v4 = [Network(4, first, prefix) for first, prefix in zip(found.v4, found.v4_prefixes, strict=True)]
    return v4 + [Network(6, first, prefix) for first, prefix in zip(found.v6, found.v6_prefixes, strict=True)]


def searchable(packed: bytes) -> NetworkSet:
    found = _columns(packed)
    ends = array("I", [start | V4_LAST >> prefix for start, prefix in zip(found.v4, found.v4_prefixes, strict=True)])
    v6_ends = [start | (1 << V6_BITS - prefix) - 1 for start, prefix in zip(found.v6, found.v6_prefixes, strict=True)]
    return NetworkSet.of_sorted((found.v4, ends), (found.v6, v6_ends))


def read_list(text: str) -> ReadList:
    """Read a list: an address or network in each line, as FireHOL, Spamhaus and most others publish them.

    The rest of a line after a blank, `;` or `#` is a comment. In lines of JSON, `cidr` is the network.
    """
    networks: list[Network] = []
    lines = unreadable = 0
    for line in text.split("\n"):
        entry = _entry(line[:LONGEST_LINE].strip())
        if entry is None:
            continue
        lines += 1
        try:
            networks.append(read_plain(entry))
        except ValueError:
            unreadable += 1
    return ReadList(networks, lines, unreadable)


def _entry(line: str) -> str | None:
    if line.startswith("{"):
        try:
            found = json.loads(line)
        except UNREADABLE:
            return line
        # The last line of such a list has facts about the list.
        return str(found["cidr"]) if "cidr" in found else None
    parts = line.partition("#")[0].partition(";")[0].split(None, 1)
    return parts[0] if parts else None


def fit_for_blocking(networks: Iterable[Network], is_ours: Callable[[Network], bool]) -> tuple[list[Network], int]:
    """Return the networks of a list from outside that rules may block, and how many others there are.

    Not private and reserved networks, the installation's proxies, and networks as large as countries.
    """
    kept: list[Network] = []
    skipped = 0
    for each in networks:
        if each.prefix < LARGEST[each.version] or is_ours(each):
            skipped += 1
        else:
            kept.append(each)
    return merge(kept), skipped


def covers_most(networks: Iterable[Network]) -> bool:
    """Return whether merged networks have most addresses of a family. A poisoned list has; one of a country has not."""
    counts = dict.fromkeys(MOST_ADDRESSES, 0)
    for each in networks:
        counts[each.version] += each.last - each.first + 1
    return any(counts[version] > most for version, most in MOST_ADDRESSES.items())


def overlaps(networks: Iterable[Network]) -> Callable[[Network], bool]:
    """Return a function that returns whether a network shares addresses with one of these."""
    known = merge(networks)

    def is_shared(network: Network) -> bool:
        # Of two networks that share addresses, one is inside the other; these here are apart from each other.
        at = bisect_right(known, network)
        return _is_inside_one(network, known) or (at < len(known) and known[at].is_inside(network))

    return is_shared


def page_of(
    networks: Sequence[Network], *, after: Network | None, within: Network | None, most: int
) -> tuple[list[Network], bool]:
    """Return the networks after one, and whether there are more; with `within`, only those that share its addresses."""
    shares = (lambda _network: True) if within is None else overlaps((within,))
    wanted = (each for each in networks if (after is None or each > after) and shares(each))
    found = list(islice(wanted, most + 1))
    return found[:most], len(found) > most


def changed(before: Iterable[Network], added: Iterable[Network], removed: Sequence[Network]) -> list[Network]:
    """Return a list with some networks added, and without some and what is inside them."""
    gone = merge(removed)
    return merge(chain((each for each in before if not _is_inside_one(each, gone)), added))


def _is_inside_one(network: Network, merged: Sequence[Network]) -> bool:
    at = bisect_right(merged, network)
    return at > 0 and network.is_inside(merged[at - 1])
