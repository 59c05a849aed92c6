"""Operators whose programs can be recognized: names in User-Agents, published networks, domains of their machines.

Most are search engines and AI operators, whose names no other program uses. Of others (previews, monitors, scanners)
only the proof counts: a link's preview is also fetched by people's own phones under the same name, so an address
elsewhere forges nothing.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from agentgate.lib.enums import AiPurpose

OPERATOR_FILE = Path(__file__).parent / "data" / "search_operators.json"


class SearchOperator(Struct, frozen=True, gc=False):
    # The number of its bit in a table of addresses, never reused.
    number: int
    name: str
    # As the bundled lists of User-Agents write them, in lower case.
    tokens: tuple[str, ...]
    # The names of its crawlers' addresses end in one of these; none where the operator publishes addresses only.
    domains: tuple[str, ...]
    kind: str = "search"
    # Networks that the operator publishes, as far as they are bundled; imported lists add to them.
    networks: tuple[str, ...] = ()
    # The page that documents them, and the lists that `agentgate intel update operators` fetches.
    source: str = ""
    lists: tuple[str, ...] = ()
    # Of AI operators: the product, the company, the use of each name, the date of the look-up, and whether the company
    # itself documents it.
    title: str = ""
    owner: str = ""
    purposes: tuple[tuple[str, AiPurpose], ...] = ()
    date: str = ""
    status: str = ""

    @property
    def is_search(self) -> bool:
        """Return whether it is a search engine, whose name no other program uses."""
        return self.kind == "search"

    @property
    def is_ai(self) -> bool:
        """Return whether it is an AI operator, whose names no other program uses either."""
        return self.kind == "ai"

    @property
    def slug(self) -> str:
        """The name as a part of a label."""
        return self.name.replace("-", "_")

    @property
    def bit(self) -> int:
        """The operator in a table of addresses."""
        return 1 << self.number

    def owns(self, name: str) -> bool:
        """Return whether a host's name is within the operator's domains."""
        host = name.rstrip(".").lower()
        return host.endswith(tuple(f".{domain}" for domain in self.domains))


class OperatorFile(Struct, frozen=True):
    """The bundled list."""

    note: str
    operators: tuple[SearchOperator, ...]


def read_operators(path: Path = OPERATOR_FILE) -> tuple[SearchOperator, ...]:
    return msgspec.json.decode(path.read_bytes(), type=OperatorFile).operators


def by_token(operators: Iterable[SearchOperator]) -> Mapping[str, SearchOperator]:
    """Return the operators by the names of their crawlers."""
    return {token: operator for operator in operators for token in operator.tokens}
