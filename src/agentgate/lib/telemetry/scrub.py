"""Makes a log event fit to be written: secrets and personal data masked, values plain, sizes bounded.

How lines are formatted is in `logs.py`. Callers should not log secrets at all; this is the net under them.
"""

import functools
import math
import re
from collections.abc import Mapping, MutableMapping
from typing import Any

MASK = "(hidden)"
TEXT_CHARACTERS = 16 * 1024
DEPTH = 4
ITEMS = 64

# Anywhere in a name: `sessionToken`, `set_cookie`, `proxy-authorization`.
TELLING_PARTS = re.compile(r"secret|passw|passphrase|token|cookie|authori[sz]ation|credential|signature|apikey")
# As a whole word of a name: `key`, `admin_key`, `client_ip`, but not `keyboard` or `description`.
TELLING_WORDS = frozenset({"key", "keys", "ip", "address", "email", "peer", "otp", "totp", "body", "csrf", "nonce"})
# Names that would be masked by the above, but say nothing that could be used.
PLAIN_NAMES = frozenset({"site_key", "key_purpose"})
# Names with these endings describe a secret without holding it: `token_id`, `token_seconds`.
PLAIN_ENDINGS = frozenset({"id", "ms", "s", "seconds", "days", "count", "bytes", "kind", "purpose", "status"})

WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
SECRETS_IN_TEXT = (
    (re.compile(r"\b(ag[skt]_)[A-Za-z0-9_-]{4,}"), rf"\1{MASK}"),
    (re.compile(r"\b(whsec_)[A-Za-z0-9+/=]{4,}"), rf"\1{MASK}"),
    (re.compile(r"(?i)\b(bearer|basic)(\s+)[A-Za-z0-9._~+/=-]{8,}"), rf"\1\2{MASK}"),
    (re.compile(r"://([^/\s:@]{0,256}):[^/\s@]{1,1024}@"), rf"://\1:{MASK}@"),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{2,}\.[A-Za-z0-9_-]*"), MASK),
    # The specification puts the one-time token of an invite into the path.
    (re.compile(r"(/account/invite/)(?!accept\b)[^/\s\"'?]+"), rf"\1{MASK}"),
)
# Every text that one of the patterns above changes contains one of these. Almost no text does, and one search for all
# of them takes 10% of the time.
SUSPECT = re.compile(r"ag[skt]_|whsec_|(?i:bearer|basic)|://|eyJ|/account/invite/")
OWN_VALUES = "_own_values"
# Names come from the code, so there are not many of them.
NAMES_REMEMBERED = 1024


def scrub(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Return the event with plain, bounded values and nothing secret: a structlog processor."""
    # Said by the kernel of a line in which every value is its own: the most frequent line by far.
    if event.pop(OWN_VALUES, False):
        return event
    return {
        name if name.startswith("_") else _masked_name(name): _scrubbed(name, value, depth=0)
        for name, value in event.items()
    }


@functools.lru_cache(maxsize=NAMES_REMEMBERED)
def is_telling(name: str) -> bool:
    """Return whether a value of this name must not be written."""
    words = [word.lower() for word in WORDS.findall(name)]
    joined = "_".join(words)
    if joined in PLAIN_NAMES or (words and words[-1] in PLAIN_ENDINGS):
        return False
    return TELLING_PARTS.search(joined.replace("_", "")) is not None or not TELLING_WORDS.isdisjoint(words)


def mask_text(text: str) -> str:
    """Return the text, cut to a bound, with what looks like a secret masked."""
    if len(text) > TEXT_CHARACTERS:
        text = text[:TEXT_CHARACTERS] + "..."
    if SUSPECT.search(text) is None:
        return text
    for pattern, replacement in SECRETS_IN_TEXT:
        text = pattern.sub(replacement, text)
    return text


@functools.lru_cache(maxsize=NAMES_REMEMBERED)
def _masked_name(name: str) -> str:
    return mask_text(name)


def _scrubbed(name: str, value: Any, *, depth: int) -> Any:
    # structlog's own entries (`_record`, `_from_structlog`) are needed as they are and removed before rendering.
    if name.startswith("_") and depth == 0:
        return value
    if value is not None and not isinstance(value, bool) and is_telling(name):
        return MASK
    return _plain(value, depth=depth)


def _plain(value: Any, *, depth: int) -> Any:
    # Most values are of these types, and asking about abstract ones takes longer than all the rest.
    kind = type(value)
    if kind is str:
        return mask_text(value)
    if kind is int:
        return value
    if not isinstance(value, Mapping | list | tuple | set | frozenset):
        return _plain_single(value)
    if depth >= DEPTH:
        return "..."
    if isinstance(value, Mapping):
        pairs = list(value.items())[:ITEMS]
        return {mask_text(str(name)): _scrubbed(str(name), item, depth=depth + 1) for name, item in pairs}
    return [_plain(item, depth=depth + 1) for item in list(value)[:ITEMS]]


def _plain_single(value: Any) -> Any:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        # JSON has no NaN or infinity, and one such number would make the whole line unreadable.
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bytes | bytearray):
        return mask_text(bytes(value).decode("utf-8", "backslashreplace"))
    return mask_text(str(value))
