"""Secrets: made, kept as digests, compared in constant time.

All of our secrets carry 256 random bits, so a plain SHA-256 digest is enough at rest. Passwords are another matter.
"""

import hashlib
import hmac
import secrets

CREDENTIAL_SECRET_PREFIX = "ags_"  # noqa: S105 - a prefix, not a secret
API_TOKEN_PREFIX = "agt_"  # noqa: S105 - likewise


def new_secret(prefix: str = "") -> str:
    """Return a new secret: the prefix and 43 base64url characters."""
    return prefix + secrets.token_urlsafe(32)


def digest(secret: str) -> bytes:
    """Return the stored form of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def same(left: bytes, right: bytes) -> bool:
    """Compare without telling by time where the two differ."""
    return hmac.compare_digest(left, right)
