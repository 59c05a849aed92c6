"""Drift: whether a model's scores of the last hour are spread as in the days before, by site.

The measure is the population stability index over ten equal bins: the sum of (now - before) * ln(now / before).
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log

from agentgate.events.decision_ids import LARGEST_ID, first_id, id_day
from agentgate.events.queries.replays import ScorePoint, ScoreSamples
from agentgate.lib.clock import DAY_MS, HOUR_MS, MINUTE_MS, Clock
from agentgate.lib.enums import ModelKind
from agentgate.lib.moment import Moment
from agentgate.lib.records import Record
from agentgate.lib.tasks.job import Job

BINS = 10
# Usual reading of the index: below 0.1 stable, above 0.2 changed.
DRIFTED = 0.2
# With fewer requests than this in either part, the index is noise.
LEAST_SAMPLES = 200
DAYS = 7
# Requests that are read of a day, and of the last hour.
MOST_READ = 20_000
MEASURED_EVERY_MS = 10 * MINUTE_MS
# A measurement that is older is not shown: another process has become the one that measures.
SHOWN_MS = 3 * MEASURED_EVERY_MS
# Sites with an index in the metrics: the highest ones.
MOST_SITES = 100
_SMOOTHING = 0.5

# Requests by tenth of the score, for each kind of model, site number and version of the model.
Histograms = Mapping[tuple[ModelKind, int, str], Counter[int]]


class DayScores(Record, frozen=True, kw_only=True):
    """Scores of a day in ten bins from 0 to 1. The last day is today until an hour ago."""

    start: Moment
    bins: list[int]


class SiteDrift(Record, frozen=True, kw_only=True):
    """Scores of a site: ten bins from 0 to 1, before and in the last hour. `index` is null with too few requests."""

    site_key: str
    before: list[int]
    now: list[int]
    index: float | None
    drifted: bool
    days: list[DayScores]


class ModelDrift(Record, frozen=True, kw_only=True):
    """Drift of a model by site, the highest index first."""

    kind: ModelKind
    sites: list[SiteDrift]


class DriftWatch:
    """Measures drift. Of ended days it keeps the histograms, so that they are read once."""

    def __init__(self, samples: ScoreSamples, clock: Clock, key_of: Callable[[int], str | None]) -> None:
        self._samples = samples
        self._clock = clock
        self._key_of = key_of
        self._ended: dict[int, Histograms] = {}
        self._lock = asyncio.Lock()
        self._measured_ms = 0
        self._indexes: dict[tuple[str, ...], float] = {}
        self._bands: dict[tuple[str, ...], float] = {}

    def jobs(self) -> tuple[Job, ...]:
        return (Job(name="measure-drift", interval_ms=MEASURED_EVERY_MS, work=self.measure, guarded=False),)

    async def drift(self, kind: ModelKind) -> ModelDrift:
        days, hour = await self._read()
        return ModelDrift(kind=kind, sites=self._sites(kind, days, hour))

    async def measure(self) -> None:
        """Measure all kinds for the metrics."""
        days, hour = await self._read()
        found = {kind: self._sites(kind, days, hour) for kind in ModelKind}
        indexes: list[tuple[tuple[str, ...], float]] = [
            ((kind.value, site.site_key), site.index)
            for kind, sites in found.items()
            for site in sites[:MOST_SITES]
            if site.index is not None
        ]
        bands: Counter[tuple[str, ...]] = Counter()
        for (kind, _, _), bins in hour.items():
            for place, count in bins.items():
                bands[kind.value, f"{place / BINS:.1f}"] += count
        self._indexes, self._bands, self._measured_ms = dict(indexes), dict(bands), self._clock.now_ms()

    def indexes(self) -> Mapping[tuple[str, ...], float]:
        """Return the index by kind and site, as last measured by this process."""
        return self._indexes if self._is_current() else {}

    def bands(self) -> Mapping[tuple[str, ...], float]:
        """Return how many requests of the last hour have which score, by kind and lower bound of the bin."""
        return self._bands if self._is_current() else {}

    def _is_current(self) -> bool:
        return 0 <= self._clock.now_ms() - self._measured_ms <= SHOWN_MS

    async def _read(self) -> tuple[dict[int, Histograms], Histograms]:
        now_ms = self._clock.now_ms()
        hour_ago = first_id(now_ms - HOUR_MS)
        last = id_day(hour_ago)
        stored = await self._samples.days()
        async with self._lock:
            self._ended = {day: each for day, each in self._ended.items() if last - DAYS <= day < last}
            for day in stored:
                if last - DAYS <= day < last and day not in self._ended:
                    self._ended[day] = await self._histograms(range(_start(day), _start(day + 1)))
            days = dict(sorted(self._ended.items()))
        if last in stored:
            days[last] = await self._histograms(range(_start(last), hour_ago))
        hour: dict[tuple[ModelKind, int, str], Counter[int]] = {}
        for start, stop in ((hour_ago, _start(last + 1)), (_start(last + 1), LARGEST_ID)):
            if id_day(start) in stored:
                for key, bins in (await self._histograms(range(start, stop))).items():
                    hour.setdefault(key, Counter()).update(bins)
        return days, hour

    async def _histograms(self, ids: range) -> Histograms:
        found = await self._samples.spread(ids, MOST_READ) if ids else []
        return await asyncio.to_thread(histograms, found)

    def _sites(self, kind: ModelKind, days: Mapping[int, Histograms], hour: Histograms) -> list[SiteDrift]:
        # Just after a promotion, the last hour has two versions: the one with more requests is compared.
        by_requests = sorted((key for key in hour if key[0] == kind), key=lambda key: hour[key].total())
        newest = {site: version for _, site, version in by_requests}
        found = []
        for site, version in newest.items():
            site_key = self._key_of(site)
            if site_key is None:
                continue
            key = (kind, site, version)
            by_day = [(day, _bins(each.get(key))) for day, each in days.items()]
            before = [sum(bins[place] for _, bins in by_day) for place in range(BINS)]
            now = _bins(hour[key])
            index = stability_index(before, now)
            found.append(
                SiteDrift(
                    site_key=site_key,
                    before=before,
                    now=now,
                    index=index,
                    drifted=index is not None and index >= DRIFTED,
                    days=[DayScores(start=Moment(day * DAY_MS), bins=bins) for day, bins in by_day if any(bins)],
                )
            )
        return sorted(found, key=lambda each: (-(each.index or 0.0), each.site_key))


def stability_index(before: Sequence[int], now: Sequence[int]) -> float | None:
    """Return the population stability index of two histograms; None with too few requests."""
    totals = sum(before), sum(now)
    if min(totals) < LEAST_SAMPLES:
        return None
    index = 0.0
    for counts in zip(before, now, strict=True):
        # An empty bin would be infinitely far away.
        earlier, later = (
            (count + _SMOOTHING) / (total + BINS * _SMOOTHING) for count, total in zip(counts, totals, strict=True)
        )
        index += (later - earlier) * log(later / earlier)
    return round(index, 4)


def histograms(points: Iterable[ScorePoint]) -> Histograms:
    """Count scores by tenths. Scores without a version are of no model."""
    found: dict[tuple[ModelKind, int, str], Counter[int]] = {}
    for point in points:
        for kind in ModelKind:
            score, version = point.scores.get(kind.value), point.versions.get(kind.value)
            if score is not None and version is not None:
                bins = found.setdefault((kind, point.site, version), Counter())
                bins[min(int(score * BINS), BINS - 1)] += 1
    return found


def _bins(counts: Counter[int] | None) -> list[int]:
    return [0 if counts is None else counts[place] for place in range(BINS)]


def _start(day: int) -> int:
    return first_id(day * DAY_MS)
