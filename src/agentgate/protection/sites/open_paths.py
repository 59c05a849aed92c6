"""OpenPaths: the paths that a site opened to one sender each, such as `/hooks/stripe` to Stripe.

A service is known by what it publishes: the networks it sends from, or the header in which it signs. Where it publishes
networks, those count. A signature can only be checked by the site, which has the key: here its header keeps out
requests that come by chance, and the site refuses forged signatures itself.
"""

import re
from collections.abc import Iterable
from importlib import resources
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

import msgspec
from msgspec import UNSET, Struct

from agentgate.protection.sites.records import SiteOpenPath


class Sender(Struct, frozen=True):
    """A service that posts to sites."""

    signatures: tuple[str, ...] = ()
    networks: tuple[str, ...] = ()


# Known senders by name.
SENDERS = msgspec.json.decode(
    resources.files("agentgate.protection.sites").joinpath("senders.json").read_bytes(), type=dict[str, Sender]
)
ANYONE = "anyone"
# Any sender that is not a browser, so many requests a minute.
PROGRAMS = "programs"
PER_MINUTE, MOST_PER_MINUTE = 60, 6_000
BELOW = "/*"
PATH_CHARACTERS, NOTE_CHARACTERS = 1_024, 200
# A plain path, which all servers read alike.
_PATH = re.compile(r"(?:/(?!\.{1,2}(?:/|\Z))[A-Za-z0-9._~@:+=!,-]+)+/?\Z", re.ASCII)

IpAddress = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


class _Opening(Struct, frozen=True):
    """One entry, ready to be asked."""

    path: str = ""
    networks: tuple[Network, ...] = ()
    signatures: frozenset[str] = frozenset()
    to_anyone: bool = False
    # Of `programs`: how many requests a minute all of them share.
    per_minute: int = 0

    def is_sender(self, signatures: frozenset[str], address: str) -> bool:
        if self.to_anyone:
            return True
        if self.networks:
            return _is_within(address, self.networks)
        return not self.signatures.isdisjoint(signatures)


class OpenPath(Struct, frozen=True):
    """All entries of a path: each opens it to one sender."""

    openings: tuple[_Opening, ...]

    @property
    def per_minute(self) -> int:
        """How many requests a minute the path takes from any program that is not a browser."""
        return max(each.per_minute for each in self.openings)

    @property
    def name(self) -> str:
        """What its ceiling is counted by."""
        return next(each.path for each in self.openings if each.per_minute)

    def is_sender(self, signatures: frozenset[str], address: str) -> bool:
        """Return whether a request comes from a sender that the path is open to."""
        return any(each.is_sender(signatures, address) for each in self.openings)


class OpenPaths:
    """A site's open paths."""

    def __init__(self, entries: Iterable[SiteOpenPath]) -> None:
        self._exact: dict[str, tuple[_Opening, ...]] = {}
        self._below: list[tuple[str, _Opening]] = []
        for entry in entries:
            opening = _read(entry)
            if entry.path.endswith(BELOW):
                self._below.append((entry.path.removesuffix("*"), opening))
            else:
                self._exact[entry.path] = (*self._exact.get(entry.path, ()), opening)

    def find(self, target: str) -> OpenPath | None:
        """Return the open path of a target, for any method, since senders may probe the path."""
        if not self._exact and not self._below:
            return None
        path = target.partition("?")[0]
        if _PATH.match(path) is None:
            return None
        below = (opening for start, opening in self._below if path.startswith(start))
        found = (*self._exact.get(path, ()), *below)
        return OpenPath(found) if found else None


def find_open_path_problem(entry: SiteOpenPath) -> str | None:
    """Return the problem with an entry: the field, and how to correct it."""
    path = entry.path.removesuffix("*") if entry.path.endswith(BELOW) else entry.path
    if len(entry.path) > PATH_CHARACTERS or _PATH.match(path) is None:
        return (
            "path must be plain, such as /hooks/stripe, or /hooks/* for everything below it. / alone cannot be allowed."
        )
    if isinstance(entry.note, str) and len(entry.note) > NOTE_CHARACTERS:
        return f"note may have at most {NOTE_CHARACTERS} characters."
    if entry.per_minute is not UNSET and (entry.sender != PROGRAMS or not 1 <= entry.per_minute <= MOST_PER_MINUTE):
        return f"perMinute must be 1 to {MOST_PER_MINUTE}, and only the sender {PROGRAMS} may have it."
    if entry.sender in {ANYONE, PROGRAMS} or entry.sender in SENDERS or _network(entry.sender) is not None:
        return None
    known = ", ".join(sorted(SENDERS))
    return f"sender {entry.sender[:100]!r} must be {ANYONE}, {PROGRAMS}, an address or network, or one of: {known}."


def _read(entry: SiteOpenPath) -> _Opening:
    if entry.sender == ANYONE:
        return _Opening(to_anyone=True)
    if entry.sender == PROGRAMS:
        per_minute = PER_MINUTE if entry.per_minute is UNSET else entry.per_minute
        return _Opening(entry.path, per_minute=per_minute)
    network = _network(entry.sender)
    if network is not None:
        return _Opening(entry.path, networks=(network,))
    sender = SENDERS[entry.sender]
    return _Opening(networks=tuple(map(ip_network, sender.networks)), signatures=frozenset(sender.signatures))


def _network(text: str) -> Network | None:
    try:
        return ip_network(text)
    except ValueError:
        return None


def _is_within(address: str, networks: Iterable[Network]) -> bool:
    try:
        found = ip_address(address)
    except ValueError:
        return False
    return any(found in network for network in networks)


NO_OPEN_PATHS = OpenPaths(())
