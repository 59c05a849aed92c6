"""Query parameters of the traffic routes, and their ranges, filters and cursors."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, NamedTuple, TypeVar

from msgspec import UNSET, Meta, UnsetType, field

from agentgate.events.queries.ports import DecisionFilters
from agentgate.events.time_ranges import TimeRange, read_range
from agentgate.http.call import Call
from agentgate.lib import limits
from agentgate.lib.clock import DAY_MS, HOUR_MS
from agentgate.lib.cursors import Cursors
from agentgate.lib.enums import DecisionKind, DecisionQueue, LabelledFilter, Outcome
from agentgate.lib.records import ACTION_PATTERN, Query, SiteKey, VisitorId

T = TypeVar("T")

# Longer than any rule or label may be.
NAME_CHARACTERS = 200

Name = Annotated[str, Meta(min_length=1, max_length=NAME_CHARACTERS)]
PageSize = Annotated[int, Meta(ge=limits.PAGE_SIZE.least, le=limits.PAGE_SIZE.most)]


class RangeQuery(Query, frozen=True, kw_only=True):
    """A range of time."""

    from_: str | UnsetType = field(default=UNSET, name="from")
    to: str | UnsetType = UNSET


class TrafficSiteQuery(Query, frozen=True, kw_only=True):
    """Which site."""

    site_key: SiteKey


class SiteRangeQuery(RangeQuery, frozen=True, kw_only=True):
    """Which site, and a range of time."""

    site_key: SiteKey


class VisitorQuery(SiteRangeQuery, frozen=True, kw_only=True):
    """Which visitors, and the page."""

    limit: PageSize = limits.PAGE_SIZE.default
    cursor: str | UnsetType = UNSET


class DecisionQuery(VisitorQuery, frozen=True, kw_only=True):
    """Which decisions, and the page. Filters narrow together."""

    kind: DecisionKind | UnsetType = UNSET
    outcome: Outcome | UnsetType = UNSET
    would_decision: Outcome | UnsetType = UNSET
    rule: Name | UnsetType = UNSET
    label: Name | UnsetType = UNSET
    visitor: VisitorId | UnsetType = UNSET
    action: Annotated[str, Meta(pattern=ACTION_PATTERN)] | UnsetType = UNSET
    queue: DecisionQueue | UnsetType = UNSET
    labelled: LabelledFilter = LabelledFilter.ANY


class PageRange(NamedTuple):
    """The requested page: its range, the ID before which it starts, and the cursors of its list."""

    span: TimeRange
    before: int | None
    cursors: Cursors

    def next_cursor(self, more_before: int | None) -> str | UnsetType:
        """Return the cursor of the next page, if any. It carries the range, because `now` changes between pages."""
        if more_before is None:
            return UNSET
        # Plain integers: `now` is a Moment, which would be written as text.
        return self.cursors.issue((int(self.span.from_ms), int(self.span.to_ms), more_before))


def _range_reader(default_ms: int, longest_ms: int) -> Callable[[RangeQuery, int], TimeRange]:
    def read(query: RangeQuery, now_ms: int) -> TimeRange:
        return read_range(query.from_, query.to, now_ms=now_ms, default_ms=default_ms, longest_ms=longest_ms)

    return read


# From a query and the present moment to the range of metrics, analytics, a list, one visitor.
metrics_range = _range_reader(limits.METRICS_RANGE_DEFAULT_DAYS * DAY_MS, limits.METRICS_RANGE_MOST_DAYS * DAY_MS)
analytics_range = _range_reader(
    limits.ANALYTICS_RANGE_DEFAULT_HOURS * HOUR_MS, limits.ANALYTICS_RANGE_MOST_DAYS * DAY_MS
)
list_range = _range_reader(limits.TRAFFIC_RANGE_DEFAULT_HOURS * HOUR_MS, limits.TRAFFIC_RANGE_MOST_DAYS * DAY_MS)
visitor_range = _range_reader(limits.VISITOR_DETAIL_RANGE_DAYS * DAY_MS, limits.TRAFFIC_RANGE_MOST_DAYS * DAY_MS)


def read_page(query: VisitorQuery, call: Call, cursors: Cursors) -> PageRange:
    """Return the page that a query asks for. A later page has the range of the first."""
    span = list_range(query, call.now)
    if isinstance(query.cursor, UnsetType):
        return PageRange(span, None, cursors)
    from_ms, to_ms, before = (int(part) for part in cursors.read(query.cursor))
    return PageRange(TimeRange(from_ms, to_ms), before, cursors)


def cursor_scope(query: VisitorQuery) -> list[str]:
    """Return everything that binds a cursor besides route and site: the range and the filters as they were sent."""
    names = [name for name in query.__struct_fields__ if name not in {"site_key", "limit", "cursor"}]
    values = ((name, getattr(query, name)) for name in names)
    return [f"{name}={value}" for name, value in values if not isinstance(value, UnsetType)]


def filters_of(query: DecisionQuery) -> DecisionFilters:
    return DecisionFilters(
        kind=_or_none(query.kind),
        outcome=_or_none(query.outcome),
        would=_or_none(query.would_decision),
        rule=_or_none(query.rule),
        label=_or_none(query.label),
        visitor=None if isinstance(query.visitor, UnsetType) else int(query.visitor, 16),
        action=_or_none(query.action),
        labelling=query.queue is DecisionQueue.LABELLING,
        labelled=query.labelled,
    )


def _or_none(value: T | UnsetType) -> T | None:
    return None if isinstance(value, UnsetType) else value


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
