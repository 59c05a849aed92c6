"""Decisions for the metrics: how many by site, outcome and reason, and how long they took.

Counted when a batch of events is taken to be written, so that a check does not pay for it. Events for which there was
no room are missing here; `agentgate_event_write_failures_total` has them.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import accumulate

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from agentgate.events.records import Count, CounterName, Recorded, Series
from agentgate.lib.telemetry import series
from agentgate.lib.telemetry.series import DURATION_BUCKETS_S

# Further sites and reasons are counted together: each combination is a series that Prometheus has to store.
MOST_SERIES = 2_000
MOST_AGENTS = 500
# Codes of errors; they come from a table.
MOST_CALLS = 100

_BOUNDS_US = tuple(round(bound_s * 1e6) for bound_s in (0.000_05, 0.000_1, 0.000_25, *DURATION_BUCKETS_S))
_bucket = partial(bisect_left, _BOUNDS_US)

_TOKENS = {CounterName.TOKENS_ISSUED: "issued", CounterName.TOKENS_REDEEMED: "redeemed"}
_SITEVERIFY = {CounterName.SITEVERIFY_SUCCESS: "success", CounterName.SITEVERIFY_FAILURE: "failure"}

# Site number, kind, outcome, would, reason. Site 0 combines the sites beyond MOST_SERIES.
SeriesKey = tuple[int, str, str, str, str]


class DecisionCounts:
    """The counts of one process since its start."""

    def __init__(self) -> None:
        self.totals: dict[SeriesKey, int] = {}
        # By agent and outcome.
        self.agents: dict[tuple[str, str], int] = {}
        # Counters without events: tokens issued and redeemed, calls of siteverify by result.
        self.tokens: dict[str, int] = {}
        self.siteverify: dict[str, int] = {}
        # By kind: one number more than there are bounds, and the sum of all.
        self.buckets: dict[str, list[int]] = {}
        self.sums_us: dict[str, int] = {}

    def add(self, batch: Sequence[Recorded]) -> None:
        found: defaultdict[Series, list[int]] = defaultdict(list)
        for event in batch:
            found[event.series].append(event.duration_us)
        for key, durations in found.items():
            self._add(key, len(durations))
            self._add_durations(key[1], durations)

    def add_counts(self, counts: Sequence[Count]) -> None:
        """Add the counters of tokens and siteverify calls, which leave no event."""
        for count in counts:
            if count.name in _TOKENS:
                what = _TOKENS[count.name]
                self.tokens[what] = self.tokens.get(what, 0) + count.counted
            elif count.name in _SITEVERIFY:
                result = count.value or _SITEVERIFY[count.name]
                if result not in self.siteverify and len(self.siteverify) >= MOST_CALLS:
                    result = "other"
                self.siteverify[result] = self.siteverify.get(result, 0) + count.counted

    def _add(self, counted_by: Series, events: int) -> None:
        site, kind, outcome, would, reason, agent = counted_by
        key = (site, kind, outcome, would, reason)
        if key not in self.totals and len(self.totals) >= MOST_SERIES:
            key = (0, kind, outcome, would, reason)
        self.totals[key] = self.totals.get(key, 0) + events
        if agent is not None:
            if (agent, outcome) not in self.agents and len(self.agents) >= MOST_AGENTS:
                agent = "other"
            self.agents[agent, outcome] = self.agents.get((agent, outcome), 0) + events

    def _add_durations(self, kind: str, durations: Sequence[int]) -> None:
        buckets = self.buckets.setdefault(kind, [0] * (len(_BOUNDS_US) + 1))
        for bucket, events in Counter(map(_bucket, durations)).items():
            buckets[bucket] += events
        self.sums_us[kind] = self.sums_us.get(kind, 0) + sum(durations)


class DecisionMetrics(Collector):
    """Shows the counts, with the sites' keys."""

    def __init__(self, counts: DecisionCounts, key_of: Callable[[int], str | None]) -> None:
        self._counts = counts
        self._key_of = key_of

    def collect(self) -> Iterable[Metric]:
        decisions = series.DECISIONS.counter()
        for (site, *rest), count in sorted(self._counts.totals.items()):
            key = (self._key_of(site) or "gone") if site else "other"
            decisions.add_metric([key, *rest], count)
        yield decisions
        durations = series.DECISION_SECONDS.histogram()
        bounds = [*(str(bound_us / 1e6) for bound_us in _BOUNDS_US), "+Inf"]
        for kind, buckets in self._counts.buckets.items():
            sum_s = self._counts.sums_us[kind] / 1e6
            durations.add_metric([kind], list(zip(bounds, accumulate(buckets), strict=True)), sum_s)
        yield durations
        agents = series.AGENT_DECISIONS.counter()
        for named, count in sorted(self._counts.agents.items()):
            agents.add_metric(list(named), count)
        yield agents
        for described, counted in ((series.TOKENS, self._counts.tokens), (series.SITEVERIFY, self._counts.siteverify)):
            family = described.counter()
            for value, count in sorted(counted.items()):
                family.add_metric([value], count)
            yield family
