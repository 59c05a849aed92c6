"""Time ranges: `from` and `to` in three formats, with a default span and a longest one."""

import re
from datetime import UTC, datetime

from msgspec import Struct, UnsetType

from agentgate.lib.clock import DAY_MS, HOUR_MS
from agentgate.lib.errors import Refused
from agentgate.lib.moment import LATEST_MS, Moment

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}\Z", re.ASCII)
_MILLIS = re.compile(r"\d{1,15}\Z", re.ASCII)
_FORMATS = "RFC 3339 (2026-01-31T09:30:00Z), a UTC day (2026-01-31) or Unix milliseconds (1769851800000)"


class TimeRange(Struct, frozen=True):
    """A span of time: `from_ms` belongs to it, `to_ms` does not."""

    from_ms: int
    to_ms: int


def read_range(
    from_text: str | UnsetType, to_text: str | UnsetType, *, now_ms: int, default_ms: int, longest_ms: int
) -> TimeRange:
    """Return the requested range, or reject it with a message that explains what is valid."""
    to_ms = now_ms if isinstance(to_text, UnsetType) else read_moment("to", to_text)
    from_ms = max(to_ms - default_ms, 0) if isinstance(from_text, UnsetType) else read_moment("from", from_text)
    if from_ms >= to_ms:
        raise Refused("invalid_range", "from must be earlier than to.")
    if to_ms - from_ms > longest_ms:
        raise Refused("invalid_range", f"The range from..to may span at most {_span(longest_ms)}.")
    return TimeRange(from_ms, to_ms)


def read_moment(name: str, text: str) -> int:
    """Read one moment in any of the three formats."""
    try:
        if _DAY.match(text):
            moment = int(datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).timestamp() * 1000)
        else:
            moment = int(text) if _MILLIS.match(text) else Moment.parse(text)
    except ValueError:
        raise Refused("invalid_range", f"{name} must be {_FORMATS}.") from None
    if not 0 <= moment <= LATEST_MS:
        raise Refused("invalid_range", f"{name} must be between the years 1970 and 9999.")
    return moment


def _span(length_ms: int) -> str:
    return f"{length_ms // DAY_MS} days" if length_ms >= DAY_MS else f"{length_ms // HOUR_MS} hours"
