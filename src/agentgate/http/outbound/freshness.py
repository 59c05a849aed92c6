"""How long a fetched document may be cached."""

import re
from collections.abc import Mapping

SHORTEST_S = 60
LONGEST_S = 86_400
USUAL_S = 3_600
_MAX_AGE = re.compile(r'(?:^|[\s,])max-age\s*=\s*"?([0-9]{1,10})', re.ASCII | re.IGNORECASE)
_NOT_KEPT = re.compile(r"(?:^|[\s,])no-(?:store|cache)\b", re.ASCII | re.IGNORECASE)


def kept_s(headers: Mapping[str, str]) -> int:
    """Return for how many seconds a response may be cached, within our own bounds."""
    control = headers.get("cache-control", "")
    if _NOT_KEPT.search(control):
        return SHORTEST_S
    match = _MAX_AGE.search(control)
    age = headers.get("age", "")
    spent_s = int(age) if age.isascii() and age.isdigit() and len(age) < 10 else 0
    return min(max((int(match[1]) if match else USUAL_S) - spent_s, SHORTEST_S), LONGEST_S)
