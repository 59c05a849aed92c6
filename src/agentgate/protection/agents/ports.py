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


class ReplayStore(Protocol):
    """Signatures that were accepted once and must not be accepted again."""

    @property
    def lost_ms(self) -> int:
        """When signatures that had been remembered were lost; 0 or less where none were."""
        ...

    async def remember(self, replay_key: bytes, *, kept_until_ms: int) -> bool:
        """Remember a signature, durably; False when it is remembered already. Of many at once, one wins."""
        ...

    async def forget_replays(self, before_ms: int, *, most: int) -> int:
        """Remove some of those that have expired; return how many went."""
        ...
