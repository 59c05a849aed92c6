"""Addresses on the public Internet: callers must not make the service send requests to its own network.

A separate table, not `is_global` of the library: that treats NAT64, 6to4 and IPv4-compatible forms of 127.0.0.1 as
global, and its results change between versions. Addresses that only wrap an IPv4 address are rejected, whatever they
wrap.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

_REFUSED_IPV4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by carriers, and some clouds' metadata
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # a cloud's own host, behind a public number
        "169.254.0.0/16",  # link-local, most clouds' metadata
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments, a cloud's metadata
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
# Everything outside is loopback, mapped, NAT64, unique-local, link-local, site-local, multicast or not assigned.
UNICAST_IPV6 = IPv6Network("2000::/3")
_REFUSED_IPV6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments, Teredo among them
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "3fff::/20",  # documentation
    )
)


def not_public() -> tuple[IPv4Network | IPv6Network, ...]:
    """Return the networks that are not public, except IPv6 outside `UNICAST_IPV6`."""
    return (*_REFUSED_IPV4, *_REFUSED_IPV6)


def is_public(address: str) -> bool:
    """Return whether an address is a public one; text that is no address is not."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, IPv4Address):
        return not any(parsed in network for network in _REFUSED_IPV4)
    return _is_public_ipv6(parsed)


def _is_public_ipv6(address: IPv6Address) -> bool:
    # A scope such as %eth0 belongs to addresses of this link only.
    if address.scope_id is not None or address not in UNICAST_IPV6:
        return False
    return not any(address in network for network in _REFUSED_IPV6)
