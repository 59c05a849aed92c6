"""The Ed25519 keys that sign receipts, and the key set that is published for whoever verifies them.

They are made from the keyring's `receipt` keys, so rotation, delayed activation and the grace period are the
keyring's. Test tokens are signed by keys of their own that are not published: nobody accepts one by mistake.
"""

import base64
import hashlib

from msgspec import Struct

from agentgate.lib.ed25519 import PrivateKey
from agentgate.lib.keyring import KEY_BYTES, Keyring
from agentgate.protection.tokens.claims import SignedClaims

# A receipt lives two minutes and is mostly redeemed within seconds: enough for some hundreds a second. Each takes about
# one and a half kilobytes with its text, by which it is known: a digest would be shorter, and takes longer to make than
# all the rest of looking it up.
MOST_REMEMBERED = 20_000


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


class _Ring(Struct, frozen=True):
    """The keys that one list of the keyring's makes: the signing one first."""

    # The keyring's, when they were made.
    generation: int
    real: tuple[SigningKey, ...]
    test: tuple[SigningKey, ...]
    # By ID, and whether it is a test key.
    by_id: dict[str, tuple[SigningKey, bool]]


class SigningKeys:
    """The keys in force. They follow the keyring by themselves."""

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring
        self._ring = _ring(keyring)
        # What this worker has signed of late and what that says, so that it need not sign it again to recognise it. Two
        # generations: when the younger is full, the older goes.
        self._signed: dict[bytes, SignedClaims] = {}
        self._signed_before: dict[bytes, SignedClaims] = {}

    def remember(self, receipt: bytes, signed: SignedClaims) -> None:
        """Note a receipt that was just signed."""
        if len(self._signed) >= MOST_REMEMBERED:
            self._signed, self._signed_before = {}, self._signed
        self._signed[receipt] = signed

    def recall(self, receipt: bytes) -> SignedClaims | None:
        """Return what a receipt says if this worker signed exactly this text, with a key still in force.

        None says nothing.
        """
        signed = self._signed.get(receipt) or self._signed_before.get(receipt)
        return signed if signed is not None and signed.key_id in self._rings().by_id else None

    def current(self, *, test: bool) -> SigningKey:
        """Return the key that signs now."""
        ring = self._rings()
        return (ring.test if test else ring.real)[0]

    def find(self, key_id: str) -> tuple[SigningKey, bool] | None:
        """Return the key with this ID and whether it is a test key; None when no key verifies under it."""
        return self._rings().by_id.get(key_id)

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
    by_id = {key.key_id: (key, False) for key in real} | {key.key_id: (key, True) for key in test}
    return _Ring(keyring.generation, real, test, by_id)


def _signing_key(material: bytes, purpose: bytes) -> SigningKey:
    seed = hashlib.blake2b(material, digest_size=KEY_BYTES, person=purpose).digest()
    private = PrivateKey(seed)
    x = base64.urlsafe_b64encode(private.public.raw).decode().rstrip("=")
    # The members that RFC 7638 wants, in its order and without spaces.
    canonical = f'{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}'.encode()
    key_id = base64.urlsafe_b64encode(hashlib.sha256(canonical).digest()).decode().rstrip("=")
    return SigningKey(key_id, private, PublishedKey(kid=key_id, x=x))
