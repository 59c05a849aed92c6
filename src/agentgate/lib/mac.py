"""HMAC-SHA256 (RFC 2104) for keys that make many tags: the key is hashed once, and the states are copied."""

import hashlib
from contextlib import suppress
from importlib import import_module
from typing import Any

BLOCK_BYTES = 64
_INNER = bytes(byte ^ 0x36 for byte in range(256))
_OUTER = bytes(byte ^ 0x5C for byte in range(256))


def _own_sha256() -> Any:
    """Return Python's own SHA-256, from 3.12 on or before, or OpenSSL's where it has none.

    For a short message it takes less: of OpenSSL's far more code has to be in the processor's cache (decision 0023).
    """
    for module in ("_sha2", "_sha256"):
        with suppress(ImportError):
            return import_module(module).sha256
    return hashlib.sha256


_sha256 = _own_sha256()


class PreparedMac:
    """One key. A tag takes less than half of the time that `hmac.digest` needs, which hashes the key each time."""

    __slots__ = ("_inner", "_outer")

    def __init__(self, key: bytes, *, prefix: bytes = b"") -> None:
        """Prepare a key; every message is authenticated as if it began with the prefix."""
        block = (key if len(key) <= BLOCK_BYTES else hashlib.sha256(key).digest()).ljust(BLOCK_BYTES, b"\0")
        self._inner = _sha256(block.translate(_INNER) + prefix)
        self._outer = _sha256(block.translate(_OUTER))

    def tag(self, message: bytes) -> bytes:
        """Return the 32 bytes that authenticate a message. Compare them with `hmac.compare_digest`."""
        inner = self._inner.copy()
        inner.update(message)
        outer = self._outer.copy()
        outer.update(inner.digest())
        tag: bytes = outer.digest()
        return tag
