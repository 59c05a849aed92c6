"""Identity: what a request proves about the agent that sent it. `signing/verify.py` makes it."""

from collections.abc import Mapping
from hashlib import sha256

from msgspec import Struct

from agentgate.lib.enums import AgentVerdict


class SignedMessage(Struct, frozen=True):
    """A request as its sender signed it, before any proxy."""

    # As sent, in capitals or not.
    method: str
    # `https`, and host with a port where it is not the scheme's own, both in small letters.
    scheme: str
    authority: str
    # Undecoded, with its query.
    target: str
    # Names in small letters; the values of a name that came more than once are joined with `, ` (RFC 9421 2.1).
    headers: Mapping[bytes, bytes]


class Identity(Struct, frozen=True, gc=False):
    """The identity of a request's sender."""

    verdict: AgentVerdict
    # Why it is invalid or unverified, in one sentence for the agent's developer; None otherwise.
    why: str | None = None
    # `https://agent.example` for a key set at the well-known place, else the key set's URL, without a query. Set when
    # verified, and when a signature names an agent that could not be verified.
    agent: str | None = None
    keyid: str | None = None
    # The purposes for which the agent fetches pages, from its key set, in the words of the label catalog.
    purposes: tuple[str, ...] = ()
    # Names of the components that the signature covers, such as `@authority`, `content-digest`, `crawler-max-price`.
    covered: frozenset[str] = frozenset()
    # Identifies the signature, and until when it must be stored (with the allowed skew): key set
    # URL, keyid and nonce, or the signature's bytes where there is no nonce.
    unique: bytes = b""
    has_nonce: bool = False
    expires_ms: int = 0
    # The time of signing that the agent claims.
    created_ms: int = 0
    # Identities of the other verified signatures of the request.
    others: tuple["Identity", ...] = ()
    # Whether its signature covers another one.
    is_outermost: bool = False

    @property
    def replay_key(self) -> bytes:
        """The key under which the signature is stored; empty if nothing identifies it."""
        # Computed on demand: most signatures need not be stored.
        return sha256(self.unique).digest() if self.unique else b""


UNSIGNED = Identity(verdict=AgentVerdict.UNSIGNED)
