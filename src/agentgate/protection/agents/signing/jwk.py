"""JSON Web Keys of agents: reading an Ed25519 key, its thumbprint (RFC 7638), its time, and the keys everybody has."""

import base64
import hashlib
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from agentgate.lib.ed25519 import PublicKey

# Keys whose private half is printed in a standard, by thumbprint: whoever signs with one of them proves nothing.
TEST_KEYS = frozenset(
    (
        "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U",  # RFC 9421 B.1.4, Ed25519
        "oD0HwocPBSfpNy5W3bpJeyFGY_IQ_YpqxSjQ3Yd-CLA",  # RFC 9421 B.1.2, RSA
        "BHj8s0GPnMEQtkaULIM-PLgEhLBbuGUQ1vMxmBWZzEo",  # RFC 9421 B.1.1, RSA
        "ydQXMtvbsOsZyFir-Y7A8t7fKEM1gbKPvyFkdpu4fvI",  # RFC 9421 B.1.3, P-256
        "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",  # RFC 8037 A.1 and RFC 8032 7.1, test 1
        "FtIu-VbGrfe_KB6CH7GNwODB72MNxj_ml11dEvO-7kk",  # RFC 8032 7.1, test 2
        "FVV5umTuau890q59V-4Ga_R6qWb7ON_ivJc4EjvCwTM",  # RFC 8032 7.1, test 3
    )
)

_REQUIRED = {"OKP": ("crv", "kty", "x"), "RSA": ("e", "kty", "n"), "EC": ("crv", "kty", "x", "y")}
_THUMBPRINT = re.compile(r"[A-Za-z0-9_-]{43}\Z", re.ASCII)
_ALGORITHMS = frozenset(("EdDSA", "Ed25519"))
# Some key sets give times in milliseconds. As seconds, such a number would be a time after the year 5000.
_LEAST_MILLISECONDS = 100_000_000_000
_MOST_MILLISECONDS = 2**53


def thumbprint(jwk: Mapping[str, Any]) -> str:
    """Return the thumbprint of a key. ValueError when members that every key of its type has are absent."""
    names = _REQUIRED.get(str(jwk.get("kty")), ())
    if not names or not all(isinstance(jwk.get(name), str) for name in names):
        raise ValueError(f"a JSON Web Key is of type {', '.join(_REQUIRED)} and has that type's members")
    return _base64url(hashlib.sha256(msgspec.json.encode({name: jwk[name] for name in names})).digest())


def is_thumbprint(text: str) -> bool:
    """Say whether a text has the form of a SHA-256 thumbprint."""
    return _THUMBPRINT.match(text) is not None


def read_key(jwk: Mapping[str, Any]) -> PublicKey | None:
    """Return the key for checking signatures; None when it is no Ed25519 key, is meant for something else or is public
    knowledge with its private half."""
    x = jwk.get("x")
    if jwk.get("kty") != "OKP" or jwk.get("crv") != "Ed25519" or not isinstance(x, str) or "d" in jwk:
        return None
    if jwk.get("use", "sig") != "sig" or jwk.get("alg", "EdDSA") not in _ALGORITHMS or not is_thumbprint(x):
        return None
    raw = base64.urlsafe_b64decode(f"{x}=")
    # One key has one spelling, or it would have several thumbprints.
    return PublicKey(raw) if _base64url(raw) == x else None


def is_current(jwk: Mapping[str, Any], *, now_ms: int) -> bool:
    """Say whether a key may be used now, by its `nbf` and `exp`. A time that is no number does not pass."""
    if jwk.get("nbf") is None and jwk.get("exp") is None:
        return True
    begins, ends = (_milliseconds(jwk.get(name)) for name in ("nbf", "exp"))
    return (begins is None or begins <= now_ms) and (ends is None or now_ms < ends)


def _milliseconds(time: object) -> float | None:
    if time is None:
        return None
    if isinstance(time, bool) or not isinstance(time, int | float):
        return float("nan")
    if time > _MOST_MILLISECONDS:
        # It may be a number with more digits than a float has room for.
        return float("inf")
    return float(time) if time >= _LEAST_MILLISECONDS else time * 1000.0


def _base64url(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()
