"""Claims to a compact JWS and back. The algorithm is fixed here, never read from the token.

One token has one spelling: base64url without padding, no stray bits, no other header, claims exactly as we write them.
What is spent is the `jti` all the same.
"""

import binascii
import re

import msgspec
from msgspec import UNSET

from agentgate.lib.limits import RECEIPT_CHARACTERS
from agentgate.lib.records import json_decoder
from agentgate.protection.tokens.claims import Claims, SignedClaims
from agentgate.protection.tokens.keys import SigningKey, SigningKeys

_TO_URL, _FROM_URL = bytes.maketrans(b"+/", b"-_"), bytes.maketrans(b"-_", b"+/")
# Of the last character two bits count. The others would give a signature sixteen spellings, so they must be 0.
_is_signature = re.compile(rb"[A-Za-z0-9_-]{85}[AQgw]\Z").match
_claims_decoder = json_decoder(Claims)
_encode_json = msgspec.json.Encoder().encode


class NotAReceipt(Exception):  # noqa: N818 - says what it is
    """The text is no receipt that we signed. It carries why, for people."""


def write_receipt(claims: Claims, key: SigningKey) -> str:
    """Return the signed form."""
    signed = key.headers[0] + b"." + _encode(_encode_json(claims))
    receipt = signed + b"." + _encode(key.private.sign(signed))
    if len(receipt) > RECEIPT_CHARACTERS:
        raise ValueError(f"a receipt has at most {RECEIPT_CHARACTERS} characters; this one has {len(receipt)}")
    return receipt.decode("ascii")


def read_receipt(text: str, keys: SigningKeys) -> SignedClaims:
    """Return what a receipt says if any worker signed it. Expiry, site and use are the caller's to judge."""
    receipt = text.encode("ascii") if text.isascii() and len(text) <= RECEIPT_CHARACTERS else b""
    signed, _, signature = receipt.rpartition(b".")
    header, _, encoded_claims = signed.partition(b".")
    if _is_signature(signature) is None:
        raise NotAReceipt("it does not have the form of a token")
    found = keys.find(header)
    if found is None:
        raise NotAReceipt("it was not signed with a key of this service")
    key, test = found
    # Header and claims as they stand here: another spelling of either is another text.
    if not key.private.has_signed(signed, _decode(signature)):
        raise NotAReceipt("its signature is wrong")
    claims = _read_claims(encoded_claims)
    # The test ring signs test tokens and nothing else, and no other token says anything about that.
    if claims.test is not (True if test else UNSET):
        raise NotAReceipt("it was not signed with a key of this service")
    return SignedClaims(claims, key.key_id, test)


def _read_claims(text: bytes) -> Claims:
    try:
        data = _decode(text)
        claims: Claims = _claims_decoder.decode(data)
    except (msgspec.DecodeError, ValueError):
        raise NotAReceipt("it does not have the form of a token") from None
    # Members that stand twice, and members that we do not know, are lost on the way back.
    if _encode_json(claims) != data:
        raise NotAReceipt("it does not have the form of a token")
    return claims


def _encode(data: bytes) -> bytes:
    return binascii.b2a_base64(data, newline=False).rstrip(b"=").translate(_TO_URL)


def _decode(text: bytes) -> bytes:
    return binascii.a2b_base64(text.translate(_FROM_URL) + b"=" * (-len(text) % 4))
