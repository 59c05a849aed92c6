"""Metrics of a site: the counting rule, the series, latency, and the days."""

import asyncio
import math
from collections.abc import Mapping
from typing import NamedTuple

from agentgate.events.queries.ports import Counts, CountStore, MeasuredSite
from agentgate.events.queries.queries import TrafficTerms
from agentgate.events.queries.records import (
    ChallengeCounts,
    DailyPoint,
    ErrorCounts,
    Latency,
    Metrics,
    Retention,
    SeriesPoint,
)
from agentgate.events.queries.series import (
    add_up,
    bucket_for,
    bucket_spans,
    outcome_counts,
    outcome_fields,
    point_fields,
    rate,
    series,
)
from agentgate.events.time_ranges import TimeRange
from agentgate.lib.clock import DAY_MS, utc_day
from agentgate.lib.enums import MetricsBucket, MetricsSource
from agentgate.lib.limits import LATENCY_SAMPLES
from agentgate.lib.moment import Moment


class _CountedRange(NamedTuple):
    """The range that is counted, by events or by days, and its counts."""

    span: TimeRange
    source: MetricsSource
    bucket: MetricsBucket
    series: list[SeriesPoint]
    totals: Counts
    sources: int


async def read_site_metrics(
    store: CountStore, site: MeasuredSite, number: int, span: TimeRange, *, terms: TrafficTerms, now_ms: int
) -> Metrics:
    """Return the metrics of a range. The caller removes the metrics that the console must not show."""
    first_day, last_day = span.from_ms // DAY_MS, (span.to_ms - 1) // DAY_MS
    by_events = terms.keeps(span, now_ms)
    shown = span if by_events else TimeRange(first_day * DAY_MS, (last_day + 1) * DAY_MS)
    # Concurrently: each read spends most of its time waiting for a thread or the server.
    days, durations, sources, hours = await asyncio.gather(
        store.list_days(number, first_day, last_day),
        store.list_durations_us(number, terms.kept_part(shown, now_ms), LATENCY_SAMPLES),
        store.count_sources(number, span) if by_events else store.estimate_sources(number, first_day, last_day),
        _list_hours(store, number, span if by_events else None),
    )
    counted = _from_events(span, hours, sources) if by_events else _from_days(shown, days, sources)
    totals = counted.totals
    return Metrics(
        site_key=site.site_key,
        mode=site.mode,
        from_=utc_day(span.from_ms),
        to=utc_day(span.to_ms - 1),
        range_from=Moment(counted.span.from_ms),
        range_to=Moment(counted.span.to_ms),
        source=counted.source,
        bucket=counted.bucket,
        series=counted.series,
        totals=outcome_counts(totals),
        challenges=_challenges(totals),
        latency=latency_of(totals, durations),
        errors=ErrorCounts(service_errors=totals.errors, event_write_failures=terms.count_write_failures()),
        unique_sources=counted.sources,
        retention=Retention(event_days=terms.event_days, metric_days=terms.metric_days),
        daily=[_day(day, days.get(day, Counts())) for day in range(first_day, last_day + 1)],
    )


async def _list_hours(store: CountStore, number: int, span: TimeRange | None) -> Mapping[int, Counts]:
    return {} if span is None else await store.list_hours(number, span)


def _from_events(span: TimeRange, hours: Mapping[int, Counts], sources: int) -> _CountedRange:
    bucket = bucket_for(span)
    return _CountedRange(
        span=span,
        source=MetricsSource.EVENTS,
        bucket=bucket,
        series=series(hours, bucket_spans(span, bucket)),
        totals=add_up(hours.values()),
        sources=sources,
    )


def _from_days(span: TimeRange, days: Mapping[int, Counts], sources: int) -> _CountedRange:
    spans = bucket_spans(span, MetricsBucket.DAY)
    points = [SeriesPoint(**point_fields(each, days.get(each.from_ms // DAY_MS, Counts()))) for each in spans]
    return _CountedRange(
        span=span,
        source=MetricsSource.AGGREGATES,
        bucket=MetricsBucket.DAY,
        series=points,
        totals=add_up(days.values()),
        sources=sources,
    )


def _challenges(totals: Counts) -> ChallengeCounts:
    return ChallengeCounts(
        issued=totals.challenges_issued,
        passed=totals.challenges_passed,
        failed=totals.challenges_failed,
        completion_rate=rate(totals.challenges_passed, totals.challenges_issued),
    )


def latency_of(totals: Counts, durations_us: list[int]) -> Latency:
    """Return the mean of all requests and the percentiles of the newest."""
    ordered = sorted(durations_us)
    return Latency(
        mean_ms=round(totals.duration_us / totals.requests / 1000, 3) if totals.requests else None,
        p50_ms=percentile_ms(ordered, 0.50),
        p95_ms=percentile_ms(ordered, 0.95),
        samples=len(ordered),
    )


def percentile_ms(ordered_us: list[int], share: float) -> float | None:
    """Return the least value that at least this share of the sorted values does not exceed."""
    if not ordered_us:
        return None
    return round(ordered_us[math.ceil(len(ordered_us) * share) - 1] / 1000, 3)


def _day(day: int, counts: Counts) -> DailyPoint:
    return DailyPoint(
        **outcome_fields(counts),
        day=utc_day(day * DAY_MS),
        challenges_passed=counts.challenges_passed,
        challenges_failed=counts.challenges_failed,
    )
