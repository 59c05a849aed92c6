"""Passkeys (WebAuthn Level 3) as second factor, pure: what a browser sends is read and verified here.

No CBOR is parsed. Attestation is not used, so the key in the attestation proves no more than the same key in DER, which
browsers send as well. The rest of the authenticator's data has fixed places.
"""

import hashlib
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

import msgspec
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_der_public_key
from msgspec import Struct

from agentgate.lib import base64url
from agentgate.lib.clock import MINUTE_MS
from agentgate.lib.errors import Refused
from agentgate.lib.records import UNREADABLE
from agentgate.people.identity.records import PasskeyAssertion, PasskeyInput, StoredPasskey

CHALLENGE_BYTES = 32
CHALLENGE_MS = 5 * MINUTE_MS

CREATE, GET = "webauthn.create", "webauthn.get"
# The authenticator's data: a digest of the host, flags, a counter; at registration, the credential's ID too.
_HASH_BYTES = 32
_HEAD_BYTES = 37
_ID_AT = 55
_CREDENTIAL_BYTES = range(1, 1024)
_PRESENT, _VERIFIED, _HAS_CREDENTIAL = 0x01, 0x04, 0x40
_RSA_BITS = range(2048, 4097)
# Another exponent makes each verification as slow as its sender likes.
_RSA_EXPONENT = 65537

PasskeyKey = EllipticCurvePublicKey | Ed25519PublicKey | RSAPublicKey


class ClientData(Struct, frozen=True, kw_only=True, rename="camel"):
    """The statement of the browser about the page that asked."""

    type: str
    challenge: str
    origin: str
    cross_origin: bool = False


class PasskeyCredential(NamedTuple):
    """A credential as a registration adds it."""

    credential_id: bytes
    public_key: bytes
    origin: str
    sign_count: int


def refused() -> Refused:
    """Return the one error for every passkey that is not accepted: it does not reveal the reason."""
    return Refused("invalid_code", "The passkey was not accepted. Try again, or send a code or recovery code.")


def decode(text: str) -> bytes:
    try:
        return base64url.decode(text)
    except ValueError:
        raise refused() from None


def challenge_in(client_data: str, kind: str) -> bytes:
    """Return the challenge that a browser signed. The caller uses it up, before anything else is verified."""
    return decode(_read_client_data(client_data, kind).challenge)


def read_registration(body: PasskeyInput, host: str) -> PasskeyCredential:
    """Return the credential of a new passkey, of a page at `host`. The caller has used its challenge up."""
    origin = _read_client_data(body.client_data, CREATE).origin
    if _split(origin).netloc != host.lower():
        raise refused()
    data = decode(body.authenticator_data)
    sign_count = _check_authenticator(data, origin)
    length = int.from_bytes(data[_ID_AT - 2 : _ID_AT], "big")
    credential_id = data[_ID_AT : _ID_AT + length]
    if not data[_HASH_BYTES] & _HAS_CREDENTIAL or length not in _CREDENTIAL_BYTES or len(credential_id) != length:
        raise refused()
    public_key = decode(body.public_key)
    _load_key(public_key)
    return PasskeyCredential(credential_id, public_key, origin, sign_count)


def verify(assertion: PasskeyAssertion, passkey: StoredPasskey) -> int:
    """Return the counter of a right assertion by this passkey. The caller has used its challenge up."""
    # The origin is compared with the one of the registration, never with a header: a page on a sibling host may name
    # the same relying party, and its server may send any Host.
    if _read_client_data(assertion.client_data, GET).origin != passkey.origin:
        raise refused()
    data = decode(assertion.authenticator_data)
    sign_count = _check_authenticator(data, passkey.origin)
    signed = data + hashlib.sha256(decode(assertion.client_data)).digest()
    _check_signature(_load_key(passkey.public_key), decode(assertion.signature), signed)
    # Authenticators without a counter send 0 always. A copied authenticator has a counter that does not grow.
    if (sign_count or passkey.sign_count) and sign_count <= passkey.sign_count:
        raise refused()
    return sign_count


def _read_client_data(text: str, kind: str) -> ClientData:
    try:
        found = msgspec.json.decode(decode(text), type=ClientData)
    except UNREADABLE:
        raise refused() from None
    if found.type != kind or found.cross_origin:
        raise refused()
    return found


def _check_authenticator(data: bytes, origin: str) -> int:
    """Return the counter, if the data is for this origin's host and the authenticator verified its user."""
    host = _split(origin).hostname or ""
    for_host = data[:_HASH_BYTES] == hashlib.sha256(host.encode("utf-8", "surrogatepass")).digest()
    wanted = _PRESENT | _VERIFIED
    if len(data) < _HEAD_BYTES or not for_host or data[_HASH_BYTES] & wanted != wanted:
        raise refused()
    return int.from_bytes(data[_HASH_BYTES + 1 : _HEAD_BYTES], "big")


def _split(origin: str) -> SplitResult:
    try:
        return urlsplit(origin)
    except ValueError:
        raise refused() from None


def _load_key(der: bytes) -> PasskeyKey:
    try:
        key = load_der_public_key(der)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise refused() from None
    if isinstance(key, EllipticCurvePublicKey) and isinstance(key.curve, SECP256R1):
        return key
    if isinstance(key, Ed25519PublicKey):
        return key
    if isinstance(key, RSAPublicKey) and key.key_size in _RSA_BITS and key.public_numbers().e == _RSA_EXPONENT:
        return key
    raise refused()


def _check_signature(key: PasskeyKey, signature: bytes, signed: bytes) -> None:
    try:
        if isinstance(key, EllipticCurvePublicKey):
            key.verify(signature, signed, ECDSA(SHA256()))
        elif isinstance(key, Ed25519PublicKey):
            key.verify(signature, signed)
        else:
            key.verify(signature, signed, PKCS1v15(), SHA256())
    except InvalidSignature:
        raise refused() from None
