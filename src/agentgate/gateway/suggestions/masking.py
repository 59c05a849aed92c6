"""The stored parts of a denied request: a masked path, the claimed or proven sender, the network's owner (pure).

A path can contain personal data and secrets. Digits, addresses and long or random segments are masked, and the query
and everything after the sixth segment are dropped.
"""

import re
from array import array
from bisect import bisect_right
from functools import cache, lru_cache
from ipaddress import IPv4Network, ip_network

from agentgate.decision.signals.detectors.user_agent import LABELS_OF_KIND
from agentgate.http.address import network_of
from agentgate.lib.ip_address import read_address
from agentgate.sites.open_paths import SENDERS

SEGMENTS, PATH_CHARACTERS, SEGMENT_CHARACTERS = 6, 160, 32
# From this length on, a segment with capital and small letters counts as random.
RANDOM_CHARACTERS = 13
DIGITS, HIDDEN, REST = "#", "*", "/..."

_PATH = re.compile(r"(?:/|(?:/(?!\.{1,2}(?:/|\Z))[A-Za-z0-9._~@:+=!,-]+)+/?)\Z", re.ASCII)
_VERSION = re.compile(r"v[0-9]{1,2}\Z", re.ASCII)
_NUMBER = re.compile(r"[0-9]+")
_OWNERS = {"net.datacenter": "datacenter", "net.tor": "tor", "net.vpn": "vpn", "net.private": "private"}
_ASN = "net.asn."


@lru_cache(maxsize=2_048)
def mask_path(path: str) -> str | None:
    """Return the masked prefix of a path; None for a path that servers read differently, which nothing opens."""
    if len(path) > 1_024 or _PATH.match(path) is None:
        return None
    segments = path[1:].split("/")
    masked = "".join(f"/{_mask(each)}" for each in segments[:SEGMENTS])
    if len(segments) > SEGMENTS or len(masked) > PATH_CHARACTERS:
        masked = masked[:PATH_CHARACTERS] + REST
    return masked


def is_masked(path: str) -> bool:
    """Return whether something of the path was not stored."""
    return DIGITS in path or HIDDEN in path or path.endswith(REST)


def _mask(segment: str) -> str:
    if _VERSION.match(segment) is not None:
        return segment
    is_random = len(segment) >= RANDOM_CHARACTERS and not (segment.islower() or segment.isupper())
    if len(segment) > SEGMENT_CHARACTERS or is_random or "@" in segment:
        return HIDDEN
    return _NUMBER.sub(DIGITS, segment)


@lru_cache(maxsize=2_048)
def name_of(program: str | None, programs: tuple[str, ...]) -> str:
    """Return the name that a program gives itself, as allowed paths compare it; empty if it gives none.

    `program` and `programs` come from its `UserAgentView`.
    """
    if program is not None and program in programs:
        return program
    return next((each for each in programs if each not in LABELS_OF_KIND), "")


@lru_cache(maxsize=2_048)
def owner_of(labels: tuple[str, ...]) -> str:
    """Return the owner of an address's network as far as threat data has it: its ASN, or its class."""
    found = ""
    for label in labels:
        if label.startswith(_ASN):
            return f"AS{label.removeprefix(_ASN)}"
        found = found or _OWNERS.get(label, "")
    return found


@lru_cache(maxsize=8_192)
def origin_of(address: str) -> tuple[str, str]:
    """Return the network of an address, and the known sender that publishes it."""
    return network_of(address), sender_at(address)


def sender_at(address: str) -> str:
    """Return the known sender that publishes a network with this address; empty if none does."""
    found = read_address(address)
    if found is None:
        return ""
    ranges = _published()[found.version == 6]
    at = bisect_right(ranges.starts, found.number >> 64 if found.version == 6 else found.number) - 1
    number = found.number >> 64 if found.version == 6 else found.number
    return ranges.names[at] if at >= 0 and number <= ranges.ends[at] else ""


def sender_of_headers(signatures: frozenset[str]) -> str:
    """Return the known sender without published networks that signs in one of these headers; empty if none does."""
    if not signatures:
        return ""
    return next((_signers()[each] for each in sorted(signatures) if each in _signers()), "")


class _Ranges:
    """Published networks of one address family: sorted first and last numbers. Of IPv6, the upper halves."""

    def __init__(self, found: list[tuple[int, int, str]]) -> None:
        found.sort()
        self.starts = array("Q", [each[0] for each in found])
        self.ends = array("Q", [each[1] for each in found])
        self.names = [each[2] for each in found]


@cache
def _published() -> tuple[_Ranges, _Ranges]:
    v4: list[tuple[int, int, str]] = []
    v6: list[tuple[int, int, str]] = []
    for name, sender in SENDERS.items():
        for network in map(ip_network, sender.networks):
            first, last = int(network.network_address), int(network.broadcast_address)
            if isinstance(network, IPv4Network):
                v4.append((first, last, name))
            else:
                v6.append((first >> 64, last >> 64, name))
    return _Ranges(v4), _Ranges(v6)


@cache
def _signers() -> dict[str, str]:
    return {
        header: name
        for name, sender in sorted(SENDERS.items(), reverse=True)
        if not sender.networks
        for header in sender.signatures
    }
