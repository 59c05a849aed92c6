"""Privacy Pass (RFC 9577, 9578): challenges for an issuer that a site trusts, and tokens of it. Type 2, blind RSA.

The issuer has looked at a device and signs without knowing what for: a token proves that some device was found good,
and leads back to none.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Sequence

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.padding import MGF1, PSS
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA384
from cryptography.hazmat.primitives.serialization import load_der_public_key
from msgspec import Struct, UnsetType

from agentgate.sites.records import SiteTokenIssuer

TOKEN_TYPE = 2
KEY_BITS = 2048
SALT_BYTES = 48
NONCE_BYTES = DIGEST_BYTES = KEY_ID_BYTES = 32
INPUT_BYTES = 2 + NONCE_BYTES + DIGEST_BYTES + KEY_ID_BYTES
TOKEN_BYTES = INPUT_BYTES + KEY_BITS // 8
KEY_CHARACTERS = 1_024
MOST_ISSUERS = 4
_NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9-]+(\.[a-z0-9-]+)+(:[0-9]{1,5})?\Z", re.ASCII)
_AUTHORIZATION = re.compile(r'privatetoken\s+token\s*=\s*"?([A-Za-z0-9_=-]{1,1024})"?\s*\Z', re.ASCII | re.IGNORECASE)
_PSS = PSS(mgf=MGF1(SHA384()), salt_length=SALT_BYTES)


class Issuer(Struct, frozen=True):
    """An issuer under one of its keys."""

    name: str
    # As the issuer publishes it: a SubjectPublicKeyInfo.
    encoded: bytes
    key: RSAPublicKey

    @property
    def key_id(self) -> bytes:
        """The ID by which tokens name the key."""
        return hashlib.sha256(self.encoded).digest()


class PrivateToken(Struct, frozen=True):
    """A token as a browser sends it."""

    challenge_digest: bytes
    key_id: bytes
    signed: bytes
    signature: bytes

    @property
    def id(self) -> str:
        """The ID that is spent: the same for every encoding of the token."""
        return f"pvt_{hashlib.sha256(self.signed).hexdigest()}"


def read_issuers(entries: Iterable[SiteTokenIssuer]) -> tuple[Issuer, ...]:
    """Return a site's issuers with a key that was entered; raise ValueError for an invalid one."""
    return tuple(
        read_issuer(entry.name, entry.token_key) for entry in entries if not isinstance(entry.token_key, UnsetType)
    )


def directories_of(entries: Iterable[SiteTokenIssuer]) -> tuple[str, ...]:
    """Return the names of a site's issuers whose keys come from their directories."""
    return tuple(dict.fromkeys(entry.name for entry in entries if isinstance(entry.token_key, UnsetType)))


def find_issuer_problem(entries: Sequence[SiteTokenIssuer]) -> str | None:
    """Return the problem with a site's issuers, or None."""
    if len(entries) > MOST_ISSUERS:
        return f"privateTokenIssuers may have at most {MOST_ISSUERS} entries."
    try:
        read_issuers(entries)
    except ValueError as problem:
        return f"privateTokenIssuers: {problem}"
    for name in directories_of(entries):
        if not _NAME.match(name) or ":" in name:
            return f"privateTokenIssuers: {name[:80]!r} needs a tokenKey, or must be a host name without a port."
    return None


def make_challenge(issuer: str, context: bytes, origin: str) -> bytes:
    """Return a TokenChallenge: for which issuer, for which redemption, at which origin."""
    name, info = issuer.encode("ascii"), origin.encode("ascii")
    return b"".join(
        (
            TOKEN_TYPE.to_bytes(2, "big"),
            len(name).to_bytes(2, "big") + name,
            len(context).to_bytes(1, "big") + context,
            len(info).to_bytes(2, "big") + info,
        )
    )


def write_challenges(issuers: Iterable[Issuer], context: bytes, origin: str) -> str:
    """Return the value of `WWW-Authenticate`, with one challenge for each issuer."""
    return ", ".join(
        f'PrivateToken challenge="{_encode(make_challenge(issuer.name, context, origin))}", '
        f'token-key="{_encode(issuer.encoded)}"'
        for issuer in issuers
    )


def read_token(authorization: str) -> PrivateToken | None:
    """Return the token of an `Authorization` header; None where there is none of this kind."""
    found = _AUTHORIZATION.match(authorization)
    try:
        data = b"" if found is None else _decode(found[1])
    except binascii.Error:
        return None
    if len(data) != TOKEN_BYTES or int.from_bytes(data[:2], "big") != TOKEN_TYPE:
        return None
    signed, start = data[:INPUT_BYTES], 2 + NONCE_BYTES
    digest, key_id = signed[start : start + DIGEST_BYTES], signed[start + DIGEST_BYTES :]
    return PrivateToken(digest, key_id, signed, data[INPUT_BYTES:])


def is_genuine(token: PrivateToken, issuers: Iterable[Issuer], context: bytes, origin: str) -> bool:
    """Return whether one of the issuers signed the token, for this redemption at this origin."""
    for issuer in issuers:
        challenge = make_challenge(issuer.name, context, origin)
        if token.key_id != issuer.key_id or token.challenge_digest != hashlib.sha256(challenge).digest():
            continue
        try:
            issuer.key.verify(token.signature, token.signed, _PSS, SHA384())
        except InvalidSignature:
            return False
        return True
    return False


def read_issuer(name: str, token_key: str) -> Issuer:
    """Return an issuer under a key; raise ValueError for an invalid one."""
    if not _NAME.match(name):
        raise ValueError(f"{name[:80]!r} is not a host name such as issuer.example.")
    wrong = f"tokenKey of {name} must be the issuer's token-key: base64url of an RSA key of {KEY_BITS} bits."
    try:
        encoded = _decode(token_key) if len(token_key) <= KEY_CHARACTERS else b""
        key = load_der_public_key(encoded)
    except (ValueError, UnsupportedAlgorithm) as problem:
        raise ValueError(wrong) from problem
    if not isinstance(key, RSAPublicKey) or key.key_size != KEY_BITS:
        raise ValueError(wrong)
    return Issuer(name, encoded, key)


def _encode(data: bytes) -> str:
    # With its padding, as RFC 9577 wants it.
    return base64.urlsafe_b64encode(data).decode("ascii")


def _decode(text: str) -> bytes:
    bare = text.rstrip("=")
    return base64.b64decode(bare + "=" * (-len(bare) % 4), altchars=b"-_", validate=True)
