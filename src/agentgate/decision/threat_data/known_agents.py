"""Agents that publish their keys, and where: the hosts that a service with default settings fetches key sets from.

The list is bundled with its sources and dates; `agentgate intel update` replaces it. It allows fetches, nothing else.
"""

import functools
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct

AGENT_FILE = Path(__file__).parent / "data" / "known_agents.json"
MOST_AGENTS = 1_000

Line = Annotated[str, Meta(min_length=1, max_length=300)]


class KnownStatus(StrEnum):
    """Whether the operator itself names the origin, or others have seen keys there."""

    CONFIRMED = "confirmed"
    UNCONFIRMED = "unconfirmed"


class KnownAgent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    # The origin of its key set, which is under the well-known path.
    origin: Annotated[str, Meta(pattern=r"^https://[a-z0-9-]+(\.[a-z0-9-]+)+\Z", max_length=261)]
    name: Line
    operator: Line
    purpose: Line
    # The source of this information, and the date when it was read.
    source: Line
    date: Annotated[str, Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")]
    status: KnownStatus

    @property
    def host(self) -> str:
        return urlsplit(self.origin).netloc


class KnownAgentFile(Struct, frozen=True, forbid_unknown_fields=True):
    note: str
    agents: Annotated[tuple[KnownAgent, ...], Meta(min_length=1, max_length=MOST_AGENTS)]


def read_known_agents(content: bytes) -> tuple[KnownAgent, ...]:
    """Return the agents of a list. ValueError when it is not one."""
    return msgspec.json.decode(content, type=KnownAgentFile).agents


@functools.cache
def bundled_agents() -> tuple[KnownAgent, ...]:
    return read_known_agents(AGENT_FILE.read_bytes())


def hosts_of(agents: Iterable[KnownAgent]) -> frozenset[str]:
    """Return the hosts that have key sets."""
    return frozenset(agent.host for agent in agents)
