"""Key sets of agents in all forms in use: their keys, purposes and lifetimes."""

import hashlib
import re
from collections.abc import Awaitable, Collection, Iterator, Mapping
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from agentgate.decision.signals.detectors.known import PURPOSES
from agentgate.lib import base64url
from agentgate.lib.ed25519 import PublicKey
from agentgate.lib.records import UNREADABLE


class KeyFound(Struct, frozen=True, gc=False):
    """A key of a key set, or one sentence why there is none."""

    key: PublicKey | None
    why: str | None = None
    # The purposes for which the agent fetches pages, from the key set, in the words of the label catalog.
    purposes: tuple[str, ...] = ()


class KeySource(Protocol):
    """Keys of agents, by the URL of their key set and the key's thumbprint. Never by the thumbprint alone."""

    def find(self, url: str, keyid: str, *, now_ms: int, hosts: Collection[str] = ()) -> KeyFound | Awaitable[KeyFound]:
        """Return a cached key, or an awaitable. `hosts` are those that the site adds to the service's."""


# Keys whose private half is printed in a standard, by thumbprint: a signature by one proves nothing.
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
# In any case of letters.
_ALGORITHMS = frozenset(("eddsa", "ed25519"))
# Some key sets give times in milliseconds. As seconds, such a number would be a time after the year 5000.
_LEAST_MILLISECONDS = 100_000_000_000
_MOST_MILLISECONDS = 2**53


def thumbprint(jwk: Mapping[str, Any]) -> str:
    """Return the thumbprint of a key. ValueError when members that every key of its type has are absent."""
    names = _REQUIRED.get(str(jwk.get("kty")), ())
    if not names or not all(isinstance(jwk.get(name), str) for name in names):
        raise ValueError(f"a JSON Web Key is of type {', '.join(_REQUIRED)} and has that type's members")
    return base64url.encode(hashlib.sha256(msgspec.json.encode({name: jwk[name] for name in names})).digest())


def is_thumbprint(text: str) -> bool:
    """Return whether a text has the form of a SHA-256 thumbprint."""
    return _THUMBPRINT.match(text) is not None


def read_key(jwk: Mapping[str, Any]) -> PublicKey | None:
    """Return the key for checking signatures; None when it is no Ed25519 key, is meant for something else or is public
    knowledge with its private half."""
    x = jwk.get("x")
    if jwk.get("kty") != "OKP" or jwk.get("crv") != "Ed25519" or not isinstance(x, str) or "d" in jwk:
        return None
    if (
        jwk.get("use", "sig") != "sig"
        or str(jwk.get("alg", "EdDSA")).lower() not in _ALGORITHMS
        or not is_thumbprint(x)
    ):
        return None
    try:
        return PublicKey(base64url.decode(x))
    except ValueError:
        # Only the canonical encoding is accepted, or one key would have several thumbprints.
        return None


def is_current(jwk: Mapping[str, Any], *, now_ms: int) -> bool:
    """Return whether a key may be used now, by its `nbf` and `exp`. A time that is no number does not pass."""
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
        # The number may be too large for a float.
        return float("inf")
    return float(time) if time >= _LEAST_MILLISECONDS else time * 1000.0


MOST_KEYS = 20
MOST_WORDS = 20

# Purposes in use, with our words for them. Others are omitted: an agent must not choose its own labels.
_SAME_PURPOSE = {
    "ads": "advertising",
    "ai-input": "fetch",
    "ai-search": "search",
    "ai-train": "training",
    "ai-training": "training",
    "archiver": "archive",
    "archiving": "archive",
    "crawl": "index",
    "fetcher": "fetch",
    "indexing": "index",
    "rag": "fetch",
    "search-engine": "search",
    "tdm": "training",
    "train": "training",
    "train-ai": "training",
    "train-genai": "training",
    "user": "fetch",
    "user-fetch": "fetch",
}
_WORD_ENDS = re.compile(r"[\s,;]+")
# Later than every real time, and safe to calculate with.
_LATEST = 2**53


class NotAKeySet(Exception):  # noqa: N818 - says what happened
    """The response lists no usable key. The message is for the operator of the key set."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ListedKey(Struct, frozen=True):
    """A key, its validity period, and its agent's purposes."""

    key: PublicKey
    times: Mapping[str, Any]
    purposes: tuple[str, ...] = ()

    def found(self, *, now_ms: int) -> KeyFound:
        """Return the key, if it is valid now."""
        if not is_current(self.times, now_ms=now_ms):
            return KeyFound(None, "the key set lists this key for another time (`nbf`, `exp`); sign with a current key")
        return KeyFound(self.key, None, self.purposes)


def read_key_set(body: bytes) -> dict[str, ListedKey]:
    """Return the keys of a set by thumbprint: `{"keys": [...]}` with whatever other members, or one key alone."""
    try:
        document = msgspec.json.decode(body)
    except UNREADABLE:
        raise NotAKeySet("the key set is not JSON") from None
    if not isinstance(document, dict):
        raise NotAKeySet('the key set must be an object such as {"keys": [...]}')
    listed = document.get("keys", [document])
    if not isinstance(listed, list):
        raise NotAKeySet("`keys` of the key set must be a list")
    general = _purposes(document.get("purpose"))
    found: dict[str, ListedKey] = {}
    for name, key in _usable(listed, general):
        found.setdefault(name, key)
        if len(found) == MOST_KEYS:
            break
    if not found:
        raise NotAKeySet('the key set lists no Ed25519 key ({"kty": "OKP", "crv": "Ed25519", "x": ...})')
    return found


def _usable(listed: list[Any], general: tuple[str, ...]) -> Iterator[tuple[str, ListedKey]]:
    for jwk in listed:
        if not isinstance(jwk, dict):
            continue
        key = read_key(jwk)
        if key is not None:
            times = {name: _moment(jwk[name]) for name in ("nbf", "exp") if jwk.get(name) is not None}
            # By thumbprint, not by `kid`, which is free text.
            yield thumbprint(jwk), ListedKey(key, times, _purposes(jwk.get("purpose")) or general)


def _moment(value: object) -> object:
    # A number of a thousand digits is JSON too.
    return max(-_LATEST, min(value, _LATEST)) if isinstance(value, int) and not isinstance(value, bool) else value


def _purposes(said: object) -> tuple[str, ...]:
    words = _WORD_ENDS.split(said) if isinstance(said, str) else said if isinstance(said, list) else []
    found = []
    for word in words[:MOST_WORDS]:
        if isinstance(word, str):
            plain = word.strip().lower().replace("_", "-")
            found.append(_SAME_PURPOSE.get(plain, plain))
    return tuple(dict.fromkeys(word for word in found if word in PURPOSES))
