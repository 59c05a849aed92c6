"""Fleets in memory: credentials of whole accounts, and the site of each server name within an account."""

import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Protocol

from msgspec import Struct

from agentgate.lib.bounded_cache import BoundedCache
from agentgate.lib.enums import UnknownHosts
from agentgate.lib.errors import Refused

# Entries of the young generation: one for each server name in use.
NAMES = 8_192
_PORT = re.compile(r":[0-9]+\Z")


class HostedSite(Protocol):
    """The parts of a site's view that are read here."""

    @property
    def id(self) -> str: ...
    @property
    def number(self) -> int: ...
    @property
    def account_id(self) -> str: ...
    @property
    def origins(self) -> frozenset[str]: ...


class FleetCaller(Struct, frozen=True, gc=False):
    """A proxy of a hosting provider, as its secret identifies it."""

    account_id: str
    credential_id: str
    unknown_hosts: UnknownHosts


class HostedOrigin(Struct, frozen=True):
    """The site of a server name, and its own spelling of the origin."""

    site_id: str
    origin: str


class Fleets:
    """Credentials by digest, and sites by account and host. The site directory keeps both current."""

    def __init__(self, canonical_origin: Callable[[str], str]) -> None:
        self._canonical_origin = canonical_origin
        self._callers: dict[bytes, FleetCaller] = {}
        self._by_name: dict[tuple[str, str], dict[str, HostedSite]] = {}
        self._found: BoundedCache[tuple[str, bytes], HostedOrigin] = BoundedCache(NAMES)

    def replace_callers(self, live: Mapping[bytes, tuple[str, str, UnknownHosts]]) -> None:
        """Accept these secrets, and no others."""
        self._callers = {digest: FleetCaller(*each) for digest, each in live.items()}

    def find_caller(self, secret: bytes) -> FleetCaller | None:
        """Return the fleet with this secret; None if unknown or revoked, or if the account is deleted."""
        return self._callers.get(sha256(secret).digest()) if self._callers else None

    def put(self, site: HostedSite) -> None:
        """Add a site under each of its hosts."""
        for origin in site.origins:
            self._by_name.setdefault((site.account_id, _name_of(origin)), {})[site.id] = site
        self._found = BoundedCache(NAMES)

    def remove(self, site: HostedSite) -> None:
        for name in {_name_of(origin) for origin in site.origins}:
            sharing = self._by_name[site.account_id, name]
            del sharing[site.id]
            if not sharing:
                del self._by_name[site.account_id, name]
        self._found = BoundedCache(NAMES)

    def find_site(self, fleet: FleetCaller, start: bytes) -> HostedOrigin | None:
        """Return the site of scheme and authority as the proxy states them; None if no site of the account has it.

        Sites with this very origin come before sites that have the host alone. Of several, the oldest decides, so that
        a later site cannot take over a host.
        """
        key = (fleet.account_id, start)
        return self._found.get(key) or self._look_up(key)

    def _look_up(self, key: tuple[str, bytes]) -> HostedOrigin | None:
        account_id, start = key
        try:
            stated = self._canonical_origin(start.decode("latin-1"))
        except Refused:
            return None
        sites = self._by_name.get((account_id, _name_of(stated)), {}).values()
        exact = [each for each in sites if stated in each.origins]
        if not sites:
            return None
        site = min(exact or sites, key=lambda each: each.number)
        return self._found.put(key, HostedOrigin(site.id, stated if exact else _own_origin(site, stated)))


def _own_origin(site: HostedSite, stated: str) -> str:
    """Return the site's origin with the stated host, with the same scheme if the site has one."""
    same = sorted(each for each in site.origins if _name_of(each) == _name_of(stated))
    scheme = stated.partition(":")[0]
    return next((each for each in same if each.startswith(f"{scheme}:")), same[0])


def _name_of(origin: str) -> str:
    """Return the host of a canonical origin without port and closing dot."""
    return _PORT.sub("", origin.partition("://")[2]).rstrip(".")
