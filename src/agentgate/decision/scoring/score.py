"""From an observation to scores: pure, synchronous, a few microseconds."""

import base64
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from math import exp, floor
from operator import getitem, itemgetter
from typing import Any, Protocol

from msgspec import Struct, UnsetType

from agentgate.decision.scoring.model_file import Isotonic, ModelFile, Platt, TextWeights
from agentgate.decision.scoring.text_pieces import pieces_of
from agentgate.decision.scoring.tree_function import compile_trees, inputs_of
from agentgate.decision.signals.facts import Observation
from agentgate.decision.signals.numbers import NUMBERS, OF_CONTENT
from agentgate.lib.enums import ModelKind

# Beyond this the score is 0 or 1 to all its decimals, and `exp` would soon overflow.
_CERTAIN = 40.0
# Cached results; a full cache is cleared, which is simpler than an eviction order and as good here.
MOST_CACHED = 20_000

# Ranks of numeric features among thresholds, and exact values of the other numeric features.
Reading = tuple[tuple[int, ...], tuple[float, ...]]

_look_up: Callable[[dict[int, int], int], int] = getitem


class Scores(Struct, frozen=True, gc=False):
    """Score by kind of model, to four decimals, and the versions; the same of candidates, which decide nothing."""

    values: Mapping[str, float]
    versions: Mapping[str, str]
    shadow_values: Mapping[str, float]
    shadow_versions: Mapping[str, str]


class Scorer(Protocol):
    """A model that can score."""

    @property
    def figures(self) -> Mapping[str, Sequence[float] | None]:
        """The numeric features that it reads, with the thresholds they are compared with; None if each value
        matters."""

    def score(self, labels: Sequence[str], numbers: Mapping[str, float]) -> float:
        """Return the score, 0 to 1, rounded."""


class Calibration:
    """From a margin to a score."""

    def __init__(self, model: ModelFile) -> None:
        found = model.calibration
        self._platt = (found.a, found.b) if isinstance(found, Platt) else None
        self._points = (found.x, found.y) if isinstance(found, Isotonic) else None

    def score(self, margin: float) -> float:
        """Return the calibrated score, rounded."""
        if self._platt is not None:
            margin = self._platt[0] * margin + self._platt[1]
        score = _sigmoid(margin)
        if self._points is not None:
            score = _between(*self._points, score)
        # Ten times as quick as `round`, and the same for everything between 0 and 1.
        return int(score * 10_000 + 0.5) / 10_000


class LogisticScorer:
    """A weighted sum of the features that are present."""

    def __init__(self, model: ModelFile) -> None:
        weights = [] if isinstance(model.weights, UnsetType) else model.weights
        weighted = dict(zip(model.features, weights, strict=True))
        self._bias = model.bias
        self._labels = {name: weight for name, weight in weighted.items() if name not in NUMBERS}
        self._figures = tuple((name, weight) for name, weight in weighted.items() if name in NUMBERS)
        self._calibration = Calibration(model)
        self.figures: Mapping[str, Sequence[float] | None] = dict.fromkeys(name for name, _ in self._figures)

    def score(self, labels: Sequence[str], numbers: Mapping[str, float]) -> float:
        return self._calibration.score(self._margin(labels, numbers))

    def _margin(self, labels: Sequence[str], numbers: Mapping[str, float]) -> float:
        margin = self._bias
        weights = self._labels
        for label in labels:
            if label in weights:
                margin += weights[label]
        for name, weight in self._figures:
            margin += weight * numbers.get(name, 0.0)
        return margin


class TextScorer(LogisticScorer):
    """A weighted sum of features and of pieces of the text. No result is cached: texts differ."""

    def __init__(self, model: ModelFile, text: TextWeights) -> None:
        super().__init__(model)
        self._weights = array("b", base64.b64decode(text.weights))
        self._scale = text.scale

    def score_text(self, labels: Sequence[str], numbers: Mapping[str, float], text: str) -> float:
        pieces = pieces_of(text)
        weight = sum(map(self._weights.__getitem__, pieces)) / (len(pieces) or 1) ** 0.5
        return self._calibration.score(self._margin(labels, numbers) + self._scale * weight)


class TreeScorer:
    """Trees as one function, with its results cached: most requests look like an earlier one."""

    def __init__(self, model: ModelFile) -> None:
        trees = [] if isinstance(model.trees, UnsetType) else model.trees
        inputs = inputs_of(trees, [name in NUMBERS for name in model.features])
        self._margin = compile_trees(trees, inputs)
        self._bias = model.bias
        self._labels = frozenset(model.features[position] for position in inputs.labels)
        self._places = {model.features[position]: place for place, position in enumerate(inputs.labels)}
        self._figures = tuple(model.features[position] for position, _ in inputs.figures)
        self._thresholds = tuple(found for _, found in inputs.figures)
        self.figures: Mapping[str, Sequence[float] | None] = dict(zip(self._figures, self._thresholds, strict=True))
        # Two names at least, or it would not return a tuple; `map` stops at the end of the thresholds.
        names = (*self._figures, *NUMBERS)[: max(len(self._figures), 2)]
        self._values: Callable[[Mapping[str, float]], Sequence[float]] = itemgetter(*names)
        self._absent = [False] * len(inputs.labels)
        self._calibration = Calibration(model)
        self._cached: dict[tuple[frozenset[str], tuple[int, ...]], float] = {}

    def score(self, labels: Sequence[str], numbers: Mapping[str, float]) -> float:
        present = self._labels.intersection(labels)
        try:
            values = self._values(numbers)
        except KeyError:
            # Evidence of a label leaves out zeros.
            values = [numbers.get(name, 0.0) for name in self._figures]
        ranks = tuple(map(bisect_left, self._thresholds, values))
        key = (present, ranks)
        score = self._cached.get(key)
        if score is None:
            score = self._calibration.score(self._bias + self._sum(present, ranks))
            if len(self._cached) >= MOST_CACHED:
                self.clear_cache()
            self._cached[key] = score
        return score

    def clear_cache(self) -> None:
        """Drop every cached result."""
        self._cached.clear()

    def _sum(self, present: frozenset[str], ranks: tuple[int, ...]) -> float:
        flags = self._absent.copy()
        places = self._places
        for label in present:
            flags[places[label]] = True
        return self._margin(*flags, *ranks)


class ModelView:
    """The models of one moment: swapped whole, never changed."""

    def __init__(self, active: Mapping[ModelKind, ModelFile], candidates: Mapping[ModelKind, ModelFile]) -> None:
        self._active = _Group(active)
        self._candidates = _Group(candidates)
        # Ranks of numeric features among the thresholds of these models.
        self.reading = FigureReading(
            [scorer for group in (self._active, self._candidates) for _, scorer in group.given(content=False).scorers]
        )

    def score(self, observation: Observation, *, content: str | None) -> Scores:
        """Score a request with every model, the one for content only where there is content."""
        has_content = content is not None
        active, candidates = self._active.given(content=has_content), self._candidates.given(content=has_content)
        labels, numbers = observation.labels, observation.numbers
        values = {}
        for kind, scorer in active.scorers:
            if content is not None and isinstance(scorer, TextScorer):
                values[kind] = scorer.score_text(labels, numbers, content)
            else:
                values[kind] = scorer.score(labels, numbers)
        shadow_values = _shadow_values(candidates, observation, content) if candidates.scorers else {}
        return Scores(values, active.versions, shadow_values, candidates.versions)


class _Ranks(dict[int, int]):
    """Ranks of values among thresholds. A computed rank is cached."""

    def __init__(self, thresholds: Sequence[float] | None) -> None:
        self._thresholds = thresholds
        super().__init__()

    def __missing__(self, value: int) -> int:
        # Without thresholds each value counts.
        rank = value if self._thresholds is None else bisect_left(self._thresholds, value)
        if len(self) < MOST_CACHED:
            self[value] = rank
        return rank


class FigureReading:
    """The numeric features of a request without content, as precisely as some model distinguishes them.

    Two requests with the same labels and readings have the same scores. Each request is read, so the reading covers
    only the features that models use, and runs without its own loops.
    """

    def __init__(self, scorers: Iterable[Scorer]) -> None:
        found: dict[str, list[Sequence[float] | None]] = {}
        for scorer in scorers:
            for name, thresholds in scorer.figures.items():
                if name not in OF_CONTENT:
                    found.setdefault(name, []).append(thresholds)
        # Numeric features are counts. A whole number is above a threshold if it is above the threshold rounded down,
        # and comparing whole numbers is three times as fast.
        merged = {
            name: sorted({floor(each) for each in chain(*filter(None, every))})
            for name, every in found.items()
            if None not in every
        }
        self._by_name = merged
        self._exactly = frozenset(name for name, every in found.items() if None in every)
        self._tables = tuple(map(_Ranks, merged.values()))
        self._ranked = _picker(tuple(merged))
        self._exact = _picker(tuple(name for name, every in found.items() if None in every))

    def ranks_of(self, name: str) -> Mapping[int, int]:
        """Return the ranks of a figure by its value."""
        return _Ranks(None if name in self._exactly else self._by_name.get(name, ()))

    def read(self, numbers: Mapping[str, float]) -> Reading:
        """Return the ranks of numeric features that are compared with thresholds, and the exact values of the
        others."""
        return tuple(map(_look_up, self._tables, self._ranked(numbers))), self._exact(numbers)


def _picker(names: tuple[str, ...]) -> Callable[[Mapping[str, float]], tuple[Any, ...]]:
    """Return a function from figures to the values of those with these names, always a tuple."""
    if not names:
        return lambda _: ()
    if len(names) == 1:
        return lambda numbers: (numbers[names[0]],)
    return itemgetter(*names)


class _Part(Struct, frozen=True):
    scorers: tuple[tuple[str, Scorer], ...]
    versions: Mapping[str, str]


class _Group:
    """The models of one role, with and without the one for content."""

    def __init__(self, models: Mapping[ModelKind, ModelFile]) -> None:
        scorers = {kind.value: make_scorer(model) for kind, model in models.items()}
        self._all = _Part(tuple(scorers.items()), {kind.value: model.version for kind, model in models.items()})
        self._without_content = _Part(
            tuple(item for item in self._all.scorers if item[0] != ModelKind.CONTENT),
            {kind: version for kind, version in self._all.versions.items() if kind != ModelKind.CONTENT},
        )

    def given(self, *, content: bool) -> _Part:
        return self._all if content else self._without_content


def make_scorer(model: ModelFile) -> Scorer:
    """Make a checked model ready to score."""
    if not isinstance(model.text, UnsetType):
        return TextScorer(model, model.text)
    return LogisticScorer(model) if isinstance(model.trees, UnsetType) else TreeScorer(model)


def _shadow_values(candidates: _Part, observation: Observation, content: str | None) -> dict[str, float]:
    values = {}
    for kind, scorer in candidates.scorers:
        try:
            if content is not None and isinstance(scorer, TextScorer):
                values[kind] = scorer.score_text(observation.labels, observation.numbers, content)
            else:
                values[kind] = scorer.score(observation.labels, observation.numbers)
        except Exception:  # noqa: BLE001, S112 - whatever is wrong with a candidate, it must not touch a decision
            continue
    return values


def _sigmoid(margin: float) -> float:
    # Written so that NaN becomes 0.
    if not margin > -_CERTAIN:
        return 0.0
    return 1.0 if margin > _CERTAIN else 1.0 / (1.0 + exp(-margin))


def _between(x: Sequence[float], y: Sequence[float], value: float) -> float:
    place = bisect_left(x, value)
    if place == 0:
        return y[0]
    if place == len(x):
        return y[-1]
    share = (value - x[place - 1]) / (x[place] - x[place - 1])
    return y[place - 1] + share * (y[place] - y[place - 1])
