"""The ends of a range that are not whole hours."""

from hypothesis import given
from hypothesis import strategies as st

from agentgate.events.storage.queries.days import edges
from agentgate.events.time_ranges import TimeRange
from agentgate.lib.clock import HOUR_MS

HOUR = 500_000
START_MS = HOUR * HOUR_MS
moments = st.one_of(st.integers(0, 4 * HOUR_MS), st.sampled_from([0, 1, HOUR_MS - 1, HOUR_MS, HOUR_MS + 1]))


@given(first=moments, second=moments)
def test_whole_hours_and_edges_are_the_range_alone(first: int, second: int) -> None:
    span = TimeRange(START_MS + min(first, second), START_MS + max(first, second) + 1)
    counted_ms = 0
    for hour in range(-(-span.from_ms // HOUR_MS), span.to_ms // HOUR_MS):
        assert hour not in {edge.hour for edge in edges(span)}
        counted_ms += HOUR_MS
    for edge in edges(span):
        of_events_ms = sum(part.to_ms - part.from_ms for part in edge.events)
        counted_ms += edge.sign * of_events_ms + (HOUR_MS if edge.from_hour else 0)

    assert counted_ms == span.to_ms - span.from_ms


@given(first=moments, second=moments)
def test_never_more_than_half_an_hour_of_events_is_read_at_an_end(first: int, second: int) -> None:
    span = TimeRange(START_MS + min(first, second), START_MS + max(first, second) + 1)

    for edge in edges(span):
        assert sum(part.to_ms - part.from_ms for part in edge.events) <= HOUR_MS // 2
        for part in edge.events:
            within = span.from_ms <= part.from_ms and part.to_ms <= span.to_ms
            assert within is not edge.from_hour
            assert part.from_ms // HOUR_MS == (part.to_ms - 1) // HOUR_MS == edge.hour
