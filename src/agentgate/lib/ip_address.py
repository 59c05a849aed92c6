"""Addresses and networks of the internet protocol, read from text. IPv4 within IPv6 is IPv4."""

from ipaddress import IPv4Network, IPv6Network, ip_network
from socket import AF_INET6, inet_aton, inet_pton

from msgspec import Struct

V4_LAST = 2**32 - 1
MAPPED = "::ffff:"


class AddressNumber(Struct, frozen=True, gc=False):
    """An address as a number of its family."""

    version: int
    number: int


def read_address(text: str) -> AddressNumber | None:
    """Read an address in its canonical form; None when it is none."""
    try:
        if ":" not in text:
            # `inet_aton` also takes forms such as `10.1`; a canonical address always has three dots.
            return AddressNumber(4, int.from_bytes(inet_aton(text))) if text.count(".") == 3 else None
        if text.startswith(MAPPED) and "." in text:
            return read_address(text[len(MAPPED) :])
        return AddressNumber(6, int.from_bytes(inet_pton(AF_INET6, text)))
    except (OSError, ValueError):
        return None


def read_network(text: str) -> IPv4Network | IPv6Network:
    """Read an address or a network; raise ValueError when it is neither."""
    network = ip_network(text.strip(), strict=False)
    if isinstance(network, IPv6Network) and network.network_address.ipv4_mapped and network.prefixlen >= 96:
        return IPv4Network((int(network.network_address) & V4_LAST, network.prefixlen - 96))
    return network
