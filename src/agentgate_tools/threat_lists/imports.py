"""Public lists in their published formats -> one set of threat data. A line that cannot be read is reported.

The kind of a file follows from its name and its content: `kind_of` defines the known names.
"""

import gzip
import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from io import BufferedIOBase
from ipaddress import IPv4Network, IPv6Network
from itertools import count
from pathlib import Path
from typing import Any

from msgspec import Struct

from agentgate.decision.threat_data.intel import search_kind
from agentgate.decision.threat_data.intel_file import ImportedSet, IntelRefused, SourceLine
from agentgate.decision.threat_data.known_agents import KnownAgent, read_known_agents
from agentgate.decision.threat_data.networks import (
    ALLOW,
    BLOCK,
    DATACENTER,
    TOR,
    VPN,
    Range,
    country_code,
    make_flags,
    make_values,
    network_range,
)
from agentgate.decision.threat_data.search_operators import read_operators
from agentgate.decision.threat_data.user_agent_tokens import Token
from agentgate.lib.ip_address import read_address, read_network
from agentgate_tools.threat_lists.crawlers import ReadTokens
from agentgate_tools.threat_lists.name_lists import read_lines, read_names

FLAG_OF_KIND = {"allow": ALLOW, "block": BLOCK, "tor": TOR, "vpn": VPN, "datacenter": DATACENTER}
KNOWN_NAMES = (
    "allow*.txt, block*.txt, tor*.txt, vpn*.txt, datacenter*.txt, search-<operator>*.txt or .json (such as "
    "search-google.json), known_agents.json, names-<class>*.txt (such as names-scanner.txt), *.json (AWS, Google, "
    "Azure ranges, crawler-user-agents, ai.robots.txt, well-known-bots or opawg's user-agents), "
    "*.tsv or *.tsv.gz (iptoasn), *.mmdb (ASN or country)"
)
NAME_KINDS = (
    *("ai_agent", "search_engine", "seo", "archiver", "academic", "advertising", "crawler", "preview", "feed_reader"),
    *("uptime", "webhook", "scanner", "http_library"),
)
# Files next to lists that are not lists: publishers and license terms.
NOT_LISTS = (".", "readme", "licence", "license", "notice")
NO_COUNTRY = {"", "None", "Unknown"}
# A list that holds a wider network than these is wrong or hostile: it would decide about a good part of the internet.
WIDEST_V4, WIDEST_V6 = 8, 16
MOST_FILE_BYTES = 1024 * 1024 * 1024
MOST_RANGES = 4_000_000
# The longest lines of published lists have some hundred bytes.
LONGEST_LINE = 64 * 1024
AS_PUBLISHED = "give the file in its published format"
# Of each file; enough to see what is wrong with it.
MOST_REPORTED = 20


class Refusal(Struct, frozen=True):
    """A line, or an entry counted from 1, that was not taken, and why."""

    line: int
    reason: str


class FileReport(Struct, frozen=True, kw_only=True):
    """The result of importing one file."""

    file: str
    kind: str
    taken: int
    refused: int = 0
    refusals: tuple[Refusal, ...] = ()


class Gathered:
    """The content of the files read so far."""

    def __init__(self) -> None:
        self.flags: tuple[list[Range], list[Range]] = ([], [])
        self.asn: tuple[list[Range], list[Range]] = ([], [])
        self.country: tuple[list[Range], list[Range]] = ([], [])
        self.tokens: list[Token] = []
        self.agents: dict[str, KnownAgent] = {}
        self.taken = 0
        self.refused = 0
        self.refusals: list[Refusal] = []

    def refuse(self, line: int, reason: object) -> None:
        """Note a line that was not taken."""
        self.refused += 1
        if len(self.refusals) < MOST_REPORTED:
            self.refusals.append(Refusal(line, str(reason)[:200]))

    def add_network(self, text: str, flag: int) -> None:
        """Take an address or a network into a list; ValueError when it is neither, or too wide."""
        network = read_network(text)
        if network.prefixlen < (WIDEST_V4 if network.version == 4 else WIDEST_V6):
            raise ValueError(
                f"{network} is too wide for a list; the widest are /{WIDEST_V4} and, in IPv6, /{WIDEST_V6}"
            )
        self.add(self.flags, network, flag)

    def add(self, table: tuple[list[Range], list[Range]], network: IPv4Network | IPv6Network, value: int) -> None:
        table[network.version == 6].append(network_range(network, value))
        self.count()

    def count(self) -> None:
        """Count one entry; raise IntelRefused above the limit."""
        self.taken += 1
        if self.taken > MOST_RANGES:
            raise IntelRefused(f"the file has more than {MOST_RANGES} entries; give a smaller one")


def import_folder(folder: Path, *, now_ms: int) -> tuple[ImportedSet, list[FileReport]]:
    """Read every file of a folder. Raise IntelRefused if it has none, or if a file does not match its name."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.lower().startswith(NOT_LISTS))
    if not files:
        raise IntelRefused(f"{folder} has no files; put lists there: {KNOWN_NAMES}")
    gathered = Gathered()
    reports = [_import_file(path, gathered) for path in files]
    sources = tuple(
        SourceLine(file=report.file, kind=report.kind, taken=report.taken, refused=report.refused) for report in reports
    )
    imported = ImportedSet(
        created_ms=now_ms,
        sources=sources,
        tokens=tuple(gathered.tokens),
        agents=tuple(gathered.agents.values()),
        flags=make_flags(*gathered.flags),
        asn=make_values(*gathered.asn) if any(gathered.asn) else None,
        country=make_values(*gathered.country) if any(gathered.country) else None,
    )
    return imported, reports


def _import_file(path: Path, gathered: Gathered) -> FileReport:
    kind, read = kind_of(path)
    if path.stat().st_size > MOST_FILE_BYTES:
        raise IntelRefused(f"{path.name} has more than {MOST_FILE_BYTES} bytes; give a smaller one")
    gathered.taken, gathered.refused, gathered.refusals = 0, 0, []
    try:
        read(path, gathered)
    except IntelRefused:
        raise
    except Exception as unreadable:
        raise IntelRefused(
            f"{path.name} cannot be read as {kind} ({type(unreadable).__name__}: {unreadable}); {AS_PUBLISHED}"
        ) from unreadable
    return FileReport(
        file=path.name, kind=kind, taken=gathered.taken, refused=gathered.refused, refusals=tuple(gathered.refusals)
    )


def kind_of(path: Path) -> tuple[str, Callable[[Path, Gathered], None]]:
    """Return what a file is by its name, and how it is read."""
    name = path.name.lower()
    if name.endswith(".mmdb"):
        return "mmdb", _read_mmdb
    if name.endswith((".tsv", ".tsv.gz")):
        return "iptoasn", _read_iptoasn
    if name.startswith(("names-", "search-")):
        return _kind_of_names(name) if name.startswith("names-") else _kind_of_search(name)
    if name.endswith(".json"):
        return ("known_agents", _read_agents) if name == "known_agents.json" else ("json", _read_json)
    if name.endswith(".txt"):
        for kind, flag in FLAG_OF_KIND.items():
            if name.startswith(kind):
                return kind, partial(_read_list, flag=flag)
    return "unknown", _refuse_file


def _kind_of_names(name: str) -> tuple[str, Callable[[Path, Gathered], None]]:
    for kind in NAME_KINDS:
        if re.match(rf"names-{kind}[.-]", name) and name.endswith(".txt"):
            return f"names-{kind}", partial(_read_name_lines, kind=kind)
    return "unknown", _refuse_file


def _kind_of_search(name: str) -> tuple[str, Callable[[Path, Gathered], None]]:
    read = _read_prefixes if name.endswith(".json") else _read_list
    # The longest name first: one begins like another.
    for operator in sorted(read_operators(), key=lambda each: -len(each.name)):
        if re.match(rf"{search_kind(operator)}[.-]", name) and name.endswith((".json", ".txt")):
            return search_kind(operator), partial(read, flag=operator.bit)
    return "unknown", _refuse_file


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    with path.open("rb") as raw:
        content: BufferedIOBase = gzip.GzipFile(fileobj=raw) if path.name.endswith(".gz") else raw
        unpacked = 0
        # A few bytes of a packed file can be one line of gigabytes, so no more of a line is read than one may have.
        for number in count(1):
            line = content.readline(LONGEST_LINE + 1)
            if not line:
                return
            unpacked += len(line)
            if len(line) > LONGEST_LINE:
                raise IntelRefused(f"line {number} of {path.name} has more than {LONGEST_LINE} bytes; {AS_PUBLISHED}")
            if unpacked > MOST_FILE_BYTES:
                raise IntelRefused(f"{path.name} unpacks to more than {MOST_FILE_BYTES} bytes; give a smaller one")
            yield number, line.decode("utf-8", "replace").strip()


def _read_agents(path: Path, gathered: Gathered) -> None:
    try:
        agents = read_known_agents(path.read_bytes())
    except ValueError as problem:
        raise IntelRefused(f"{path.name} is not a list of known agents: {problem}") from problem
    for agent in agents:
        gathered.agents[agent.origin] = agent
        gathered.count()


def _refuse_file(_path: Path, gathered: Gathered) -> None:
    gathered.refuse(1, f"unknown kind of list; known names are {KNOWN_NAMES}")


def _read_list(path: Path, gathered: Gathered, *, flag: int) -> None:
    for number, line in _lines(path):
        entry = line.partition("#")[0].strip()
        # The Tor project's list has `ExitAddress <address> <time>` between lines about each exit.
        if line.startswith(("ExitNode ", "Published ", "LastStatus ")) or not entry:
            continue
        if entry.startswith("ExitAddress "):
            entry = entry.split()[1]
        try:
            gathered.add_network(entry, flag)
        except ValueError as wrong:
            gathered.refuse(number, wrong)


def _read_iptoasn(path: Path, gathered: Gathered) -> None:
    for number, line in _lines(path):
        if not line:
            continue
        try:
            _add_iptoasn(line, gathered)
        except ValueError as wrong:
            gathered.refuse(number, wrong)


def _add_iptoasn(line: str, gathered: Gathered) -> None:
    fields = line.split("\t")
    if len(fields) < 4:
        raise ValueError("not start, end, ASN, country and name between tabs")
    first, last = read_address(fields[0]), read_address(fields[1])
    if first is None or last is None or first.version != last.version or first.number > last.number:
        raise ValueError(f"{fields[0]!r} to {fields[1]!r} is not an address range")
    asn = int(fields[2])
    if not 0 <= asn < 2**32:
        raise ValueError(f"{fields[2]!r} is not an ASN")
    country = 0 if fields[3] in NO_COUNTRY else country_code(fields[3])
    side = first.version == 6
    # Number 0 stands for "not routed", and its country for none.
    if asn:
        gathered.asn[side].append((first.number, last.number, asn))
    if asn and country:
        gathered.country[side].append((first.number, last.number, country))
    gathered.count()


def _read_json(path: Path, gathered: Gathered) -> None:
    content = json.loads(path.read_bytes())
    names = read_names(content)
    if names is not None:
        _add_names(names, gathered)
        return
    _add_prefixes(content, gathered, DATACENTER)
    if not gathered.taken:
        raise ValueError("no address ranges in it, as AWS, Google or Azure publish them, nor a list of crawlers")


def _read_name_lines(path: Path, gathered: Gathered, *, kind: str) -> None:
    _add_names(read_lines((line for _, line in _lines(path)), kind), gathered)


def _add_names(read: ReadTokens, gathered: Gathered) -> None:
    gathered.tokens += read.tokens
    gathered.taken += len(read.tokens)
    for index, pattern in enumerate(read.dropped, start=1):
        # These are not errors in the file: the automaton only takes plain text.
        gathered.refusals.append(Refusal(index, f"pattern {pattern!r} is not plain text, or too general"))


def _read_prefixes(path: Path, gathered: Gathered, *, flag: int) -> None:
    _add_prefixes(json.loads(path.read_bytes()), gathered, flag)
    if not gathered.taken:
        raise ValueError("no address ranges in it, as Google and Bing publish them for their crawlers")


def _add_prefixes(content: Any, gathered: Gathered, flag: int) -> None:
    for index, text in enumerate(_published_prefixes(content), start=1):
        try:
            gathered.add_network(str(text), flag)
        except ValueError as wrong:
            gathered.refuse(index, wrong)


def _published_prefixes(content: Any) -> Iterator[Any]:
    """Yield the networks in the files of AWS (`ip_prefix`), Google (`ipv4Prefix`) and Azure (`addressPrefixes`)."""
    for entry in [*content.get("prefixes", ()), *content.get("ipv6_prefixes", ())]:
        for name in ("ip_prefix", "ipv6_prefix", "ipv4Prefix", "ipv6Prefix"):
            if name in entry:
                yield entry[name]
    for value in content.get("values", ()):
        yield from value["properties"]["addressPrefixes"]


def _read_mmdb(path: Path, gathered: Gathered) -> None:
    import maxminddb  # noqa: PLC0415 - only an import needs it, the running program does not

    with maxminddb.open_database(path) as reader:
        for index, (network, data) in enumerate(reader, start=1):
            try:
                _add_record(network, data, gathered)
            except (ValueError, TypeError, AttributeError) as wrong:
                gathered.refuse(index, wrong)


def _add_record(network: IPv4Network | IPv6Network, data: Any, gathered: Gathered) -> None:
    asn = data.get("autonomous_system_number") or data.get("asn")
    country: Any = data.get("country") or data.get("registered_country") or data.get("country_code")
    code = country.get("iso_code") if isinstance(country, dict) else country
    if asn is not None:
        gathered.add(gathered.asn, network, int(str(asn).removeprefix("AS")))
    if code:
        gathered.add(gathered.country, network, country_code(code))


def refused_lines(reports: Iterable[FileReport]) -> int:
    """Return the total number of rejected lines."""
    return sum(report.refused for report in reports)
