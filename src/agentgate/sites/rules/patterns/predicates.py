"""Predicates: conditions of rules on the request itself, compiled to bits.

A predicate is one list of a match, such as its networks, and holds when one entry does. For some requests this is
unknown: the path may be ambiguous, a stored event has no headers. Then a predicate *may* hold, and `evaluate` takes the
strictest outcome. `sites/request_matcher.py` reads paths and methods.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from agentgate.lib.ip_address import read_address
from agentgate.sites.rules.patterns.glob import Glob, read_folded_glob, read_program_glob
from agentgate.sites.rules.patterns.networks import NetworkSet, read_strict_network

NETWORK, USER_AGENT, HEADER, METHOD, PATH, HOST = "network", "user_agent", "header", "method", "path", "host"
# Named lists of networks, which belong to the site and not to the rules.
NETWORK_LIST = "network_list"
# One parameter of the query; and how many there are.
PARAMETER, PARAMETERS = "parameter", "parameters"
# Parts that only a visitor's request to the site has; the browser check and submissions go to the service.
OF_PAGE = frozenset((HEADER, METHOD, PATH, HOST, PARAMETER, PARAMETERS))
USER_AGENT_HEADER = "user-agent"


class Predicate(NamedTuple):
    """One list of a match: its subject, and the entries of which one must hold."""

    subject: str
    # The header, in lower case, or the parameter; empty for every other subject.
    name: str
    entries: tuple[str, ...]


class HeaderPredicate(NamedTuple):
    """Globs of which one must fit the value of a header, in lower case."""

    header: str
    globs: tuple[Glob, ...]
    bit: int


class Predicates:
    """The predicates of a rule set. A set without any has none of these."""

    __slots__ = (
        "_hosts",
        "_networks",
        "all",
        "amounts",
        "bits",
        "headers",
        "methods",
        "network_lists",
        "parameters",
        "paths",
        "unknown_bits",
    )

    def __init__(self, bits: Mapping[Predicate, int]) -> None:
        self.bits = dict(bits)
        self.all = tuple(self.bits)
        self._networks = tuple(
            (NetworkSet(map(read_strict_network, each.entries)), bit) for each, bit in self._of(NETWORK)
        )
        self.network_lists = tuple((each.entries, bit) for each, bit in self._of(NETWORK_LIST))
        self._hosts = tuple((tuple(map(read_folded_glob, each.entries)), bit) for each, bit in self._of(HOST))
        self.headers = tuple(
            [_header(each, USER_AGENT_HEADER, bit, read_program_glob) for each, bit in self._of(USER_AGENT)]
            + [_header(each, each.name, bit, read_folded_glob) for each, bit in self._of(HEADER)]
        )
        self.methods = tuple((frozenset(each.entries), bit) for each, bit in self._of(METHOD))
        # As written; `request_matcher` interprets paths.
        self.paths = tuple((each.entries, bit) for each, bit in self._of(PATH))
        # `query_matcher` interprets queries.
        self.parameters = tuple(self._of(PARAMETER))
        self.amounts = tuple(self._of(PARAMETERS))
        # A stored event knows nothing of these.
        self.unknown_bits = sum(self.bits.values())

    def of_address(self, address: str) -> int:
        """Return the bits of the networks that an address in its canonical form is in."""
        number = read_address(address) if self._networks else None
        if number is None:
            return 0
        return sum(bit for networks, bit in self._networks if networks.has(number))

    def of_host(self, host: str) -> int:
        """Return the bits of the host names that a host in lower case, without its port, fits."""
        return sum(bit for globs, bit in self._hosts if any(glob.matches(host) for glob in globs))

    @property
    def host_bits(self) -> int:
        return sum(bit for _, bit in self._hosts)

    def of_headers(self, headers: Iterable[HeaderPredicate], value_of: Callable[[str], str | None]) -> int:
        """Return the bits of the given header predicates that hold."""
        found = 0
        for header, globs, bit in headers:
            value = value_of(header)
            if value is not None and any(glob.matches(value) for glob in globs):
                found |= bit
        return found

    def _of(self, subject: str) -> list[tuple[Predicate, int]]:
        return [(each, bit) for each, bit in self.bits.items() if each.subject == subject]


def _header(predicate: Predicate, header: str, bit: int, read: Callable[[str], Glob]) -> HeaderPredicate:
    return HeaderPredicate(header, tuple(map(read, predicate.entries)), bit)
