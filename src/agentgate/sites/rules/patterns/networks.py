"""NetworkSet: addresses and networks of both families, merged, searched by halving."""

from bisect import bisect_right
from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network

from agentgate.lib.ip_address import AddressNumber, read_network

V4_BITS, V6_BITS = 32, 128


class NetworkSet:
    """Whether an address is in one of several networks."""

    __slots__ = ("_ends", "_starts")

    def __init__(self, networks: Iterable[IPv4Network | IPv6Network]) -> None:
        self._starts: dict[int, list[int]] = {4: [], 6: []}
        self._ends: dict[int, list[int]] = {4: [], 6: []}
        ranges = sorted((each.version, int(each.network_address), int(each.broadcast_address)) for each in networks)
        for version, start, end in ranges:
            ends = self._ends[version]
            if ends and start <= ends[-1] + 1:
                ends[-1] = max(end, ends[-1])
            else:
                self._starts[version].append(start)
                ends.append(end)

    def has(self, address: AddressNumber) -> bool:
        place = bisect_right(self._starts[address.version], address.number)
        return place > 0 and address.number <= self._ends[address.version][place - 1]

    def starts(self, version: int) -> list[int]:
        """Return where the ranges of a family begin."""
        return self._starts[version]

    def ends(self, version: int) -> list[int]:
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
