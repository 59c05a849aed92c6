"""ProbeTicket: a draw and its right results, sealed under the challenge's own secret. The page cannot read it.

So any worker can judge the results, even after the pool was replaced; and a draw is valid for its challenge alone,
because no other has the same secret.
"""

import hashlib

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from msgspec import Struct

from agentgate.lib import base64url

# The key is used once: the challenge's secret is random.
NONCE = bytes(12)


class AskedProgram(Struct, frozen=True, array_like=True):
    """A program of a draw: its family, and its result; None for a fresh program, which is learned and not judged."""

    family: str
    answer: tuple[int, ...] | None
    # Identifies the program for learning.
    pool: str = ""
    number: int = 0


class ProbeTicket(Struct, frozen=True, array_like=True):
    """The programs of a draw in their order, and the claimed browser; the chains follow from the secret."""

    engine: str | None
    version: int | None
    # Whether the version took part in choosing the programs.
    seen: bool
    asked: tuple[AskedProgram, ...]


_decoder = msgspec.msgpack.Decoder(ProbeTicket)


def seal(ticket: ProbeTicket, seed: bytes, challenge_id: str) -> str:
    """Return the ticket as the page carries it."""
    sealed = _cipher(seed).encrypt(NONCE, msgspec.msgpack.encode(ticket), challenge_id.encode())
    return base64url.encode(sealed)


def unseal(text: str, seed: bytes, challenge_id: str) -> ProbeTicket | None:
    """Return the ticket of a challenge; None for a forged one or another challenge's."""
    try:
        sealed = base64url.decode(text)
        return _decoder.decode(_cipher(seed).decrypt(NONCE, sealed, challenge_id.encode()))
    except (InvalidTag, ValueError, msgspec.DecodeError):
        return None


def _cipher(seed: bytes) -> ChaCha20Poly1305:
    return ChaCha20Poly1305(hashlib.blake2b(seed, digest_size=32, person=b"probe ticket").digest())
