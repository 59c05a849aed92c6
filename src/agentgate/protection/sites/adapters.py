"""The configuration of a proxy, filled in for a site: what is said of it, and who writes it."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import UNSET, UnsetType

from agentgate.lib.records import Query, Record
from agentgate.protection.sites.records import Site


class AdapterQuery(Query, frozen=True, kw_only=True):
    """Where the site's own server listens, and which of its origins is meant."""

    upstream: str | UnsetType = UNSET
    origin: str | UnsetType = UNSET


class AdapterFile(Record, frozen=True, kw_only=True):
    """One file of a proxy's configuration."""

    name: str
    text: str


class Adapter(Record, frozen=True, kw_only=True):
    """A proxy's configuration for a site. In place of the secret stands `placeholder`: only its owner has it."""

    proxy: str
    files: list[AdapterFile]
    placeholder: str


class AdapterWriter(Protocol):
    """Writes the configuration of a proxy."""

    proxies: Sequence[str]

    def write(self, proxy: str, site: Site, query: AdapterQuery) -> Adapter:
        """Return the files; refuse values that cannot stand in them."""
        ...
