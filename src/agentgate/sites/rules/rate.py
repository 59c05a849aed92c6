"""The `rate` of a rule: the rule matches once more requests than that met its other conditions within a window."""

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

from agentgate.lib.enums import RuleAction

RATE = "rate"
BY = ("visitor", "network", "asn", "agent", "clearance")
_KEYS = {"by", "more_than", "within"}
MOST_REQUESTS, MOST_WINDOW_S = 1_000_000, 3_600
RATES_PER_SET = 16
# Parts of a window that are counted apart.
SLOTS = 10


class RuleLimit(NamedTuple):
    """A compiled rate: the bit that is set once it is exceeded, and what is counted."""

    bit: int
    # Names rule and window in keys of counters.
    tag: int
    by: str
    more_than: int
    slot_ms: int


def check_rate(item: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the problems of a rule's rate, each with its key."""
    rate = item.get(RATE, {"by": BY[0], "more_than": 1, "within": 1})
    if not isinstance(rate, dict) or set(rate) != _KEYS:
        yield RATE, "rate must have by, more_than and within, such as {by: visitor, more_than: 30, within: 600}."
        return
    if rate["by"] not in BY:
        yield RATE, f"by must be one of {', '.join(BY)}."
    for key, most in (("more_than", MOST_REQUESTS), ("within", MOST_WINDOW_S)):
        value = rate[key]
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            yield RATE, f"{key} must be an integer from 1 to {most}{' seconds' * (key == 'within')}."
    if RATE in item and item.get("action") == RuleAction.ALLOW:
        yield RATE, "A rule with a rate cannot allow: use challenge, block, drop or count."


def can_exceed(item: Mapping[str, Any]) -> bool:
    """Return whether a rule has no rate, or one that counts. An override to `allow` turns the rule off."""
    return RATE not in item or item["action"] != RuleAction.ALLOW


def compile_rate(item: Mapping[str, Any], bit: int) -> RuleLimit:
    """Return the compiled rate of a valid rule."""
    rate = item[RATE]
    text = f"{item['name']} {rate['by']} {rate['within']}".encode()
    tag = int.from_bytes(blake2b(text, digest_size=16).digest())
    return RuleLimit(bit, tag, rate["by"], rate["more_than"], rate["within"] * 1_000 // SLOTS)
