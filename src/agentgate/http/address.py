"""The client's address: the peer's, or the one that a trusted proxy sends. A client could forge any other."""

import functools
from collections.abc import Callable, Iterable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from socket import AF_INET, AF_INET6, inet_ntop, inet_pton

from agentgate.lib.keyring import Keyring

# IPv4 addresses as a dual-stack socket shows them.
_MAPPED = bytes(10) + b"\xff\xff"


class ClientAddress:
    """Finds the address of the client, given the networks whose `X-Forwarded-For` is believed.

    `pseudonym` maps a scope and an address to the ID that people are shown in its place.
    """

    def __init__(self, trusted_proxies: Iterable[str], *, pseudonym: Callable[[str, str], str] | None = None) -> None:
        self._is_trusted = functools.lru_cache(maxsize=4096)(self._lies_in_trusted)
        self._trusted = tuple(ip_network(network, strict=False) for network in trusted_proxies)
        self.pseudonym = pseudonym

    def find(self, peer: str | None, forwarded_for: Sequence[str]) -> str:
        """Return the right-most address that is not a trusted proxy; a peer on the Unix socket is one."""
        current = _parse(peer) if peer else IPv6Address("::1")
        if current is None:
            return "::1"
        is_trusted = not peer or self._is_trusted(current)
        hops = [hop.strip() for line in forwarded_for for hop in line.split(",")]
        while hops and is_trusted:
            before = _parse(hops.pop())
            if before is None:
                # Entries left of an invalid one cannot be trusted.
                break
            current = before
            is_trusted = self._is_trusted(current)
        return str(current)

    def is_trusted(self, peer: str | None) -> bool:
        """Return whether a peer's forwarding headers are believed."""
        address = _parse(peer) if peer else None
        return peer is None or (address is not None and self._is_trusted(address))

    def _lies_in_trusted(self, address: IPv4Address | IPv6Address) -> bool:
        return any(address.version == network.version and address in network for network in self._trusted)


def canonical_address(text: str) -> str | None:
    """Return an address in canonical form; None for invalid text, a port or a zone."""
    try:
        if ":" not in text:
            # Strict: four numbers, none with a leading zero.
            inet_pton(AF_INET, text)
            return text
        return _write_v6(inet_pton(AF_INET6, text))
    except (OSError, ValueError):
        return None


def _write_v6(packed: bytes) -> str:
    """Return an address as RFC 5952 writes it; an IPv4-mapped address as IPv4."""
    if packed.startswith(_MAPPED):
        return inet_ntop(AF_INET, packed[12:])
    text = inet_ntop(AF_INET6, packed)
    # IPv4-compatible addresses (deprecated): written in hexadecimal groups like any other.
    return text if "." not in text else str(IPv6Address(packed))


def source_of(address: str) -> str:
    """Return the key that attempts are counted by: the IPv4 address, or the /64 of an IPv6 address."""
    if ":" not in address:
        return address
    try:
        packed = inet_pton(AF_INET6, address)
    except (OSError, ValueError):
        # With a port, in brackets, or none.
        parsed = _parse(address)
        if not isinstance(parsed, IPv6Address):
            return address
        packed = parsed.packed
    return address if packed.startswith(_MAPPED) else f"{_write_v6(packed[:8] + bytes(8))}/64"


def network_of(address: str) -> str:
    """Return the network of a canonical address: the /24 of IPv4, the /48 of IPv6."""
    if ":" in address:
        return f"{_write_v6(inet_pton(AF_INET6, address)[:6] + bytes(10))}/48"
    return f"{address.rpartition('.')[0]}.0/24"


def subnet_of(address: str) -> str:
    """Return the /24 of an IPv4 address or the /64 of an IPv6 address as a short text, to count by."""
    if ":" not in address:
        return address.rpartition(".")[0] or address
    try:
        return inet_pton(AF_INET6, address)[:8].hex()
    except (OSError, ValueError):
        return address[:64]


def address_id(keyring: Keyring, scope: str, address: str) -> str:
    """Return the pseudonym of an address: equal for one source in one scope, and not reversible.

    Scopes have different pseudonyms, so two accounts cannot find that they have the same visitor.
    """
    return keyring.mac("visitor", b"address", scope.encode(), source_of(address).encode())[:8].hex()


# Most connections come from the same few proxies or servers. Bounded, because clients choose header values.
@functools.lru_cache(maxsize=4096)
def _parse(text: str) -> IPv4Address | IPv6Address | None:
    if text.startswith("[") and "]" in text:
        text = text[1 : text.index("]")]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    # A client must be the same visitor whether it arrives on an IPv4 or a dual-stack socket.
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address
