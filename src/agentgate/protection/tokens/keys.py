"""The Ed25519 keys that sign receipts, and the key set that is published for whoever verifies them.

They are made from the keyring's `receipt` keys, so rotation, delayed activation and the grace period are the
keyring's. Test tokens are signed by keys of their own that are not published: nobody accepts one by mistake.
"""

import base64
import hashlib

from msgspec import Struct

from agentgate.lib.ed25519 import PrivateKey
from agentgate.lib.keyring import KEY_BYTES, Keyring

TYPE = "agentgate-receipt+jwt"
# RFC 9864 gives EdDSA with this curve a second name; we write the first and accept both.
ALGORITHMS = ("EdDSA", "Ed25519")


class PublishedKey(Struct, frozen=True, kw_only=True):
    """A public key as a JSON Web Key (RFC 8037)."""

    kty: str = "OKP"
    crv: str = "Ed25519"
    use: str = "sig"
    alg: str = "EdDSA"
    kid: str
    x: str


class SigningKey(Struct, frozen=True):
    """One key pair under its thumbprint (RFC 7638)."""

    key_id: str
    private: PrivateKey
    published: PublishedKey
    # The only headers that a receipt of this key may have, as they stand in it: nothing in them is left to the token.
    headers: tuple[bytes, ...]


class _Ring(Struct, frozen=True):
    """The keys that one list of the keyring's makes: the signing one first."""

    # The keyring's, when they were made.
    generation: int
    real: tuple[SigningKey, ...]
    test: tuple[SigningKey, ...]
    # By the header of a receipt, and whether it is a test key.
    by_header: dict[bytes, tuple[SigningKey, bool]]


class SigningKeys:
    """The keys in force. They follow the keyring by themselves."""

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring
        self._ring = _ring(keyring)

    def current(self, *, test: bool) -> SigningKey:
        """Return the key that signs now."""
        ring = self._rings()
        return (ring.test if test else ring.real)[0]

    def find(self, header: bytes) -> tuple[SigningKey, bool] | None:
        """Return the key whose receipts have this header and whether it is a test key; None when no key of ours has."""
        return self._rings().by_header.get(header)

    def published(self) -> list[PublishedKey]:
        """Return the public keys: those that sign soon, now, and until lately."""
        return [key.published for key in self._rings().real]

    def _rings(self) -> _Ring:
        if self._ring.generation != self._keyring.generation:
            self._ring = _ring(self._keyring)
        return self._ring


def _ring(keyring: Keyring) -> _Ring:
    materials = keyring.materials("receipt")
    real = tuple(_signing_key(material, b"receipt") for material in materials)
    test = tuple(_signing_key(material, b"test receipt") for material in materials)
    by_header = {header: (key, False) for key in real for header in key.headers}
    by_header |= {header: (key, True) for key in test for header in key.headers}
    return _Ring(keyring.generation, real, test, by_header)


def _signing_key(material: bytes, purpose: bytes) -> SigningKey:
    seed = hashlib.blake2b(material, digest_size=KEY_BYTES, person=purpose).digest()
    private = PrivateKey(seed)
    x = base64.urlsafe_b64encode(private.public.raw).decode().rstrip("=")
    # The members that RFC 7638 wants, in its order and without spaces.
    canonical = f'{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}'.encode()
    key_id = base64.urlsafe_b64encode(hashlib.sha256(canonical).digest()).decode().rstrip("=")
    headers = tuple(_header(algorithm, key_id) for algorithm in ALGORITHMS)
    return SigningKey(key_id, private, PublishedKey(kid=key_id, x=x), headers)


def _header(algorithm: str, key_id: str) -> bytes:
    header = f'{{"alg":"{algorithm}","kid":"{key_id}","typ":"{TYPE}"}}'.encode()
    return base64.urlsafe_b64encode(header).rstrip(b"=")
