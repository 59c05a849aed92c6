"""Content-Digest (RFC 9530): what a body hashes to, and whether a header says the same."""

import base64
import hashlib
import hmac

from agentgate.protection.agents.signing.fields import Unreadable, read_dictionary

# The others of the registry are too weak to bind a body to a signature.
_ALGORITHMS = {"sha-256": hashlib.sha256, "sha-512": hashlib.sha512}


def digest_of(body: bytes) -> str:
    """Return the value of Content-Digest for a body."""
    return f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"


def matches(content_digest: bytes, body: bytes) -> bool:
    """Say whether a header names this body: every digest of a kind that we know is right, and there is one."""
    try:
        named = read_dictionary(content_digest)
    except Unreadable:
        return False
    known = {name: member for name, member in named.items() if name in _ALGORITHMS}
    return bool(known) and all(_is_digest(name, member, body) for name, member in known.items())


def _is_digest(algorithm: str, member: object, body: bytes) -> bool:
    value = member[0] if isinstance(member, tuple) else member
    return isinstance(value, bytes) and hmac.compare_digest(value, _ALGORITHMS[algorithm](body).digest())
