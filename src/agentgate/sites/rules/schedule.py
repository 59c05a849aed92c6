"""Schedules of rules: `from`, `until` and `weekdays` of a rule or a group. Days begin at midnight UTC.

A site's rules are compiled again at each boundary (`sites/directory`), so that a decision reads no clock.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agentgate.lib.clock import DAY_MS, to_rfc3339
from agentgate.lib.moment import Moment

FROM, UNTIL, WEEKDAYS = "from", "until", "weekdays"
SCHEDULE_KEYS = (FROM, UNTIL, WEEKDAYS)
# 1970 began on a Thursday.
_DAYS = ("thu", "fri", "sat", "sun", "mon", "tue", "wed")


def check_schedule(item: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the problems of a rule's or group's schedule, each with its key."""
    for key in (FROM, UNTIL):
        if key in item and _moment(item[key]) is None:
            yield key, f"{key} must be a date and time in quotes, such as '2026-01-31T09:30:00Z'."
    begin, end = _moment(item.get(FROM)), _moment(item.get(UNTIL))
    if begin is not None and end is not None and end <= begin:
        yield UNTIL, "until must be later than from."
    days = item.get(WEEKDAYS, ["mon"])
    if not isinstance(days, list) or not days or any(day not in _DAYS for day in days):
        yield WEEKDAYS, "weekdays must be a list of mon, tue, wed, thu, fri, sat and sun."


def is_scheduled(item: Mapping[str, Any]) -> bool:
    """Return whether a rule or group is not always active."""
    return any(key in item for key in SCHEDULE_KEYS)


def schedule_of(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schedule of a rule or group, as written."""
    return {key: item[key] for key in SCHEDULE_KEYS if key in item}


def why_inactive(item: Mapping[str, Any], now_ms: int) -> str | None:
    """Return why a valid rule is not active now, or None."""
    begin, end = _moment(item.get(FROM)), _moment(item.get(UNTIL))
    if begin is not None and now_ms < begin:
        return f"it is active from {to_rfc3339(begin)}"
    if end is not None and now_ms >= end:
        return f"it was active until {to_rfc3339(end)}"
    if WEEKDAYS in item and _DAYS[now_ms // DAY_MS % 7] not in item[WEEKDAYS]:
        return f"it is active on {', '.join(item[WEEKDAYS])} (UTC)"
    return None


def last_boundary_ms(items: Iterable[Mapping[str, Any]], now_ms: int) -> int:
    """Return when a schedule of these last began or ended; 0 if none has."""
    return max((each for item in items for each in _boundaries(item, now_ms) if each <= now_ms), default=0)


def next_boundary_ms(items: Iterable[Mapping[str, Any]], now_ms: int) -> int | None:
    """Return when a schedule of these next begins or ends, or None."""
    return min((each for item in items for each in _boundaries(item, now_ms) if each > now_ms), default=None)


def _boundaries(item: Mapping[str, Any], now_ms: int) -> Iterator[int]:
    for key in (FROM, UNTIL):
        moment = _moment(item.get(key))
        if moment is not None:
            yield moment
    if WEEKDAYS in item:
        day_ms = now_ms - now_ms % DAY_MS
        yield from (day_ms, day_ms + DAY_MS)


def _moment(value: Any) -> int | None:
    try:
        return Moment.parse(value) if isinstance(value, str) else None
    except ValueError:
        return None
