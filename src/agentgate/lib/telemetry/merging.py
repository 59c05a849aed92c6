"""The metrics of several workers as one response to a scrape. `series.py` defines how each series is merged.

Counters of a worker that has ended still count: without them a sum would fall, and Prometheus treats a counter that
falls as reset.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from agentgate.lib.telemetry.series import BY_NAME, WORKERS, Merge, SeriesKind

# Labels in sorted order, so that the same ones are the same key.
LabelPairs = tuple[tuple[str, str], ...]


class MergedSample(Struct, frozen=True, array_like=True):
    family: str
    name: str
    labels: LabelPairs
    value: float


class WorkerMetrics(Struct, frozen=True, kw_only=True):
    """All metrics of one worker, or the merged metrics of ended workers."""

    worker: str
    samples: list[MergedSample]


def read_metrics(worker: str, registry: CollectorRegistry) -> WorkerMetrics:
    """Return what a registry shows now."""
    samples = [
        MergedSample(family.name, sample.name, tuple(sorted(sample.labels.items())), sample.value)
        for family in registry.collect()
        for sample in family.samples
        # The library adds an unused series with the creation time for each counter.
        if not sample.name.endswith("_created")
    ]
    return WorkerMetrics(worker=worker, samples=samples)


def add_up_ended(ended: Sequence[WorkerMetrics]) -> WorkerMetrics:
    """Return what stays of workers that have ended: counters and histograms, and of gauges nothing."""
    sums: dict[tuple[str, str, LabelPairs], float] = {}
    for metrics in ended:
        for sample in metrics.samples:
            series = BY_NAME.get(sample.family)
            if series is not None and series.kind is not SeriesKind.GAUGE and series.merge is Merge.SUM:
                key = (sample.family, sample.name, sample.labels)
                sums[key] = sums.get(key, 0.0) + sample.value
    return WorkerMetrics(worker="", samples=[MergedSample(*key, value) for key, value in sums.items()])


def exposition_of(living: Sequence[WorkerMetrics], ended: WorkerMetrics | None = None) -> bytes:
    """Return the body of `/metrics` for these workers."""
    registry = CollectorRegistry()
    registry.register(_Merged(living, ended))
    return generate_latest(registry)


class _Merged(Collector):
    """One family for each series, in the order of the list."""

    def __init__(self, living: Sequence[WorkerMetrics], ended: WorkerMetrics | None) -> None:
        self._living = living
        self._ended = ended

    def collect(self) -> Iterable[Metric]:
        found: dict[str, dict[tuple[str, LabelPairs], float]] = {name: {} for name in BY_NAME}
        for metrics in (*self._living, *(() if self._ended is None else (self._ended,))):
            for sample in metrics.samples:
                series, labels = BY_NAME.get(sample.family), sample.labels
                if series is None:
                    continue
                if series.merge is Merge.EACH:
                    labels = (*labels, ("worker", metrics.worker))
                values, key = found[sample.family], (sample.name, labels)
                values[key] = _merged(series.merge, values.get(key), sample.value)
        found[WORKERS.name] = {(WORKERS.name, ()): float(len(self._living))}
        for name, values in found.items():
            if not values:
                continue
            family = Metric(name, BY_NAME[name].meaning, BY_NAME[name].kind.value)
            for (sample_name, labels), value in values.items():
                family.add_sample(sample_name, dict(labels), value)
            yield family


def _merged(merge: Merge, known: float | None, value: float) -> float:
    if known is None:
        return value
    if merge is Merge.LEAST:
        return min(known, value)
    if merge is Merge.GREATEST:
        return max(known, value)
    return known + value
