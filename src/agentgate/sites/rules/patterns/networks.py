"""NetworkSet: addresses and networks of both families, merged, searched by halving."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Network, IPv6Network

from agentgate.lib.ip_address import AddressNumber, read_network

V4_BITS, V6_BITS = 32, 128
# First and last addresses.
Ranges = tuple[Sequence[int], Sequence[int]]


class NetworkSet:
    """Whether an address is in one of several networks."""

    __slots__ = ("_ends", "_starts")

    def __init__(self, networks: Iterable[IPv4Network | IPv6Network]) -> None:
        starts: dict[int, list[int]] = {4: [], 6: []}
        all_ends: dict[int, list[int]] = {4: [], 6: []}
        ranges = sorted((each.version, int(each.network_address), int(each.broadcast_address)) for each in networks)
        for version, start, end in ranges:
            ends = all_ends[version]
            if ends and start <= ends[-1] + 1:
                ends[-1] = max(end, ends[-1])
            else:
                starts[version].append(start)
                ends.append(end)
        self._starts: dict[int, Sequence[int]] = {**starts}
        self._ends: dict[int, Sequence[int]] = {**all_ends}

    @classmethod
    def of_sorted(cls, v4: Ranges, v6: Ranges) -> "NetworkSet":
        """Return a set of ranges in order that do not overlap: first and last addresses."""
        made = cls(())
        made._starts, made._ends = {4: v4[0], 6: v6[0]}, {4: v4[1], 6: v6[1]}
        return made

    def has(self, address: AddressNumber) -> bool:
        place = bisect_right(self._starts[address.version], address.number)
        return place > 0 and address.number <= self._ends[address.version][place - 1]

    def starts(self, version: int) -> Sequence[int]:
        """Return where the ranges of a family begin."""
        return self._starts[version]

    def ends(self, version: int) -> Sequence[int]:
        """Return where they end; the last address is within."""
        return self._ends[version]


def read_strict_network(text: str) -> IPv4Network | IPv6Network:
    """Read an address or a network. ValueError when it is neither, or has bits set beyond its prefix."""
    network = read_network(text)
    if "/" in text and network.with_prefixlen != text.lower() and network.network_address != _address(text):
        raise ValueError(f"{text} has bits set beyond its prefix; {network} is the network")
    return network


def _address(text: str) -> object:
    return read_network(text.partition("/")[0]).network_address
