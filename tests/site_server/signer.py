"""Signs receipts by hand, right ones and wrong ones, without the service's own code."""

import base64
import hashlib
import json
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

NOW_S = 1_800_000_000
SITE_KEY = "site_shop0001"
ORIGIN = "https://shop.example"


def encode(data: bytes) -> str:
    """Return base64url without padding."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Signer:
    """One key pair, its key set, and receipts."""

    def __init__(self, seed: bytes = b"\x01" * 32) -> None:
        self.private = Ed25519PrivateKey.from_private_bytes(seed)
        self.x = encode(self.private.public_key().public_bytes_raw())
        canonical = f'{{"crv":"Ed25519","kty":"OKP","x":"{self.x}"}}'
        self.key_id = encode(hashlib.sha256(canonical.encode()).digest())
        self._made = 0

    def key_set(self) -> dict[str, Any]:
        """Return the published form."""
        return {
            "keys": [{"kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": "EdDSA", "kid": self.key_id, "x": self.x}]
        }

    def receipt(self, **changes: Any) -> str:
        """Return a receipt that is valid now; a claim that is changed to None is omitted."""
        self._made += 1
        usual = {
            "iss": "http://gate.example",
            "aud": SITE_KEY,
            "jti": f"rcp_{self._made:026d}",
            "iat": NOW_S,
            "exp": NOW_S + 120,
            "kind": "browser",
            "action": "signup",
            "sub": "f" * 16,
            "decisionId": "dec_0000000000000",
            "origin": ORIGIN,
        }
        claims = {name: value for name, value in {**usual, **changes}.items() if value is not None}
        return self.sign(json.dumps(claims).encode())

    def sign(self, claims: bytes, **changes: Any) -> str:
        """Return these bytes signed, with a right header or a changed one."""
        fields = {"alg": "EdDSA", "kid": self.key_id, "typ": "agentgate-receipt+jwt", **changes}
        header = {name: value for name, value in fields.items() if value is not None}
        return self.sign_parts(encode(json.dumps(header).encode()), encode(claims))

    def sign_parts(self, header: str, claims: str) -> str:
        """Return two texts signed."""
        signed = f"{header}.{claims}"
        return f"{signed}.{encode(self.private.sign(signed.encode()))}"
