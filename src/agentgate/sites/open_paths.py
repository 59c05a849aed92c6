"""OpenPaths: the paths that a site opened to one sender each, such as `/hooks/stripe` to Stripe.

A service is known by what it publishes: the networks it sends from, or the header in which it signs. If it publishes
networks, those count. Only the site can check a signature, because it has the key. Here the header blocks requests that
come by chance, and the site rejects forged signatures itself.
"""

import re
from collections.abc import Iterable
from importlib import resources
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import NamedTuple

import msgspec
from msgspec import UNSET, Struct

from agentgate.sites.records import SiteOpenPath


class Sender(Struct, frozen=True):
    """A service that posts to sites."""

    signatures: tuple[str, ...] = ()
    networks: tuple[str, ...] = ()


# Known senders by name.
SENDERS = msgspec.json.decode(
    resources.files("agentgate.sites").joinpath("senders.json").read_bytes(), type=dict[str, Sender]
)
# The feeds of a site that declares none.
ROOT_FEEDS = frozenset(["/feed", "/feed/", "/rss.xml", "/atom.xml", "/feed.xml", "/index.xml"])
ANYONE = "anyone"
# Any sender that is not a browser, so many requests a minute.
PROGRAMS = "programs"
# Any sender that calls itself so, so many requests a minute: `name:feedly`.
NAME = "name:"
PER_MINUTE, NAME_PER_MINUTE, MOST_PER_MINUTE = 60, 20, 6_000
BELOW = "/*"
PATH_CHARACTERS, NOTE_CHARACTERS = 1_024, 200
# A plain path, which all servers read alike.
_PATH = re.compile(r"(?:/(?!\.{1,2}(?:/|\Z))[A-Za-z0-9._~@:+=!,-]+)+/?\Z", re.ASCII)
_METHOD = re.compile(r"[A-Z]{1,20}\Z", re.ASCII)
_NAME = re.compile(r"[a-z0-9_]{1,64}\Z", re.ASCII)

Network = IPv4Network | IPv6Network


class SenderClaims(NamedTuple):
    """The unproven claims of a client about itself."""

    # Headers in which services sign.
    signatures: frozenset[str]
    # Names and classes in its User-Agent.
    programs: tuple[str, ...]
    is_browsers: bool


class _Opening(Struct, frozen=True):
    """One entry, prepared for lookups."""

    path: str = ""
    networks: tuple[Network, ...] = ()
    signatures: frozenset[str] = frozenset()
    to_anyone: bool = False
    # The only method; empty for all.
    method: str = ""
    # If nothing proves the sender: how many requests a minute all such senders share, and the name that they give.
    per_minute: int = 0
    name: str = ""

    @property
    def is_claim(self) -> bool:
        """Return whether a name or a header alone opens it, which opens no named route."""
        return self.per_minute > 0 and bool(self.name or self.signatures)

    @property
    def counted_as(self) -> str:
        """What its requests are counted by."""
        return f"{self.method} {self.path} {self.name} {min(self.signatures, default='')}"

    def is_sender(self, signatures: frozenset[str], address: str) -> bool:
        if self.per_minute:
            return False
        if self.to_anyone:
            return True
        if self.networks:
            return _is_within(address, self.networks)
        return not self.signatures.isdisjoint(signatures)

    def is_claimed(self, claims: SenderClaims) -> bool:
        if self.name:
            return self.name in claims.programs
        if self.signatures:
            return not self.signatures.isdisjoint(claims.signatures)
        return not claims.is_browsers


class OpenPath(Struct, frozen=True):
    """All entries of a path: each opens it to one sender."""

    openings: tuple[_Opening, ...]

    def find_budget(self, claims: SenderClaims, *, has_named_route: bool) -> _Opening | None:
        """Return the entry whose budget a program without proof takes from; None if there is none."""
        found = (
            each
            for each in self.openings
            if each.per_minute and not (has_named_route and each.is_claim) and each.is_claimed(claims)
        )
        return max(found, key=lambda each: each.per_minute, default=None)

    def is_sender(self, signatures: frozenset[str], address: str) -> bool:
        """Return whether a request comes from a sender that the path is open to."""
        return any(each.is_sender(signatures, address) for each in self.openings)


class OpenPaths:
    """A site's allowed paths."""

    def __init__(self, entries: Iterable[SiteOpenPath]) -> None:
        self._exact: dict[str, tuple[_Opening, ...]] = {}
        self._below: list[tuple[str, _Opening]] = []
        for entry in entries:
            opening = _read(entry)
            if entry.path.endswith(BELOW):
                self._below.append((entry.path.removesuffix("*"), opening))
            else:
                self._exact[entry.path] = (*self._exact.get(entry.path, ()), opening)

    def find(self, target: str, method: str) -> OpenPath | None:
        """Return the allowed path of a target. An empty method is one that the request leaves unclear."""
        if not self._exact and not self._below:
            return None
        path = target.partition("?")[0]
        if path != "/" and _PATH.match(path) is None:
            return None
        below = (opening for start, opening in self._below if path.startswith(start))
        entries = (*self._exact.get(path, ()), *below)
        found = tuple(each for each in entries if each.method in {"", method})
        return OpenPath(found) if found else None


def find_open_path_problem(entry: SiteOpenPath) -> str | None:
    """Return the problem with an entry: the field, and how to correct it."""
    path = entry.path.removesuffix("*") if entry.path.endswith(BELOW) else entry.path
    is_plain = _PATH.match(path) is not None or (entry.path == "/" and entry.sender.startswith(NAME))
    if len(entry.path) > PATH_CHARACTERS or not is_plain:
        return (
            "path must be plain, such as /hooks/stripe, or /hooks/* for everything below it. / alone cannot be allowed."
        )
    if isinstance(entry.note, str) and len(entry.note) > NOTE_CHARACTERS:
        return f"note may have at most {NOTE_CHARACTERS} characters."
    return _find_method_or_sender_problem(entry)


def _find_method_or_sender_problem(entry: SiteOpenPath) -> str | None:
    if entry.method is not UNSET and _METHOD.match(entry.method) is None:
        return "method must be an upper-case HTTP method such as POST. Omit it for all methods."
    if entry.per_minute is not UNSET and not (_may_share(entry.sender) and 1 <= entry.per_minute <= MOST_PER_MINUTE):
        return (
            f"perMinute must be 1 to {MOST_PER_MINUTE}, and the sender {PROGRAMS}, {NAME}NAME, or a service that "
            "publishes no networks."
        )
    if entry.sender.startswith(NAME) and _NAME.match(entry.sender.removeprefix(NAME)) is not None:
        return None
    if entry.sender in {ANYONE, PROGRAMS} or entry.sender in SENDERS or _network(entry.sender) is not None:
        return None
    known = ", ".join(sorted(SENDERS))
    return (
        f"sender {entry.sender[:100]!r} must be {ANYONE}, {PROGRAMS}, {NAME}NAME (a-z, 0-9, _), an address or network, "
        f"or one of: {known}."
    )


def _may_share(sender: str) -> bool:
    """Return whether nothing proves a sender to the gateway, so that a budget may limit it."""
    return sender == PROGRAMS or sender.startswith(NAME) or (sender in SENDERS and not SENDERS[sender].networks)


def _read(entry: SiteOpenPath) -> _Opening:
    method = "" if entry.method is UNSET else entry.method
    if entry.sender == ANYONE:
        return _Opening(method=method, to_anyone=True)
    if entry.sender == PROGRAMS or entry.sender.startswith(NAME):
        name = entry.sender.removeprefix(NAME) if entry.sender != PROGRAMS else ""
        usual = NAME_PER_MINUTE if name else PER_MINUTE
        per_minute = usual if entry.per_minute is UNSET else entry.per_minute
        return _Opening(entry.path, method=method, per_minute=per_minute, name=name)
    network = _network(entry.sender)
    if network is not None:
        return _Opening(entry.path, method=method, networks=(network,))
    sender = SENDERS[entry.sender]
    return _Opening(
        entry.path,
        networks=tuple(map(ip_network, sender.networks)),
        signatures=frozenset(sender.signatures),
        method=method,
        per_minute=0 if entry.per_minute is UNSET else entry.per_minute,
    )


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
