"""Receipts: signed claims, as a compact JWS. Browser tokens, agent and handoff receipts have the same claims.

The Ed25519 keys come from the keyring's `receipt` keys, and so do rotation, delayed activation and the grace period.
Test tokens are signed by separate keys that are not published, so no server accepts one by mistake. A token has one
spelling: base64url without padding, no stray bits, no other header, claims as written here.
"""

import hashlib
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from agentgate.lib import base64url
from agentgate.lib.clock import SECOND_MS
from agentgate.lib.ed25519 import SIGNATURE_BYTES, PrivateKey
from agentgate.lib.enums import ReceiptKind
from agentgate.lib.ids import new_receipt_id
from agentgate.lib.keyring import KEY_BYTES, Keyring
from agentgate.lib.limits import RECEIPT_CHARACTERS
from agentgate.lib.moment import Moment
from agentgate.lib.records import json_decoder

# Every number up to here is exact in every language.
LARGEST_INTEGER = 2**53 - 1
# How far another worker's clock may be ahead of ours.
SKEW_S = 5

Seconds = Annotated[int, Meta(ge=0, le=LARGEST_INTEGER)]


class Claims(Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """The claims, with the names that go over the wire. Times are whole seconds, as JSON Web Tokens have them."""

    iss: str
    # The site key.
    aud: str
    # The ID under which the token is redeemed.
    jti: str
    iat: Seconds
    exp: Seconds
    kind: ReceiptKind
    action: str
    # The visitor's ID of a browser token, the agent of the others.
    sub: str
    decision_id: str
    origin: str | UnsetType = UNSET
    c_data: str | UnsetType = UNSET
    keyid: str | UnsetType = UNSET
    submission_id: str | UnsetType = UNSET
    content_digest: str | UnsetType = UNSET
    price: str | UnsetType = UNSET
    test: bool | UnsetType = UNSET
    # The client that may redeem it (`binding.py`); absent if any client may.
    binding: str | UnsetType = UNSET


def is_of_the_future(claims: Claims, *, now_ms: int) -> bool:
    """Say whether a receipt was issued later than any worker's clock may show: a clock is wrong."""
    return claims.iat > now_ms // 1000 + SKEW_S


class SignedClaims(Struct, frozen=True, gc=False):
    """Claims whose signature is right, and the key that made it."""

    claims: Claims
    key_id: str
    test: bool


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
    # The only headers that a receipt of this key may have, byte for byte: a token cannot choose anything in them.
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
    """The active keys. They follow the keyring automatically."""

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring
        self._ring = _ring(keyring)

    def current(self, *, test: bool) -> SigningKey:
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
    x = base64url.encode(private.public.raw)
    # The members that RFC 7638 wants, in its order and without spaces.
    canonical = f'{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}'.encode()
    key_id = base64url.encode(hashlib.sha256(canonical).digest())
    headers = tuple(_header(algorithm, key_id) for algorithm in ALGORITHMS)
    return SigningKey(key_id, private, PublishedKey(kid=key_id, x=x), headers)


def _header(algorithm: str, key_id: str) -> bytes:
    header = f'{{"alg":"{algorithm}","kid":"{key_id}","typ":"{TYPE}"}}'.encode()
    return base64url.encode_bytes(header)


_claims_decoder = json_decoder(Claims)
_encode_json = msgspec.json.Encoder().encode


class NotAReceipt(Exception):  # noqa: N818 - says what it is
    """The text is not a receipt that we signed. The message explains why, for people."""


def write_receipt(claims: Claims, key: SigningKey) -> str:
    signed = key.headers[0] + b"." + base64url.encode_bytes(_encode_json(claims))
    receipt = signed + b"." + base64url.encode_bytes(key.private.sign(signed))
    if len(receipt) > RECEIPT_CHARACTERS:
        raise ValueError(f"a receipt has at most {RECEIPT_CHARACTERS} characters; this one has {len(receipt)}")
    return receipt.decode("ascii")


def read_receipt(text: str, keys: SigningKeys) -> SignedClaims:
    """Return a receipt's claims if any worker signed it. The caller must check expiry, site and use."""
    receipt = text.encode("ascii") if text.isascii() and len(text) <= RECEIPT_CHARACTERS else b""
    signed, _, encoded_signature = receipt.rpartition(b".")
    header, _, encoded_claims = signed.partition(b".")
    signature = _decode(encoded_signature)
    if len(signature) != SIGNATURE_BYTES:
        raise NotAReceipt("it is not in token format")
    found = keys.find(header)
    if found is None:
        raise NotAReceipt("it was not signed with a key of this service")
    key, test = found
    # The signature covers header and claims as received: another spelling of either is another text.
    if not key.private.public.has_signed(signed, signature):
        raise NotAReceipt("its signature is wrong")
    claims = _read_claims(encoded_claims)
    # The test ring signs only test tokens, and only test tokens have the claim `test`.
    if claims.test is not (True if test else UNSET):
        raise NotAReceipt("it was not signed with a key of this service")
    return SignedClaims(claims, key.key_id, test)


def _read_claims(text: bytes) -> Claims:
    data = _decode(text)
    try:
        claims: Claims = _claims_decoder.decode(data)
    except (msgspec.DecodeError, ValueError):
        raise NotAReceipt("it is not in token format") from None
    # Repeated members and unknown members are lost when the claims are encoded again.
    if _encode_json(claims) != data:
        raise NotAReceipt("it is not in token format")
    return claims


def _decode(text: bytes) -> bytes:
    try:
        return base64url.decode_bytes(text)
    except ValueError:
        raise NotAReceipt("it is not in token format") from None


class Grant(Struct, frozen=True, kw_only=True):
    """The content of a receipt, before it has an ID, a time and a signature."""

    site_key: str
    kind: ReceiptKind
    action: str
    # The visitor's ID for a browser token, the agent for the others.
    subject: str
    decision_id: str
    origin: str | UnsetType = UNSET
    c_data: str | UnsetType = UNSET
    keyid: str | UnsetType = UNSET
    submission_id: str | UnsetType = UNSET
    content_digest: str | UnsetType = UNSET
    price: str | UnsetType = UNSET
    test: bool = False
    binding: str | UnsetType = UNSET


# Fields of a grant with the same names as the claims.
_SAME_CLAIMS = tuple(name for name in Grant.__struct_fields__ if name in Claims.__struct_fields__ and name != "test")


class IssuedReceipt(Struct, frozen=True):
    """A signed receipt and when it ends."""

    receipt: str
    expires_at: Moment
    id: str


class ReceiptIssuer:
    """Signs receipts in the service's name."""

    def __init__(self, keys: SigningKeys, *, issuer: str, lifetime_s: int) -> None:
        self._keys = keys
        self.issuer = issuer
        self._lifetime_s = lifetime_s

    @property
    def lifetime_ms(self) -> int:
        """How long a receipt is good for."""
        return self._lifetime_s * SECOND_MS

    def issue(self, grant: Grant, *, now_ms: int, receipt_id: str | None = None) -> IssuedReceipt:
        """Return a receipt that is valid from now on. With a given `receipt_id`, it is the same receipt each time."""
        issued_s = now_ms // 1000
        claims = Claims(
            iss=self.issuer,
            aud=grant.site_key,
            jti=receipt_id or new_receipt_id(),
            iat=issued_s,
            exp=issued_s + self._lifetime_s,
            sub=grant.subject,
            test=True if grant.test else UNSET,
            **{name: getattr(grant, name) for name in _SAME_CLAIMS},
        )
        receipt = write_receipt(claims, self._keys.current(test=grant.test))
        return IssuedReceipt(receipt, Moment(claims.exp * 1000), claims.jti)
