"""The settings for reading traffic, and the ranges that follow from them."""

from collections.abc import Callable
from dataclasses import dataclass

from agentgate.events.time_ranges import TimeRange
from agentgate.lib.clock import DAY_MS


@dataclass(frozen=True, kw_only=True)
class TrafficTerms:
    """For how long things are kept, where traces are shown, and how many events could not be kept."""

    event_days: int
    metric_days: int
    # With `{traceId}` in it; empty where there is no tracing tool.
    trace_url_template: str
    count_write_failures: Callable[[], int]

    def events_from_ms(self, now_ms: int) -> int:
        """Return the moment from which all events are still kept: a midnight, `event_days` days before today's."""
        return max(now_ms // DAY_MS - self.event_days, 0) * DAY_MS

    def keeps(self, span: TimeRange, now_ms: int) -> bool:
        """Return whether a range starts within the retention of events."""
        return span.from_ms >= self.events_from_ms(now_ms)

    def kept_part(self, span: TimeRange, now_ms: int) -> TimeRange:
        """Return the part of a range whose events are kept; one that ends before it starts has none."""
        return TimeRange(max(span.from_ms, self.events_from_ms(now_ms)), span.to_ms)
