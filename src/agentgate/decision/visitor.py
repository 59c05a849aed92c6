"""Visitor: the site-scoped pseudonym of a client's address. It identifies no person."""

from agentgate.http.address import source_of
from agentgate.lib.keyring import Keyring
from agentgate.lib.mac import PreparedMac


class Visitors:
    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring
        self._generation = -1
        self._key = b""
        # By site.
        self._macs: dict[str, PreparedMac] = {}

    def find(self, site_key: str, address: str) -> int:
        """Return the visitor's number: 64 bits, written as 16 hex digits."""
        if self._generation != self._keyring.generation:
            self._read_key()
        mac = self._macs.get(site_key) or self._prepare(site_key)
        source = source_of(address).encode()
        return int.from_bytes(mac.tag(len(source).to_bytes(4) + source)[:8])

    def named_since_ms(self) -> int:
        """Return since when addresses have their present pseudonyms."""
        return self._keyring.since_ms("visitor")

    def _read_key(self) -> None:
        self._generation = self._keyring.generation
        key = self._keyring.current("visitor")
        if key != self._key:
            self._key, self._macs = key, {}

    def _prepare(self, site_key: str) -> PreparedMac:
        # Tags are equal to the tags of `Keyring.mac("visitor", b"site", site, source)`.
        parts = (b"visitor", b"site", site_key.encode())
        prefix = b"".join(len(part).to_bytes(4) + part for part in parts)
        mac = self._macs[site_key] = PreparedMac(self._key, prefix=prefix)
        return mac
