"""Visitor: the site-scoped pseudonym of a client's address. It identifies no person, and leads back to none."""

from agentgate.http.address import source_of
from agentgate.lib.keyring import Keyring
from agentgate.lib.mac import PreparedMac


class Visitors:
    """Makes pseudonyms."""

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring
        self._generation = -1
        self._key = b""
        self._mac = PreparedMac(b"")

    def find(self, site_key: str, address: str) -> int:
        """Return the visitor's number: 64 bits, written as 16 hex digits."""
        if self._generation != self._keyring.generation:
            self._read_key()
        # As `Keyring.mac("visitor", b"site", ...)` would.
        parts = (b"visitor", b"site", site_key.encode(), source_of(address).encode())
        message = b"".join([len(part).to_bytes(4, "big") + part for part in parts])
        return int.from_bytes(self._mac.tag(message)[:8], "big")

    def named_since_ms(self) -> int:
        """Return since when addresses have the names that they have now."""
        return self._keyring.since_ms("visitor")

    def _read_key(self) -> None:
        self._generation = self._keyring.generation
        key = self._keyring.current("visitor")
        if key != self._key:
            self._key, self._mac = key, PreparedMac(key)
