"""Buckets of a range, totals and rates."""

import pytest

from agentgate.events.queries.metrics import percentile_ms
from agentgate.events.queries.ports import Counts
from agentgate.events.queries.series import add_up, bucket_for, bucket_spans, rate, series
from agentgate.events.time_ranges import TimeRange
from agentgate.lib.clock import DAY_MS, HOUR_MS
from agentgate.lib.enums import MetricsBucket

HALF = HOUR_MS // 2


def test_up_to_48_hours_buckets_are_hours() -> None:
    assert bucket_for(TimeRange(HALF, HALF + 48 * HOUR_MS)) is MetricsBucket.HOUR
    assert bucket_for(TimeRange(HALF, HALF + 48 * HOUR_MS + 1)) is MetricsBucket.DAY


def test_buckets_are_cut_at_whole_hours_and_clipped_to_the_range() -> None:
    spans = bucket_spans(TimeRange(HALF, 2 * HOUR_MS + 1), MetricsBucket.HOUR)

    assert [(span.from_ms, span.to_ms) for span in spans] == [
        (HALF, HOUR_MS),
        (HOUR_MS, 2 * HOUR_MS),
        (2 * HOUR_MS, 2 * HOUR_MS + 1),
    ]
    assert bucket_spans(TimeRange(1, 2), MetricsBucket.DAY) == [TimeRange(1, 2)]
    assert bucket_spans(TimeRange(0, DAY_MS), MetricsBucket.DAY) == [TimeRange(0, DAY_MS)]


def test_every_hour_is_added_to_the_one_bucket_it_is_in() -> None:
    hours = {hour: Counts(requests=1, challenges_passed=hour) for hour in (0, 23, 24, 47)}
    points = series(hours, bucket_spans(TimeRange(HALF, 2 * DAY_MS - HALF), MetricsBucket.DAY))

    assert [(point.requests, point.challenges_passed) for point in points] == [(2, 23), (2, 71)]
    assert add_up(hours.values()).requests == 4
    assert add_up([]) == Counts()


@pytest.mark.parametrize(("part", "whole", "share"), [(0, 0, None), (3, 0, None), (1, 3, 0.3333), (5, 4, 1.0)])
def test_a_rate_is_a_share_or_nothing(part: int, whole: int, share: float | None) -> None:
    assert rate(part, whole) == share


def test_percentiles_are_values_that_occurred() -> None:
    ordered = [number * 1000 for number in range(1, 101)]

    assert (percentile_ms(ordered, 0.5), percentile_ms(ordered, 0.95)) == (50.0, 95.0)
    assert (percentile_ms([7], 0.5), percentile_ms([7], 0.95)) == (0.007, 0.007)
    assert percentile_ms([], 0.5) is None
