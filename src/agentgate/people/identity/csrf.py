"""CSRF tokens: made from a session's stored digest, so that nothing more is kept. For operators and users alike."""

import base64
import binascii

from agentgate.lib.keyring import Keyring

PURPOSE = "csrf"
TAG_BYTES = 32


def csrf_token(keyring: Keyring, secret_digest: bytes) -> str:
    """Return the token that every changing request of this session must carry."""
    tag = keyring.mac(PURPOSE, secret_digest)
    return base64.urlsafe_b64encode(tag).decode().rstrip("=")


def is_csrf_token(keyring: Keyring, secret_digest: bytes, token: str) -> bool:
    try:
        tag = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return False
    return len(tag) == TAG_BYTES and keyring.is_mac(tag, PURPOSE, secret_digest)
