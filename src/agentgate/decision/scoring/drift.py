"""Drift: whether a model's scores of the last hour are spread like those before, by site.

The measure is the population stability index over ten equal bins: the sum of (now - before) * ln(now / before).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from math import log

from agentgate.events.queries.replays import ScoreSample
from agentgate.lib.enums import ModelKind
from agentgate.lib.records import Record

BINS = 10
# Usual reading of the index: below 0.1 stable, above 0.2 changed.
DRIFTED = 0.2
# With fewer requests than this in either part, the index is noise.
LEAST_SAMPLES = 200
_SMOOTHING = 0.5


class SiteDrift(Record, frozen=True, kw_only=True):
    """Scores of a site: ten bins from 0 to 1, before and in the last hour. `index` is null with too few requests."""

    site_key: str
    before: list[int]
    now: list[int]
    index: float | None
    drifted: bool


class ModelDrift(Record, frozen=True, kw_only=True):
    """Drift of a model by site, the highest index first."""

    kind: ModelKind
    sites: list[SiteDrift]


def drift_of(
    before: Sequence[ScoreSample], now: Sequence[ScoreSample], kind: ModelKind, keys: dict[int, str]
) -> list[SiteDrift]:
    """Return the drift of each site that still exists and has requests in the last hour."""
    histograms = _histograms(before, kind), _histograms(now, kind)
    found = []
    for site in histograms[1]:
        if site not in keys:
            continue
        earlier, later = ([counts.get(site, Counter())[at] for at in range(BINS)] for counts in histograms)
        index = stability_index(earlier, later)
        found.append(
            SiteDrift(
                site_key=keys[site],
                before=earlier,
                now=later,
                index=index,
                drifted=index is not None and index >= DRIFTED,
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


def _histograms(samples: Iterable[ScoreSample], kind: ModelKind) -> dict[int, Counter[int]]:
    found: dict[int, Counter[int]] = {}
    for sample in samples:
        score = sample.scores.get(kind.value)
        if score is not None:
            found.setdefault(sample.site, Counter())[min(int(score * BINS), BINS - 1)] += 1
    return found
