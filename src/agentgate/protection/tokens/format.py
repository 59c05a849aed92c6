"""Claims to a compact JWS and back. The algorithm is fixed here, never read from the token.

One token has one spelling: base64url without padding, no stray bits, no other header, claims exactly as we write them.
What is spent is the `jti` all the same.
"""

import binascii
import hmac
import re

import msgspec
from msgspec import UNSET, Struct

from agentgate.lib.limits import RECEIPT_CHARACTERS
from agentgate.lib.records import json_decoder
from agentgate.protection.tokens.claims import Claims, SignedClaims
from agentgate.protection.tokens.keys import SigningKey, SigningKeys

TYPE = "agentgate-receipt+jwt"
ALGORITHM = "EdDSA"
# RFC 9864 gives EdDSA with this curve a second name; we write the first and accept both.
ALGORITHMS = frozenset((ALGORITHM, "Ed25519"))

_TO_URL, _FROM_URL = bytes.maketrans(b"+/", b"-_"), bytes.maketrans(b"-_", b"+/")
_SHAPE = re.compile(rb"[A-Za-z0-9_-]{1,400}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{86}\Z")
_claims_decoder = json_decoder(Claims)
_encode_json = msgspec.json.Encoder().encode


class _Header(Struct, frozen=True, forbid_unknown_fields=True):
    """The only header a receipt may have: nothing that could name a key or an extension."""

    alg: str
    kid: str
    typ: str


_header_decoder = json_decoder(_Header)


class NotAReceipt(Exception):  # noqa: N818 - says what it is
    """The text is no receipt that we signed. It carries why, for people."""


def write_receipt(claims: Claims, key: SigningKey) -> str:
    """Return the signed form."""
    header = _Header(ALGORITHM, key.key_id, TYPE)
    signed = _encode(_encode_json(header)) + b"." + _encode(_encode_json(claims))
    receipt = signed + b"." + _encode(key.private.sign(signed))
    if len(receipt) > RECEIPT_CHARACTERS:
        raise ValueError(f"a receipt has at most {RECEIPT_CHARACTERS} characters; this one has {len(receipt)}")
    return receipt.decode("ascii")


def read_receipt(text: str, keys: SigningKeys) -> SignedClaims:
    """Return what a receipt says if we signed it. Expiry, site and use are the caller's to judge."""
    if len(text) > RECEIPT_CHARACTERS or not text.isascii():
        raise NotAReceipt("it does not have the form of a token")
    receipt = text.encode("ascii")
    return keys.recall(receipt) or _read(receipt, keys)


def _read(receipt: bytes, keys: SigningKeys) -> SignedClaims:
    if _SHAPE.match(receipt) is None:
        raise NotAReceipt("it does not have the form of a token")
    header_text, claims_text, signature = receipt.split(b".")
    try:
        key, test = _key_of(header_text, keys)
        # The private key is ours and its signatures are deterministic (RFC 8032), so signing again tells the same as
        # verifying, in a third of the time, and allows one spelling of the signature only.
        if not hmac.compare_digest(_encode(key.private.sign(header_text + b"." + claims_text)), signature):
            raise NotAReceipt("its signature is wrong")
        claims = _read_claims(claims_text)
    except (msgspec.DecodeError, binascii.Error, ValueError):
        raise NotAReceipt("it does not have the form of a token") from None
    # The test ring signs test tokens and nothing else, and no other token says anything about that.
    if claims.test is not (True if test else UNSET):
        raise NotAReceipt("it was not signed with a key of this service")
    return SignedClaims(claims, key.key_id, test)


def _key_of(header_text: bytes, keys: SigningKeys) -> tuple[SigningKey, bool]:
    header: _Header = _header_decoder.decode(_decode(header_text))
    found = keys.find(header.kid)
    if header.alg not in ALGORITHMS or header.typ != TYPE or found is None:
        raise NotAReceipt("it was not signed with a key of this service")
    return found


def _read_claims(claims_text: bytes) -> Claims:
    data = _decode(claims_text)
    claims: Claims = _claims_decoder.decode(data)
    # Members that stand twice, and members that we do not know, are lost on the way back.
    if _encode_json(claims) != data:
        raise ValueError("not as we write it")
    return claims


def _encode(data: bytes) -> bytes:
    return binascii.b2a_base64(data, newline=False).rstrip(b"=").translate(_TO_URL)


def _decode(text: bytes) -> bytes:
    data = binascii.a2b_base64(text.translate(_FROM_URL) + b"=" * (-len(text) % 4))
    # Bits that base64 ignores would give one text many spellings.
    if _encode(data) != text:
        raise ValueError("not canonical")
    return data
