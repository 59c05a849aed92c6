"""Reading a receipt without the service: a compact JWS with one algorithm, one header and one spelling."""

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

TYPE = "agentgate-receipt+jwt"
# RFC 9864 gives EdDSA with this curve a second name.
ALGORITHMS = ("EdDSA", "Ed25519")
KINDS = ("browser", "agent", "handoff")
RECEIPT_CHARACTERS = 2048

_SHAPE = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{86}\Z", re.ASCII)
_TEXTS = ("iss", "aud", "jti", "kind", "action", "sub", "decisionId")
_OPTIONAL_TEXTS = ("origin", "cData", "keyid", "submissionId", "contentDigest", "price")

FindKey = Callable[[str], Ed25519PublicKey | None]


class NotAReceipt(Exception):  # noqa: N818 - says what it is
    """The text is not a receipt that the service signed. The message gives the reason, for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """The claims of a receipt with a valid signature. Times are whole seconds."""

    site_key: str
    receipt_id: str
    issued_s: int
    expires_s: int
    kind: str
    action: str
    subject: str
    decision_id: str
    origin: str | None
    c_data: str | None
    content_digest: str | None


def read_receipt(text: str, find_key: FindKey) -> Claims:
    """Return the claims of a receipt that one of the keys signed. Time, site and use are the caller's to judge."""
    if len(text) > RECEIPT_CHARACTERS or not _SHAPE.match(text):
        raise NotAReceipt("It is not in token format.")
    signed, _, signature = text.rpartition(".")
    header_text, _, claims_text = signed.partition(".")
    header = _read_json(header_text)
    # The algorithm is fixed here and never chosen by the token; a header with any other field is rejected.
    if set(header) != {"alg", "kid", "typ"} or header["alg"] not in ALGORITHMS or header["typ"] != TYPE:
        raise NotAReceipt("It does not have a token's header.")
    key = find_key(header["kid"]) if isinstance(header["kid"], str) else None
    if key is None:
        raise NotAReceipt("It was not signed with a published key of AgentGate.")
    try:
        key.verify(decode(signature), signed.encode())
    except InvalidSignature:
        raise NotAReceipt("Its signature is wrong.") from None
    return _claims(_read_json(claims_text))


def read_receipt_id(text: str) -> str | None:
    """Return what a text gives as its receipt ID, signed or not; only good for looking something up."""
    try:
        found = _read_json(text.split(".")[1]).get("jti")
    except (NotAReceipt, IndexError):
        return None
    return found if isinstance(found, str) else None


def read_key(key: Any) -> tuple[str, Ed25519PublicKey] | None:
    """Return ID and key of a member of a key set; None for one that is not ours to use."""
    if not isinstance(key, dict) or key.get("kty") != "OKP" or key.get("crv") != "Ed25519":
        return None
    try:
        raw = decode(key["x"])
        public = Ed25519PublicKey.from_public_bytes(raw)
    except (KeyError, TypeError, ValueError, NotAReceipt):
        return None
    # RFC 7638: the ID is the key's own thumbprint, so that no ID can be given to another key.
    canonical = f'{{"crv":"Ed25519","kty":"OKP","x":"{key["x"]}"}}'.encode()
    thumbprint = base64.urlsafe_b64encode(hashlib.sha256(canonical).digest()).decode().rstrip("=")
    return (thumbprint, public) if key.get("kid") == thumbprint else None


def decode(text: str) -> bytes:
    """Return the bytes of canonical base64url without padding."""
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise NotAReceipt("It is not in token format.") from None
    # Bits that base64 ignores would give one signature many spellings.
    if base64.urlsafe_b64encode(data).decode().rstrip("=") != text:
        raise NotAReceipt("It is not in token format.")
    return data


def _read_json(text: str) -> dict[str, Any]:
    try:
        value = json.loads(decode(text).decode("utf-8"), object_pairs_hook=_once)
    except (ValueError, RecursionError):
        raise NotAReceipt("It is not in token format.") from None
    if not isinstance(value, dict):
        raise NotAReceipt("It is not in token format.")
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Two readers would disagree on which of two members counts.
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a member occurs twice")
    return found


def _claims(found: Mapping[str, Any]) -> Claims:
    texts = [found.get(name) for name in _TEXTS] + [found[name] for name in _OPTIONAL_TEXTS if name in found]
    times = [found.get("iat"), found.get("exp")]
    if not all(isinstance(text, str) for text in texts) or not all(type(time) is int for time in times):
        raise NotAReceipt("It does not have a token's claims.")
    # Test tokens are signed by keys that are not published; a token that claims to be a test token is still rejected.
    if found["kind"] not in KINDS or "test" in found:
        raise NotAReceipt("It does not have a token's claims.")
    return Claims(
        site_key=found["aud"],
        receipt_id=found["jti"],
        issued_s=found["iat"],
        expires_s=found["exp"],
        kind=found["kind"],
        action=found["action"],
        subject=found["sub"],
        decision_id=found["decisionId"],
        origin=found.get("origin"),
        c_data=found.get("cData"),
        content_digest=found.get("contentDigest"),
    )
