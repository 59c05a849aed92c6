"""SiteLists: the active entries of one site, prepared for lookups on the hot path. Pure.

The most specific entry counts: its address or visitor ID before a network, a longer prefix before a shorter, then a
network before an agent, and an agent before a program. Of two equally specific ones, `block` counts.
"""

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network

from agentgate.lib.enums import ListKind, ListOutcome, Outcome
from agentgate.lib.ids import read_visitor
from agentgate.lib.ip_address import AddressNumber, read_address
from agentgate.sites.lists.records import StoredEntry
from agentgate.sites.rules.evaluate import NO_TRAITS, RuleVerdict, Traits
from agentgate.sites.rules.patterns.glob import Glob, read_program_glob
from agentgate.sites.rules.patterns.networks import V4_BITS, V6_BITS, read_strict_network

# Specificity of entries; that of a network is the length of its prefix.
PROGRAM_RANK, AGENT_RANK, NETWORK_RANK, CLIENT_RANK = 1, 2, 10, 1_000
RULE_START = "list:"

# Family, length of the prefix, first bits.
_NetworkKey = tuple[int, int, int]


class SiteLists:
    """Looks clients up in a site's lists."""

    __slots__ = ("_agents", "_lengths", "_networks", "_programs", "_visitors")

    def __init__(self, entries: Iterable[StoredEntry]) -> None:
        self._networks: dict[_NetworkKey, Traits] = {}
        self._visitors: dict[int, Traits] = {}
        self._agents: dict[str, Traits] = {}
        self._programs: list[tuple[Glob, Traits]] = []
        for entry in entries:
            self._add(entry)
        self._lengths = sorted({key[:2] for key in self._networks}, reverse=True)

    def of_client(self, address: str, visitor: int | None) -> Traits:
        """Return the entry on a canonical address or its visitor ID."""
        found = NO_TRAITS if visitor is None else self._visitors.get(visitor, NO_TRAITS)
        number = read_address(address) if self._networks else None
        return found if number is None else stronger(found, self._of_address(number))

    def of_program(self, user_agent: str) -> Traits:
        """Return the entry on a User-Agent in lower case."""
        found = NO_TRAITS
        for glob, traits in self._programs:
            if glob.matches(user_agent):
                found = stronger(found, traits)
        return found

    def of_agent(self, verified: str | None, claimed: str | None) -> Traits:
        """Return the entry on an agent. It can block a claimed name, but not allow it."""
        if verified is not None:
            return self._agents.get(verified, NO_TRAITS)
        found = NO_TRAITS if claimed is None else self._agents.get(claimed, NO_TRAITS)
        return NO_TRAITS if found.listed is None or found.listed.outcome is Outcome.ALLOW else found

    def _of_address(self, address: AddressNumber) -> Traits:
        width = V4_BITS if address.version == 4 else V6_BITS
        for version, length in self._lengths:
            if version == address.version:
                found = self._networks.get((version, length, address.number >> (width - length)))
                if found is not None:
                    return found
        return NO_TRAITS

    def _add(self, entry: StoredEntry) -> None:
        if entry.kind is ListKind.VISITOR:
            visitor = read_visitor(entry.value)
            if visitor is not None:
                self._visitors[visitor] = _traits(entry, CLIENT_RANK)
        elif entry.kind is ListKind.AGENT:
            self._agents[entry.value] = _traits(entry, AGENT_RANK)
        elif entry.kind is ListKind.PROGRAM:
            self._programs.append((read_program_glob(entry.value), _traits(entry, PROGRAM_RANK)))
        else:
            network = read_strict_network(entry.value)
            traits = _traits(entry, CLIENT_RANK if _is_one(network) else NETWORK_RANK + network.prefixlen)
            key = _key(network)
            self._networks[key] = stronger(self._networks.get(key, NO_TRAITS), traits)


def stronger(one: Traits, other: Traits) -> Traits:
    """Return the more specific of two entries."""
    if one.listed is None or other.listed is None:
        return other if one.listed is None else one
    if one.rank != other.rank:
        return one if one.rank > other.rank else other
    return other if one.listed.outcome is Outcome.ALLOW else one


def verdict_of(entry: StoredEntry) -> RuleVerdict:
    """Return the verdict of an entry. A User-Agent proves nothing: it overrides rules, but waives no token."""
    is_allowed = entry.outcome is ListOutcome.ALLOW
    return RuleVerdict(
        Outcome.ALLOW if is_allowed else Outcome.BLOCK,
        RULE_START + entry.id,
        listed=True,
        waives=is_allowed and entry.kind is not ListKind.PROGRAM,
    )


def in_force(entries: Iterable[StoredEntry], now_ms: int) -> tuple[StoredEntry, ...]:
    """Return the unexpired entries of a site."""
    return tuple(each for each in entries if not each.is_over(now_ms))


def next_end_ms(entries: Iterable[StoredEntry]) -> int | None:
    """Return when the first of these entries ends, or None when none does."""
    return min((each.expires_ms for each in entries if each.expires_ms is not None), default=None)


def _traits(entry: StoredEntry, rank: int) -> Traits:
    return Traits(listed=verdict_of(entry), rank=rank)


def _is_one(network: IPv4Network | IPv6Network) -> bool:
    return network.prefixlen == network.max_prefixlen


def _key(network: IPv4Network | IPv6Network) -> _NetworkKey:
    return (
        network.version,
        network.prefixlen,
        int(network.network_address) >> (network.max_prefixlen - network.prefixlen),
    )
