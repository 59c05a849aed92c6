"""What the verification of agents asks of others: whose key a signature was made with, and whether it is new."""

from collections.abc import Awaitable
from typing import Protocol

from msgspec import Struct

from agentgate.lib.ed25519 import PublicKey


class KeyFound(Struct, frozen=True, gc=False):
    """What a key set says about a key: the key, or in one sentence why there is none."""

    key: PublicKey | None
    why: str | None = None
    # What the key set says that its agent fetches pages for, in the words of the label catalogue.
    purposes: tuple[str, ...] = ()


class KeySource(Protocol):
    """Keys of agents, by the URL of their key set and the key's thumbprint. Never by the thumbprint alone."""

    def find(self, url: str, keyid: str, *, now_ms: int) -> KeyFound | Awaitable[KeyFound]:
        """Return what is known at once, or something to wait for."""
        ...
