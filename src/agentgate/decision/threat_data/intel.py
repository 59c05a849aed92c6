"""Intel: the threat data that signals look things up in. A value; a newer set replaces it whole (IntelDirectory).

The bundled part is stored in `data/`. `intel_file.py` reads the data that `agentgate intel update` imported, which is
added to the bundled part.
"""

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from ahocorasick_rs import AhoCorasick
from msgspec import Struct

from agentgate.decision.threat_data.intel_file import FILE_NAME, ImportedSet, IntelRefused, SourceLine, read_set
from agentgate.decision.threat_data.known_agents import bundled_agents, hosts_of
from agentgate.decision.threat_data.networks import DATACENTER, PRIVATE, AddressTable, Range, make_flags, network_range
from agentgate.decision.threat_data.search_operators import SearchOperator, by_token, read_operators
from agentgate.decision.threat_data.search_verification import CrawlerStatuses
from agentgate.decision.threat_data.user_agent_tokens import Boundary, Token, TokenMatcher
from agentgate.decision.threat_data.views import AddressView, UserAgentView
from agentgate.lib.bounded_cache import BoundedCache
from agentgate.lib.clock import to_rfc3339
from agentgate.lib.ip_address import read_network
from agentgate.sites.ai_terms import NamedCrawler

DATA = Path(__file__).parent / "data"
TOKEN_FILES = ("user_agents.json", "clients.json")
NETWORK_FILE = "datacenters.txt"
PHRASE_FILE = "spam_phrases.txt"

# Addresses that no visitor has on the open internet.
PRIVATE_NETWORKS = (
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "::/64",
    "fc00::/7",
    "fe80::/10",
)

# A busy site sees some thousand browsers and many more addresses; a flood of new ones must not grow without bound.
USER_AGENTS, ADDRESSES = 4_096, 8_192


class BundledToken(Struct, frozen=True, array_like=True):
    """A token of the bundled files, which name its boundary by a word."""

    text: str
    kind: str
    position: str
    name: str
    purpose: str = ""

    def token(self) -> Token:
        return Token(self.text, self.kind, Boundary[self.position.upper()], self.name, self.purpose)


class TokenFile(Struct, frozen=True):
    """A bundled list of tokens."""

    note: str
    tokens: tuple[BundledToken, ...]


class Intel(Struct, frozen=True, kw_only=True):
    """Threat data about networks and clients, with cached results."""

    tokens: TokenMatcher
    phrases: AhoCorasick
    # Bundled first, then imported; the flags of all tables are combined.
    flags: tuple[AddressTable, ...]
    asn: AddressTable | None = None
    country: AddressTable | None = None
    sources: tuple[SourceLine, ...] = ()
    # When the imported set was made; 0 when there is none.
    imported_ms: int = 0
    # Operators by the names of their programs, and those whose networks were imported, as bits.
    operators: Mapping[str, SearchOperator]
    published: int = 0
    # Hosts of the key sets of known agents.
    agent_hosts: frozenset[str]
    # Their purposes, by origin.
    agent_purposes: Mapping[str, str]
    # Results of DNS for claims; None if DNS is not used.
    crawler_statuses: CrawlerStatuses | None = None
    # Cached results of this data, dropped with it.
    user_agents: "BoundedCache[str | None, UserAgentView]"
    addresses: "BoundedCache[str, AddressView]"


def load_intel(folder: Path | None, crawler_statuses: CrawlerStatuses | None = None) -> Intel:
    """Load the bundled data and, when the folder holds a set, that too. IntelRefused when the set is damaged."""
    imported = None
    if folder is not None and (folder / FILE_NAME).exists():
        imported = read_set(folder / FILE_NAME)
    return make_intel(imported, crawler_statuses)


def make_intel(imported: ImportedSet | None, crawler_statuses: CrawlerStatuses | None = None) -> Intel:
    """Put the bundled data and an imported set together."""
    bundled, datacenters = _bundled_tokens(), tuple(_lines(DATA / NETWORK_FILE))
    added = () if imported is None else imported.tokens
    operators = read_operators()
    agents = (() if imported is None else imported.agents) or bundled_agents()
    tables = [_bundled_flags(datacenters, operators)]
    if imported is not None:
        tables.append(imported.flags)
    return Intel(
        tokens=TokenMatcher(_unique([*bundled, *added])) if added else _bundled_matcher(),
        phrases=_bundled_phrases(),
        flags=tuple(tables),
        asn=None if imported is None else imported.asn,
        country=None if imported is None else imported.country,
        sources=_bundled_sources(bundled, datacenters) + (() if imported is None else imported.sources),
        imported_ms=0 if imported is None else imported.created_ms,
        operators=by_token(operators),
        published=0 if imported is None else _published(imported.sources, operators),
        agent_hosts=hosts_of(agents),
        agent_purposes={agent.origin: agent.purpose for agent in agents},
        crawler_statuses=crawler_statuses,
        user_agents=BoundedCache(USER_AGENTS),
        addresses=BoundedCache(ADDRESSES),
    )


def _published(sources: Iterable[SourceLine], operators: Iterable[SearchOperator]) -> int:
    kinds = {line.kind for line in sources if line.taken}
    return sum(operator.bit for operator in operators if search_kind(operator) in kinds)


def search_kind(operator: SearchOperator) -> str:
    """Return the kind of a list of an operator's networks, which is also how its file's name begins."""
    return f"search-{operator.name}"


def _unique(tokens: Iterable[Token]) -> list[Token]:
    """Return each token once: of the same text at the same kind of place, the first."""
    found: dict[tuple[str, str], Token] = {}
    for token in tokens:
        found.setdefault((token.text, token.kind), token)
    return list(found.values())


# The bundled part does not depend on imported sets.
@functools.cache
def _bundled_tokens() -> tuple[Token, ...]:
    files = (msgspec.json.decode((DATA / name).read_bytes(), type=TokenFile) for name in TOKEN_FILES)
    return tuple(token.token() for file in files for token in file.tokens)


@functools.cache
def _bundled_matcher() -> TokenMatcher:
    return TokenMatcher(_unique(_bundled_tokens()))


@functools.cache
def _bundled_phrases() -> AhoCorasick:
    return AhoCorasick(list(_lines(DATA / PHRASE_FILE)))


@functools.cache
def _bundled_flags(datacenters: tuple[str, ...], operators: tuple[SearchOperator, ...]) -> AddressTable:
    v4: list[Range] = []
    v6: list[Range] = []
    for text, flag in [
        *((text, DATACENTER) for text in datacenters),
        *((text, PRIVATE) for text in PRIVATE_NETWORKS),
        *((text, operator.bit) for operator in operators for text in operator.networks),
    ]:
        network = read_network(text)
        (v4 if network.version == 4 else v6).append(network_range(network, flag))
    return make_flags(v4, v6)


def _bundled_sources(tokens: Sequence[Token], datacenters: Sequence[str]) -> tuple[SourceLine, ...]:
    return (
        SourceLine(file="bundled user agents", kind="user_agents", taken=len(tokens)),
        SourceLine(file="bundled data centers", kind="datacenter", taken=len(datacenters)),
        SourceLine(file="bundled known agents", kind="known_agents", taken=len(bundled_agents())),
    )


def _lines(path: Path) -> Iterator[str]:
    for line in path.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            yield line


# Modification time in nanoseconds and size of the file; None when there is none.
Stamp = tuple[int, int] | None


class IntelDirectory:
    """Holds the present data. An unreadable set does not replace it."""

    def __init__(
        self, folder: Path | None, *, expected: bool = False, crawler_statuses: CrawlerStatuses | None = None
    ) -> None:
        """Load the data. `expected`: the operator named the folder, so a missing set is reported."""
        self._folder = folder
        self._expected = expected
        self._problem = ""
        self._stamp: Stamp = None
        self._crawler_statuses = crawler_statuses
        self._current = load_intel(None, crawler_statuses)
        self.refresh()

    @property
    def current(self) -> Intel:
        """The active data. Read this property again for each request."""
        return self._current

    def agent_hosts(self) -> frozenset[str]:
        """Return the hosts of the key sets of known agents."""
        return self._current.agent_hosts

    def named_crawlers(self) -> list[NamedCrawler]:
        """Return the programs of AI operators by the names that robots.txt uses."""
        tokens = {token.text: token.name for token in self._current.tokens.tokens}
        found = {
            tokens.get(name, name): purpose
            for operator in dict.fromkeys(self._current.operators.values())
            for name, purpose in operator.purposes
            if "/" not in name
        }
        return [NamedCrawler(*each) for each in sorted(found.items())]

    def agent_purposes(self) -> Mapping[str, str]:
        """Return the purposes of known agents, by origin."""
        return self._current.agent_purposes

    def refresh(self) -> bool:
        """Load the folder's set if it has changed; return whether new data is active. Call it in a thread: it may
        take 1 s."""
        stamp = self._read_stamp()
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        if stamp is None:
            # The file was removed; its data remains active.
            self._problem = "the imported data is missing: the last data stays active"
            return False
        try:
            self._current = load_intel(self._folder, self._crawler_statuses)
        except IntelRefused as refused:
            self._problem = str(refused)
            return False
        self._problem = ""
        return True

    def status(self) -> tuple[bool, str]:
        """Return whether the data has no problem, and a line for the readiness response."""
        if self._problem:
            return False, self._problem
        if self._current.imported_ms:
            return True, f"set of {to_rfc3339(self._current.imported_ms)}"
        if self._expected:
            return False, f"no {FILE_NAME} in {self._folder}; run `agentgate intel update`"
        return True, "bundled data only"

    def _read_stamp(self) -> Stamp:
        if self._folder is None:
            return None
        try:
            found = (self._folder / FILE_NAME).stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size
