"""The ends of a range that are not whole hours, and the events that determine their counts.

Most ranges end now and contain nearly all of the last hour. For these, subtract the few events outside the range from
the hour's counters, instead of counting thousands of events inside it.
"""

from typing import NamedTuple

from agentgate.events.time_ranges import TimeRange
from agentgate.lib.clock import HOUR_MS


class Edge(NamedTuple):
    """A part of one hour, in hours since 1970."""

    hour: int
    # Whether the hour's counters are taken and these events taken away, or these events counted. What is taken away
    # must be read in the statement that reads the counters, or an event that comes in between would be missing.
    from_hour: bool
    events: tuple[TimeRange, ...]

    @property
    def sign(self) -> int:
        """1 for events that are added, -1 for events that are subtracted."""
        return -1 if self.from_hour else 1


def edges(span: TimeRange) -> list[Edge]:
    """Return the parts of a range that are not whole hours: none, one or two."""
    first_full_ms = -(-span.from_ms // HOUR_MS) * HOUR_MS
    last_full_ms = span.to_ms // HOUR_MS * HOUR_MS
    if first_full_ms > last_full_ms:
        return [_edge(span)]
    found = (TimeRange(span.from_ms, first_full_ms), TimeRange(last_full_ms, span.to_ms))
    return [_edge(part) for part in found if part.from_ms < part.to_ms]


def _edge(part: TimeRange) -> Edge:
    hour = part.from_ms // HOUR_MS
    if part.to_ms - part.from_ms <= HOUR_MS // 2:
        return Edge(hour, from_hour=False, events=(part,))
    outside = (TimeRange(hour * HOUR_MS, part.from_ms), TimeRange(part.to_ms, (hour + 1) * HOUR_MS))
    return Edge(hour, from_hour=True, events=tuple(each for each in outside if each.from_ms < each.to_ms))
