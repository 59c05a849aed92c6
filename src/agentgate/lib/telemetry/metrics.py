"""Metrics of this process for Prometheus, in a registry of its own.

Each worker has its own counts and shows them with its `worker` label. Figures about traffic that customers see are not
here: those come from the recorded events.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate

from prometheus_client import CollectorRegistry, Counter, Gauge, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

# From half a millisecond, because a gateway check takes less than one, to the longest deadline of a request.
DURATION_BUCKETS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """The counts of one process. Routes are templates (`/v1/admin/sites/{siteKey}`), never paths: paths are endless."""

    def __init__(self, *, version: str, worker: str) -> None:
        self._registry = CollectorRegistry()
        self._shown = CollectorRegistry()
        self._shown.register(_Labelled(self._registry, worker))
        self._answered = _Answered()
        self._registry.register(self._answered)
        self._in_flight = Gauge("agentgate_http_in_flight", "Requests being answered", registry=self._registry)
        self._put_off = Gauge(
            "agentgate_http_put_off", "Requests there is no time for", ["listener"], registry=self._registry
        )
        self._refusals = _Refusals()
        self._registry.register(self._refusals)
        self._event_write_failures = Counter(
            "agentgate_event_write_failures", "Decision events that were not written", registry=self._registry
        )
        self._webhook_deliveries = Counter(
            "agentgate_webhook_deliveries",
            "Attempts to deliver to a webhook, by what was delivered and whether it arrived",
            ["type", "result"],
            registry=self._registry,
        )
        self._events = _Events()
        self._registry.register(self._events)
        self._store_up = Gauge(
            "agentgate_store_up", "1 while the store answers, 0 while it does not", ["store"], registry=self._registry
        )
        build = Gauge("agentgate_build_info", "Always 1, with the version", ["version"], registry=self._registry)
        build.labels(version).set(1)
        ProcessCollector(registry=self._registry)

    def request_started(self) -> None:
        """Count a request as being answered; `request_finished` must follow."""
        self._in_flight.inc()

    def request_finished(self, surface: str, route: str, *, status: int, duration_s: float) -> None:
        """Count a request as answered."""
        self._in_flight.dec()
        self._answered.count((surface, route, status), duration_s)

    def request_answered(self, surface: str, route: str, *, status: int, duration_s: float) -> None:
        """Count a request that was answered on the hot path, where none is in flight for long."""
        self._answered.count((surface, route, status), duration_s)

    def counting(self, surface: str, route: str, *, status: int) -> Callable[[float], None]:
        """Return what counts such answers, each with its duration in seconds: for a route that is asked very often."""
        return self._answered.series((surface, route, status)).count

    def summary(self, surface: str) -> tuple[int, int, float | None]:
        """Return of a surface how many requests were answered, how many with 5xx, and the 95th percentile in seconds.

        The percentile is the upper bound of its bucket; None without requests, or beyond the last bound.
        """
        return self._answered.summary(surface)

    def watch_refusals(self, listener: str, read: Callable[[], Mapping[str, int]]) -> None:
        """Show what a listener refuses before routing, by reason. It counts by itself and is asked when read."""
        self._refusals.sources[listener] = read

    def watch_put_off(self, listener: str, read: Callable[[], int]) -> None:
        """Show how many requests of a listener wait until there is time for them."""
        self._put_off.labels(listener).set_function(read)

    def event_write_failed(self, count: int = 1) -> None:
        """Count decision events that were dropped or not committed."""
        self._event_write_failures.inc(count)

    def webhook_attempted(self, kind: str, *, delivered: bool) -> None:
        """Count an attempt to deliver to a webhook."""
        self._webhook_deliveries.labels(kind, "delivered" if delivered else "failed").inc()

    def watch_events(self, read: Callable[[], Mapping[str, int]]) -> None:
        """Show the ledger of decision events: how many were `sent` and `stored`, and how many are `waiting`."""
        self._events.source = read

    def show(self, collector: Collector) -> None:
        """Show what somebody else has counted."""
        self._registry.register(collector)

    def store_answers(self, store: str, *, up: bool) -> None:
        """Note whether a store (`config`, `stats`) answered when it was last asked."""
        self._store_up.labels(store).set(1 if up else 0)

    def exposition(self) -> tuple[bytes, str]:
        """Return the body of `/metrics` and its content type."""
        return generate_latest(self._shown), CONTENT_TYPE_PLAIN_0_0_4


class _Series:
    """How often a route was answered with a status, and how long that took."""

    __slots__ = ("buckets", "sum_s")

    def __init__(self) -> None:
        # One more than there are bounds, for what took longer than the last of them.
        self.buckets = [0] * (len(DURATION_BUCKETS_S) + 1)
        self.sum_s = 0.0

    def count(self, duration_s: float) -> None:
        """Count an answer."""
        self.buckets[bisect_left(DURATION_BUCKETS_S, duration_s)] += 1
        self.sum_s += duration_s


class _Answered(Collector):
    """Counts answers in plain numbers. The library's own counters take a lock for each, and all of this is one loop."""

    def __init__(self) -> None:
        # By surface, route and status. There are as many as routes and statuses.
        self._series: dict[tuple[str, str, int], _Series] = {}

    def count(self, key: tuple[str, str, int], duration_s: float) -> None:
        """Count an answer."""
        self.series(key).count(duration_s)

    def series(self, key: tuple[str, str, int]) -> _Series:
        """Return where such answers are counted. It is shown from the first of them on."""
        series = self._series.get(key)
        if series is None:
            series = self._series[key] = _Series()
        return series

    def summary(self, surface: str) -> tuple[int, int, float | None]:
        """Return how many answers a surface gave, how many of them were 5xx, and the 95th percentile's bound."""
        buckets = [0] * (len(DURATION_BUCKETS_S) + 1)
        errors = 0
        for (name, _, status), series in self._series.items():
            if name == surface:
                buckets = [one + other for one, other in zip(buckets, series.buckets, strict=True)]
                errors += sum(series.buckets) if status >= 500 else 0
        total = sum(buckets)
        within = zip(DURATION_BUCKETS_S, accumulate(buckets), strict=False)
        return total, errors, next((bound for bound, count in within if total and count >= 0.95 * total), None)

    def collect(self) -> Iterable[Metric]:
        requests = CounterMetricFamily(
            "agentgate_http_requests", "Requests answered", labels=["surface", "route", "status"]
        )
        durations = HistogramMetricFamily(
            "agentgate_http_request_duration_seconds",
            "Time from the request line to the end of the answer",
            labels=["surface", "route"],
        )
        together: dict[tuple[str, str], _Series] = {}
        for (surface, route, status), series in sorted(self._series.items()):
            if not any(series.buckets):
                continue
            requests.add_metric([surface, route, str(status)], sum(series.buckets))
            both = together.setdefault((surface, route), _Series())
            both.buckets = [one + other for one, other in zip(both.buckets, series.buckets, strict=True)]
            both.sum_s += series.sum_s
        bounds = [*map(str, DURATION_BUCKETS_S), "+Inf"]
        for names, series in together.items():
            durations.add_metric(list(names), list(zip(bounds, accumulate(series.buckets), strict=True)), series.sum_s)
        yield requests
        yield durations


class _Refusals(Collector):
    """Asks each listener for its own counts, so that refusing a request costs nothing more here."""

    def __init__(self) -> None:
        self.sources: dict[str, Callable[[], Mapping[str, int]]] = {}

    def collect(self) -> Iterable[Metric]:
        family = CounterMetricFamily(
            "agentgate_requests_refused", "Requests refused before routing", labels=["listener", "reason"]
        )
        for listener, read in self.sources.items():
            for reason, count in read().items():
                family.add_metric([listener, reason], count)
        yield family


class _Events(Collector):
    """Asks the recorder, which keeps its own ledger. What failed is `agentgate_event_write_failures`."""

    def __init__(self) -> None:
        self.source: Callable[[], Mapping[str, int]] | None = None

    def collect(self) -> Iterable[Metric]:
        if self.source is None:
            return
        ledger = self.source()
        yield CounterMetricFamily("agentgate_events_sent", "Decision events made", value=ledger["sent"])
        yield CounterMetricFamily("agentgate_events_stored", "Decision events committed", value=ledger["stored"])
        yield GaugeMetricFamily("agentgate_events_waiting", "Decision events to be written", value=ledger["waiting"])


class _Labelled(Collector):
    """Adds the worker to every sample when it is read, so that counting a request need not carry it."""

    def __init__(self, registry: CollectorRegistry, worker: str) -> None:
        self._registry = registry
        self._worker = worker

    def collect(self) -> Iterable[Metric]:
        for family in self._registry.collect():
            shown = Metric(family.name, family.documentation, family.type)
            for sample in family.samples:
                # The library adds a creation time beside each counter: as many series again, which nobody reads.
                if not sample.name.endswith("_created"):
                    shown.add_sample(sample.name, {**sample.labels, "worker": self._worker}, sample.value)
            yield shown
