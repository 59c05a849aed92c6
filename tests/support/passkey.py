"""An authenticator in software: it registers and signs as a browser sends it, and every field can be forged."""

import hashlib
import json
import secrets
from typing import Any
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from agentgate.lib import base64url
from tests.support.api_client import ApiClient

PRESENT, VERIFIED, HAS_CREDENTIAL = 0x01, 0x04, 0x40
PASSKEYS = "/v1/account/mfa/passkeys"

PrivateKey = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey


class Authenticator:
    """One passkey of one origin."""

    def __init__(self, origin: str, key: PrivateKey | None = None) -> None:
        self.origin = origin
        self.key = key or ec.generate_private_key(ec.SECP256R1())
        self.credential_id = secrets.token_bytes(16)
        self.count = 0

    @property
    def public_key(self) -> bytes:
        return self.key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)

    def client_data(self, kind: str, challenge: str, **forged: Any) -> bytes:
        content = {"type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": False, **forged}
        return json.dumps(content).encode()

    def data(self, *, host: str | None = None, flags: int = PRESENT | VERIFIED, count: int | None = None) -> bytes:
        self.count += 1
        place = urlsplit(self.origin).hostname or "" if host is None else host
        number = self.count if count is None else count
        return hashlib.sha256(place.encode()).digest() + bytes([flags]) + number.to_bytes(4, "big")

    def registration(self, challenge: str, *, client: dict[str, Any] | None = None, **data: Any) -> dict[str, str]:
        """Return what `navigator.credentials.create` gives."""
        data = {"flags": PRESENT | VERIFIED | HAS_CREDENTIAL, **data}
        attested = bytes(16) + len(self.credential_id).to_bytes(2, "big") + self.credential_id
        return {
            "clientData": base64url.encode(self.client_data("webauthn.create", challenge, **(client or {}))),
            "authenticatorData": base64url.encode(self.data(**data) + attested),
            "publicKey": base64url.encode(self.public_key),
        }

    def assertion(self, challenge: str, *, client: dict[str, Any] | None = None, **data: Any) -> dict[str, str]:
        """Return what `navigator.credentials.get` gives."""
        stated, authenticator = self.client_data("webauthn.get", challenge, **(client or {})), self.data(**data)
        return {
            "credentialId": base64url.encode(self.credential_id),
            "clientData": base64url.encode(stated),
            "authenticatorData": base64url.encode(authenticator),
            "signature": base64url.encode(self.sign(authenticator + hashlib.sha256(stated).digest())),
        }

    def sign(self, content: bytes) -> bytes:
        if isinstance(self.key, ec.EllipticCurvePrivateKey):
            return self.key.sign(content, ec.ECDSA(SHA256()))
        if isinstance(self.key, rsa.RSAPrivateKey):
            return self.key.sign(content, PKCS1v15(), SHA256())
        return self.key.sign(content)


def origin_of(client: ApiClient) -> str:
    """Return the origin of the pages that a client would see."""
    return str(client.base_url).rstrip("/")


def challenge_of(client: ApiClient) -> str:
    """Ask for a challenge."""
    reply = client.post(f"{PASSKEYS}/challenge")
    assert reply.status_code == 200, reply.text
    challenge: str = reply.json()["challenge"]
    return challenge
