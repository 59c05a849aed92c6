"""Key sets of agents as they are really served: what keys they list, what for, and how long that holds."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from agentgate.lib.ed25519 import PublicKey
from agentgate.protection.agents.ports import KeyFound
from agentgate.protection.agents.signing.jwk import is_current, read_key, thumbprint
from agentgate.protection.signals.detectors.agent_claim import PURPOSES

MOST_KEYS = 20
SHORTEST_S = 60
LONGEST_S = 86_400
# For a key set that says nothing about it.
USUAL_S = 3_600
MOST_WORDS = 20

# Words in use for what we have a word for. Others are left out: an agent must not choose its own labels.
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
_MAX_AGE = re.compile(r'(?:^|[\s,])max-age\s*=\s*"?([0-9]{1,10})', re.ASCII | re.IGNORECASE)
_NOT_KEPT = re.compile(r"(?:^|[\s,])no-(?:store|cache)\b", re.ASCII | re.IGNORECASE)
# Beyond any time, and safe to calculate with.
_LATEST = 2**53


class NotAKeySet(Exception):  # noqa: N818 - says what happened
    """The answer lists no key that can be used. The reason is fit for whoever serves it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ListedKey(Struct, frozen=True):
    """A key, when it may be used, and what its agent says it wants."""

    key: PublicKey
    times: Mapping[str, Any]
    purposes: tuple[str, ...] = ()

    def found(self, *, now_ms: int) -> KeyFound:
        """Return the key, if this is its time."""
        if not is_current(self.times, now_ms=now_ms):
            return KeyFound(None, "the key set lists this key for another time (`nbf`, `exp`); sign with a current key")
        return KeyFound(self.key, None, self.purposes)


def read_key_set(body: bytes) -> dict[str, ListedKey]:
    """Return the keys of a set by thumbprint: `{"keys": [...]}` with whatever other members, or one key alone."""
    try:
        document = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
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


def kept_s(headers: Mapping[str, str]) -> int:
    """Return for how many seconds an answer may be used without asking again, within our own bounds."""
    control = headers.get("cache-control", "")
    if _NOT_KEPT.search(control):
        return SHORTEST_S
    match = _MAX_AGE.search(control)
    age = headers.get("age", "")
    spent_s = int(age) if age.isascii() and age.isdigit() and len(age) < 10 else 0
    return min(max((int(match[1]) if match else USUAL_S) - spent_s, SHORTEST_S), LONGEST_S)


def _usable(listed: list[Any], general: tuple[str, ...]) -> Iterator[tuple[str, ListedKey]]:
    for jwk in listed:
        if not isinstance(jwk, dict):
            continue
        key = read_key(jwk)
        if key is not None:
            times = {name: _moment(jwk[name]) for name in ("nbf", "exp") if jwk.get(name) is not None}
            # By its thumbprint and not by its `kid`, which is whatever somebody wrote.
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
