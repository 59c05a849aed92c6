"""Keys, claims and receipts for the tests of tokens, including some that only an attacker would create."""

import base64
import json
from typing import Any

from msgspec.structs import replace

from agentgate.browser_check.tokens.receipts import TYPE, Claims, SigningKeys, write_receipt
from agentgate.lib.enums import ReceiptKind
from agentgate.lib.keyring import PURPOSES, Keyring, StoredKey

NOW_MS = 1_794_744_000_000


def key(
    material: bytes, *, purpose: str = "receipt", active_ms: int = 0, retired_ms: int | None = None
) -> tuple[StoredKey, bytes]:
    """Return a stored key and what it opens to."""
    stored = StoredKey(
        id=material.hex()[:8], purpose=purpose, sealed=b"", created_ms=0, active_ms=active_ms, retired_ms=retired_ms
    )
    return stored, material


def keyring(*letters: bytes) -> Keyring:
    """Return a keyring with one key for each purpose and letter."""
    return Keyring([key(letter * 32, purpose=purpose) for letter in letters or (b"a",) for purpose in PURPOSES], NOW_MS)


KEYS = SigningKeys(keyring())
CLAIMS = Claims(
    iss="https://gate.example",
    aud="site_abcdefgh12345678",
    jti="rcp_" + "0" * 26,
    iat=NOW_MS // 1000,
    exp=NOW_MS // 1000 + 120,
    kind=ReceiptKind.BROWSER,
    action="login",
    sub="0123456789abcdef",
    decision_id="dec_0000000000000",
    origin="https://shop.example",
)
HEADER = {"alg": "EdDSA", "kid": KEYS.current(test=False).key_id, "typ": TYPE}


def receipt(*, test: bool = False, keys: SigningKeys = KEYS, **changes: Any) -> str:
    """Return a receipt of ours with these claims."""
    claims = replace(CLAIMS, **({"test": True} if test else {}) | changes)
    return write_receipt(claims, keys.current(test=test))


def encoded(data: bytes) -> str:
    """Return base64url without padding."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def part(value: object) -> str:
    """Return a part of a token: JSON as we write it, or bytes as they are."""
    return encoded(value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode())


def resigned(header: object, claims: object = None, *, test: bool = False) -> str:
    """Return a token that our own key signed, with another header or other claims."""
    signed = f"{part(header)}.{part(claims) if claims is not None else receipt().split('.')[1]}"
    return f"{signed}.{encoded(KEYS.current(test=test).private.sign(signed.encode()))}"


def claims_json(**changes: Any) -> dict[str, Any]:
    """Return the claims as they are in the token; None removes one."""
    text = receipt().split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    return {name: value for name, value in (claims | changes).items() if value is not None}
