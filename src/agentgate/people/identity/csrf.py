"""CSRF tokens: made from a session's stored digest, so that nothing more is kept. For operators and users alike."""

from agentgate.lib import base64url
from agentgate.lib.keyring import Keyring

PURPOSE = "csrf"
TAG_BYTES = 32


def csrf_token(keyring: Keyring, secret_digest: bytes) -> str:
    """Return the token that every changing request of this session must carry."""
    tag = keyring.mac(PURPOSE, secret_digest)
    return base64url.encode(tag)


def is_csrf_token(keyring: Keyring, secret_digest: bytes, token: str) -> bool:
    try:
        tag = base64url.decode(token)
    except ValueError:
        return False
    return len(tag) == TAG_BYTES and keyring.is_mac(tag, PURPOSE, secret_digest)
