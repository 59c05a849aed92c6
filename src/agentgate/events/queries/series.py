"""Counts over time: buckets of a range, totals, rates, and their form in responses."""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from msgspec.structs import astuple

from agentgate.events.queries.ports import Counts
from agentgate.events.queries.records import OutcomeCounts, SeriesPoint
from agentgate.events.time_ranges import TimeRange
from agentgate.lib.clock import DAY_MS, HOUR_MS
from agentgate.lib.enums import MetricsBucket
from agentgate.lib.limits import HOURLY_BUCKETS_MOST_HOURS
from agentgate.lib.moment import Moment

_OUTCOMES = OutcomeCounts.__struct_fields__
_WIDTHS_MS = {MetricsBucket.HOUR: HOUR_MS, MetricsBucket.DAY: DAY_MS}


def bucket_for(span: TimeRange) -> MetricsBucket:
    """Return how wide the buckets of a range are."""
    hourly = span.to_ms - span.from_ms <= HOURLY_BUCKETS_MOST_HOURS * HOUR_MS
    return MetricsBucket.HOUR if hourly else MetricsBucket.DAY


def bucket_spans(span: TimeRange, bucket: MetricsBucket) -> list[TimeRange]:
    """Cut a range at whole hours or UTC midnights."""
    width_ms = _WIDTHS_MS[bucket]
    cuts = range(span.from_ms - span.from_ms % width_ms + width_ms, span.to_ms, width_ms)
    edges = [span.from_ms, *cuts, span.to_ms]
    return [TimeRange(start, end) for start, end in pairwise(edges)]


def add_up(counts: Iterable[Counts]) -> Counts:
    rows = [astuple(each) for each in counts]
    return Counts(*(sum(column) for column in zip(*rows, strict=True))) if rows else Counts()


def by_bucket(hours: Mapping[int, Counts], spans: list[TimeRange]) -> list[Counts]:
    """Add up hours by bucket. An hour at the end of a range belongs to the bucket whose end cuts it."""
    found: list[list[Counts]] = [[] for _ in spans]
    for place, bucket in enumerate(spans):
        for hour in range(bucket.from_ms // HOUR_MS, (bucket.to_ms - 1) // HOUR_MS + 1):
            if hour in hours:
                found[place].append(hours[hour])
    return [add_up(each) for each in found]


def outcome_counts(counts: Counts) -> OutcomeCounts:
    """Return the part about protected requests."""
    return OutcomeCounts(**outcome_fields(counts))


def outcome_fields(counts: Counts) -> dict[str, int]:
    return {name: getattr(counts, name) for name in _OUTCOMES}


def point_fields(span: TimeRange, counts: Counts) -> dict[str, Any]:
    return {
        **outcome_fields(counts),
        "start": Moment(span.from_ms),
        "end": Moment(span.to_ms),
        "challenges_passed": counts.challenges_passed,
        "challenges_failed": counts.challenges_failed,
    }


def series(hours: Mapping[int, Counts], spans: list[TimeRange]) -> list[SeriesPoint]:
    """Return a point for each bucket, those without events too."""
    summed = by_bucket(hours, spans)
    return [SeriesPoint(**point_fields(span, counts)) for span, counts in zip(spans, summed, strict=True)]


def rate(part: int, whole: int) -> float | None:
    """Return a share between 0 and 1, or None of nothing; capped, for what began before a range may end in it."""
    return None if whole == 0 else min(round(part / whole, 4), 1.0)
