"""Visitor: the site-scoped pseudonym of a client's address. It identifies no person, and leads back to none."""

from agentgate.http.address import source_of
from agentgate.lib.keyring import Keyring

MOST_REMEMBERED = 50_000


class Visitors:
    """Makes pseudonyms and remembers those of late: hashing one anew takes longer than most signals."""

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring
        self._key = keyring.current("visitor")
        self._generation = keyring.generation
        self._remembered: dict[tuple[str, str], int] = {}

    def find(self, site_key: str, address: str) -> int:
        """Return the visitor's number: 64 bits, written as 16 hex digits."""
        if self._generation != self._keyring.generation:
            self._look_at_key()
        visitor = self._remembered.get((site_key, address))
        if visitor is None:
            if len(self._remembered) >= MOST_REMEMBERED:
                self._remembered = {}
            tag = self._keyring.mac("visitor", b"site", site_key.encode(), source_of(address).encode())
            visitor = self._remembered[site_key, address] = int.from_bytes(tag[:8], "big")
        return visitor

    def _look_at_key(self) -> None:
        """Forget all pseudonyms when the key was rotated: from now on everybody has another one.

        Compared by value: keys are read anew from the store every few seconds, and the same key is another object then.
        """
        self._generation = self._keyring.generation
        key = self._keyring.current("visitor")
        if key != self._key:
            self._key, self._remembered = key, {}
