"""An issuer of private tokens with its key, and the tokens that it signs."""

import base64
import hashlib
import re

from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA384
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

ISSUER = "issuer.example"
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
SPKI = KEY.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
PSS = padding.PSS(mgf=padding.MGF1(SHA384()), salt_length=48)


def text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode()


TRUSTED = [{"name": ISSUER, "tokenKey": text(SPKI)}]


def read_challenge(header: str) -> bytes:
    """Return the challenge of `WWW-Authenticate`, which offers this issuer's key."""
    told = re.match(r'PrivateToken challenge="([^"]+)", token-key="([^"]+)"', header)
    assert told is not None
    assert base64.urlsafe_b64decode(told[2]) == SPKI
    return base64.urlsafe_b64decode(told[1])


def issue(header: str, *, nonce: bytes = bytes(32)) -> str:
    """Return the token that the issuer would sign for a challenge, as a browser sends it."""
    signed = b"\x00\x02" + nonce + hashlib.sha256(read_challenge(header)).digest() + hashlib.sha256(SPKI).digest()
    return f'PrivateToken token="{text(signed + KEY.sign(signed, PSS, SHA384()))}"'
