"""Addresses of people: networks of providers that connect homes and phones, IPv4 mostly.

An IPv6 household has a /64, and each device picks the rest of its address at random.
"""

from ipaddress import IPv4Network, IPv6Address, IPv6Network
from random import Random

IPV6_SHARE = 0.25
_IPV4 = tuple(
    IPv4Network(text)
    for text in (
        "24.0.0.0/12",
        "73.0.0.0/9",
        "98.192.0.0/10",
        "79.192.0.0/10",
        "87.128.0.0/11",
        "91.0.0.0/11",
        "90.0.0.0/10",
        "86.128.0.0/11",
        "83.32.0.0/11",
        "79.0.0.0/11",
        "84.0.0.0/13",
        "153.128.0.0/10",
        "126.64.0.0/11",
        "175.192.0.0/11",
        "113.64.0.0/11",
        "187.128.0.0/11",
        "189.0.0.0/11",
        "49.32.0.0/12",
        "106.192.0.0/12",
        "95.24.0.0/13",
    )
)
_IPV6 = tuple(
    IPv6Network(text)
    for text in ("2601::/20", "2003::/20", "2a00:23c0::/27", "2a01:cb00::/25", "2409:4000::/23", "2607:fb90::/32")
)


def choose_address(chance: Random) -> str:
    """Return the address of a random person."""
    if chance.random() < IPV6_SHARE:
        network = chance.choice(_IPV6)
        household = chance.getrandbits(64 - network.prefixlen) << 64
        return str(IPv6Address(int(network.network_address) | household | chance.getrandbits(64)))
    network4 = chance.choice(_IPV4)
    # A provider gives no household the first or last address of a /24.
    number = chance.getrandbits(24 - network4.prefixlen) << 8 | chance.randint(1, 254)
    return str(network4[number])
