"""Metrics of this process for Prometheus, in a separate registry.

Each worker counts for itself; a scrape returns the metrics of all workers of the machine (`merging.py`). Traffic
statistics for customers are not here: they come from the recorded events.
"""

import asyncio
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterable, Mapping
from itertools import accumulate

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from agentgate.lib.telemetry import series
from agentgate.lib.telemetry.merging import WorkerMetrics, exposition_of, read_metrics
from agentgate.lib.telemetry.series import DURATION_BUCKETS_S, Series, SeriesKind

# The metrics of all running workers, and the merged metrics of ended ones.
Gathered = tuple[list[WorkerMetrics], WorkerMetrics | None]


class MetricRegistry(Collector):
    """The counts of one process, in plain numbers that become families when they are read.

    Routes are templates (`/v1/admin/sites/{siteKey}`), never paths: paths are endless.
    """

    def __init__(self, *, version: str, worker: str) -> None:
        self._version = version
        self._worker = worker
        self._registry = CollectorRegistry()
        self._answered = _Answered()
        self._in_flight = 0
        self._watched: dict[Series, list[Callable[[], Mapping[tuple[str, ...], float]]]] = {}
        self._event_write_failures = 0
        self._webhooks: dict[tuple[str, ...], int] = {}
        self._job_runs: dict[tuple[str, ...], int] = {}
        self._job_seconds: dict[str, float] = {}
        self._job_done_s: dict[str, float] = {}
        self._stores: dict[str, Durations] = {}
        self._registry.register(self._answered)
        self._store_up: dict[tuple[str, ...], int] = {}
        self._registry.register(self)
        ProcessCollector(registry=self._registry)
        # The function that collects the metrics of all workers, if there are several.
        self.gather: Callable[[], Awaitable[Gathered]] | None = None

    def request_started(self) -> None:
        """Count a request that has begun; `request_finished` must follow."""
        self._in_flight += 1

    def request_finished(self, surface: str, route: str, *, status: int, duration_s: float) -> None:
        self._in_flight -= 1
        self._answered.count((surface, route, status), duration_s)

    def counting(self, surface: str, route: str, *, status: int) -> Callable[[float], None]:
        """Return a counter of such responses, called with the duration in seconds: for a very frequent route."""
        return self._answered.series((surface, route, status)).count

    def summary(self, surface: str) -> tuple[int, int, float | None]:
        """Return the requests of a surface, the number with 5xx, and the 95th percentile in seconds.

        The percentile is the upper bound of its bucket; None without requests, or beyond the last bound.
        """
        return self._answered.summary(surface)

    def watch(self, described: Series, read: Callable[[], Mapping[tuple[str, ...], float]]) -> None:
        """Show a metric that is counted elsewhere: each scrape calls `read`, which returns values by label values."""
        self._watched.setdefault(described, []).append(read)

    def event_write_failed(self, count: int = 1) -> None:
        """Count decision events that were dropped or not committed."""
        self._event_write_failures += count

    def webhook_attempted(self, kind: str, *, delivered: bool) -> None:
        _add(self._webhooks, (kind, "delivered" if delivered else "failed"))

    def job_ran(self, job: str, *, done: bool, duration_s: float, now_s: float) -> None:
        _add(self._job_runs, (job, "done" if done else "failed"))
        self._job_seconds[job] = self._job_seconds.get(job, 0.0) + duration_s
        if done:
            self._job_done_s[job] = now_s

    def timing(self, store: str) -> Callable[[float], None]:
        """Return what counts how long a store took for a unit of work, in seconds."""
        return self._stores.setdefault(store, Durations()).count

    def show(self, collector: Collector) -> None:
        """Show a counter that is counted elsewhere."""
        self._registry.register(collector)

    def store_answers(self, store: str, *, up: bool) -> None:
        """Record whether a store (`config`, `stats`) responded to the last call."""
        self._store_up[(store,)] = int(up)

    def own_metrics(self) -> WorkerMetrics:
        return read_metrics(self._worker, self._registry)

    def exposition(self) -> tuple[bytes, str]:
        """Return the body of `/metrics` and its content type, for this worker alone."""
        return exposition_of([self.own_metrics()]), CONTENT_TYPE_PLAIN_0_0_4

    async def exposition_of_all(self) -> tuple[bytes, str]:
        """Return the same for all workers of this machine."""
        gathered: Gathered = ([self.own_metrics()], None) if self.gather is None else await self.gather()
        # Thousands of series take longer to write than the event loop may be held.
        return await asyncio.to_thread(exposition_of, *gathered), CONTENT_TYPE_PLAIN_0_0_4

    def collect(self) -> Iterable[Metric]:
        yield _family(series.BUILD, {(self._version,): 1})
        yield _family(series.STORE_UP, self._store_up)
        yield _family(series.IN_FLIGHT, {(): self._in_flight})
        yield _family(series.EVENT_FAILURES, {(): self._event_write_failures})
        yield _family(series.WEBHOOKS, self._webhooks)
        yield _family(series.JOB_RUNS, self._job_runs)
        yield _family(series.JOB_SECONDS, {(job,): seconds for job, seconds in self._job_seconds.items()})
        yield _family(series.JOB_DONE, {(job,): done_s for job, done_s in self._job_done_s.items()})
        for described, readers in self._watched.items():
            yield _family(described, {labels: count for read in readers for labels, count in read().items()})
        yield histogram_of(series.STORE_SECONDS, {(store,): each for store, each in self._stores.items()})


class Durations:
    """How often something was done, and how long that took."""

    __slots__ = ("buckets", "sum_s")

    def __init__(self) -> None:
        # One more than there are bounds, for what took longer than the last of them.
        self.buckets = [0] * (len(DURATION_BUCKETS_S) + 1)
        self.sum_s = 0.0

    def count(self, duration_s: float) -> None:
        self.buckets[bisect_left(DURATION_BUCKETS_S, duration_s)] += 1
        self.sum_s += duration_s


def histogram_of(described: Series, durations: Mapping[tuple[str, ...], Durations]) -> Metric:
    """Return durations as a family, by the values of its labels. What never happened is not shown."""
    family = described.histogram()
    bounds = [*map(str, DURATION_BUCKETS_S), "+Inf"]
    for values, each in durations.items():
        if any(each.buckets):
            counts = list(zip(bounds, accumulate(each.buckets), strict=True))
            family.add_metric(list(values), counts, each.sum_s)
    return family


class _Answered(Collector):
    """Counts responses in plain numbers. The library's own counters take a lock for each; this is one loop."""

    def __init__(self) -> None:
        # By surface, route and status. There are as many as routes and statuses.
        self._series: dict[tuple[str, str, int], Durations] = {}

    def count(self, key: tuple[str, str, int], duration_s: float) -> None:
        self.series(key).count(duration_s)

    def series(self, key: tuple[str, str, int]) -> Durations:
        """Return the counter of such responses. It is shown from the first of them on."""
        found = self._series.get(key)
        if found is None:
            found = self._series[key] = Durations()
        return found

    def summary(self, surface: str) -> tuple[int, int, float | None]:
        """Return the responses of a surface, the number of 5xx, and the bound of the 95th percentile."""
        buckets = [0] * (len(DURATION_BUCKETS_S) + 1)
        errors = 0
        for (name, _, status), each in self._series.items():
            if name == surface:
                buckets = [one + other for one, other in zip(buckets, each.buckets, strict=True)]
                errors += sum(each.buckets) if status >= 500 else 0
        total = sum(buckets)
        within = zip(DURATION_BUCKETS_S, accumulate(buckets), strict=False)
        return total, errors, next((bound for bound, count in within if total and count >= 0.95 * total), None)

    def collect(self) -> Iterable[Metric]:
        requests = series.HTTP_REQUESTS.counter()
        together: dict[tuple[str, ...], Durations] = {}
        for (surface, route, status), each in sorted(self._series.items()):
            if not any(each.buckets):
                continue
            requests.add_metric([surface, route, str(status)], sum(each.buckets))
            both = together.setdefault((surface, route), Durations())
            both.buckets = [one + other for one, other in zip(both.buckets, each.buckets, strict=True)]
            both.sum_s += each.sum_s
        yield requests
        yield histogram_of(series.HTTP_SECONDS, together)


def _family(described: Series, measured: Mapping[tuple[str, ...], float]) -> Metric:
    family = described.gauge() if described.kind is SeriesKind.GAUGE else described.counter()
    for values, value in measured.items():
        family.add_metric(list(values), value)
    return family


def _add(counts: dict[tuple[str, ...], int], key: tuple[str, ...]) -> None:
    counts[key] = counts.get(key, 0) + 1
