"""Decisions for the metrics: how many by site, outcome and reason, and how long they took.

Counted when a batch of events is taken to be written, so that a check does not pay for it. Events for which there was
no room are missing here; `agentgate_event_write_failures_total` has them.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate

from prometheus_client.metrics_core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from agentgate.events.records import Event, Pattern, Recorded, Repeated
from agentgate.lib.telemetry.metrics import DURATION_BUCKETS_S

# More sites and reasons than this are counted together: each combination is a series that somebody has to store.
MOST_SERIES = 2_000

_BOUNDS_US = tuple(round(bound_s * 1e6) for bound_s in (0.000_05, 0.000_1, 0.000_25, *DURATION_BUCKETS_S))

# Site number, kind, outcome, would, reason. Site 0 stands for all that found no place.
SeriesKey = tuple[int, str, str, str, str]


class DecisionCounts:
    """The counts of one process since its start."""

    def __init__(self) -> None:
        self.totals: dict[SeriesKey, int] = {}
        # By kind: one number more than there are bounds, and the sum of all.
        self.buckets: dict[str, list[int]] = {}
        self.sums_us: dict[str, int] = {}

    def add(self, batch: Sequence[Recorded]) -> None:
        """Count the decisions of a batch."""
        patterns: dict[Pattern, list[int]] = {}
        for recorded in batch:
            if isinstance(recorded, Repeated):
                durations = patterns.get(recorded.pattern)
                if durations is None:
                    patterns[recorded.pattern] = [recorded.duration_us]
                else:
                    durations.append(recorded.duration_us)
            else:
                self._add(recorded, (recorded.duration_us,))
        for pattern, durations in patterns.items():
            self._add(pattern.event, durations)

    def _add(self, event: Event, durations: Sequence[int]) -> None:
        kind = event.kind.value
        reason = event.reasons[0] if event.reasons else ""
        key = (event.site, kind, event.outcome.value, event.would.value if event.would else "", reason)
        if key not in self.totals and len(self.totals) >= MOST_SERIES:
            key = (0, *key[1:])
        self.totals[key] = self.totals.get(key, 0) + len(durations)
        buckets = self.buckets.setdefault(kind, [0] * (len(_BOUNDS_US) + 1))
        for duration_us in durations:
            buckets[bisect_left(_BOUNDS_US, duration_us)] += 1
        self.sums_us[kind] = self.sums_us.get(kind, 0) + sum(durations)


class DecisionMetrics(Collector):
    """Shows the counts, with the sites' keys."""

    def __init__(self, counts: DecisionCounts, key_of: Callable[[int], str | None]) -> None:
        self._counts = counts
        self._key_of = key_of

    def collect(self) -> Iterable[Metric]:
        names = ["site", "kind", "outcome", "would", "reason"]
        decisions = CounterMetricFamily("agentgate_decisions", "Decisions", labels=names)
        for (site, *rest), count in sorted(self._counts.totals.items()):
            key = (self._key_of(site) or "gone") if site else "other"
            decisions.add_metric([key, *rest], count)
        yield decisions
        durations = HistogramMetricFamily("agentgate_decision_duration_seconds", "Time to decide", labels=["kind"])
        bounds = [*(str(bound_us / 1e6) for bound_us in _BOUNDS_US), "+Inf"]
        for kind, buckets in self._counts.buckets.items():
            sum_s = self._counts.sums_us[kind] / 1e6
            durations.add_metric([kind], list(zip(bounds, accumulate(buckets), strict=True)), sum_s)
        yield durations
