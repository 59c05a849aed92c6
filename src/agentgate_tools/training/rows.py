"""From examples to the table that a learner takes: which features it may use, their values, weights and groups."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from agentgate.decision.scoring.directions import is_learned
from agentgate.decision.scoring.features import SCORE_LABELS, is_feature
from agentgate.decision.signals.facts import Observation
from agentgate.decision.signals.numbers import NUMBERS
from agentgate.lib.enums import LabelSource
from agentgate_tools.training.labels import Example, LabeledDecision, TrainingRefused

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]

# With few decisions or visitors, the effect of a label cannot be distinguished from chance.
LEAST_DECISIONS = 5
LEAST_VISITORS = 3
# More features than this only describe single clients.
MOST_LEARNED = 256
# If at least this share of labels has numbers, labels with no numbers are dropped; otherwise the numbers are.
FIGURES_SHARE = 0.9


@dataclass(frozen=True, kw_only=True)
class RowOptions:
    """The caller's options for the table."""

    excluded: tuple[str, ...]
    weight_synthetic: float
    weight_probe: float


@dataclass(frozen=True, kw_only=True)
class TrainingRows:
    """One row for each example; rows with the same features share a pattern, because most requests look alike."""

    names: tuple[str, ...]
    # The patterns, one per row of the matrix, and the pattern of each example.
    patterns: Floats
    pattern: Integers
    target: Integers
    weights: Floats
    # Numbers that stand for visitors: equal where the visitor is.
    groups: Integers
    # When each was decided, in milliseconds.
    times: Integers
    examples: tuple[Example, ...]
    # Labels of the evidence that the catalog no longer has.
    unknown_labels: int
    # Examples that were dropped because their numbers had not been captured.
    left_out: int

    @property
    def firsts(self) -> Integers:
        """The first example of each pattern."""
        return np.unique(self.pattern, return_index=True)[1]


def rows_for(examples: Sequence[Example], options: RowOptions) -> TrainingRows:
    """Build the table; raise TrainingRefused if no feature is left to learn from."""
    kept, numbers = _with_figures(examples)
    labels, unknown = _known_labels(kept, options.excluded)
    names = (*labels, *_varying(kept, [name for name in numbers if not _excluded(name, options.excluded)]))
    if not names:
        raise TrainingRefused(
            "no feature is left to learn from: no known signal label is on some decisions of several visitors"
            " and missing on others"
        )
    by_source = {LabelSource.SYNTHETIC: options.weight_synthetic, LabelSource.PROBE: options.weight_probe}
    patterns, pattern = _patterns(kept, names)
    groups = np.unique(np.array([example.decision.group for example in kept]), return_inverse=True)[1]
    return TrainingRows(
        names=names,
        patterns=patterns,
        pattern=pattern,
        target=np.array([example.target for example in kept], dtype=np.int64),
        weights=np.array([by_source.get(example.decision.source, 1.0) for example in kept], dtype=np.float64),
        groups=groups.astype(np.int64),
        times=np.array([int(example.decision.evidence.time) for example in kept], dtype=np.int64),
        examples=tuple(kept),
        unknown_labels=unknown,
        left_out=len(examples) - len(kept),
    )


def observation(decision: LabeledDecision) -> Observation:
    """Return a decision's evidence as signals would have made it."""
    return Observation(labels=tuple(sorted(set(decision.evidence.labels))), numbers=_figures(decision) or {})


def _patterns(examples: Sequence[Example], names: Sequence[str]) -> tuple[Floats, Integers]:
    """Return each different row once, and which one each example has."""
    places = {name: at for at, name in enumerate(names)}
    figures = [name for name in names if name in NUMBERS]
    codes: dict[tuple[tuple[int, ...], tuple[float, ...]], int] = {}
    found = np.zeros(len(examples), dtype=np.int64)
    for row, example in enumerate(examples):
        labels = tuple(sorted(places[label] for label in set(example.decision.evidence.labels) if label in places))
        values = _figures(example.decision) or {} if figures else {}
        key = (labels, tuple(float(values.get(name, 0.0)) for name in figures))
        found[row] = codes.setdefault(key, len(codes))
    matrix = np.zeros((len(codes), len(names)), dtype=np.float64)
    at_figures = [places[name] for name in figures]
    for row, (labels, of_figures) in enumerate(codes):
        matrix[row, list(labels)] = 1.0
        matrix[row, at_figures] = of_figures
    return matrix, found


def _with_figures(examples: Sequence[Example]) -> tuple[list[Example], list[str]]:
    captured = [example for example in examples if _figures(example.decision) is not None]
    if len(captured) < FIGURES_SHARE * len(examples):
        return list(examples), []
    return captured, sorted(name for name in NUMBERS if is_learned(name))


def _figures(decision: LabeledDecision) -> Mapping[str, float] | None:
    features = decision.evidence.features
    if features is None:
        return None
    return {name: value for name, value in features.items() if name in NUMBERS}


def _known_labels(examples: Sequence[Example], excluded: tuple[str, ...]) -> tuple[list[str], int]:
    decisions: Counter[str] = Counter()
    visitors: dict[str, set[str]] = {}
    for example in examples:
        for label in set(example.decision.evidence.labels):
            decisions[label] += 1
            few = visitors.setdefault(label, set())
            if len(few) < LEAST_VISITORS:
                few.add(example.decision.group)
    # Score bands are not features: a model that learned from the bands of its predecessor would only copy it.
    usable = [label for label in decisions if is_feature(label) and label not in NUMBERS and is_learned(label)]
    kept = [
        label
        for label in sorted(usable, key=lambda label: (-decisions[label], label))
        if LEAST_DECISIONS <= decisions[label] <= len(examples) - LEAST_DECISIONS
        and len(visitors[label]) >= LEAST_VISITORS
        and not _excluded(label, excluded)
    ]
    unknown = sum(not is_feature(label) and not label.startswith(SCORE_LABELS) for label in decisions)
    return sorted(kept[: MOST_LEARNED - len(NUMBERS)]), unknown


def _excluded(name: str, prefixes: Iterable[str]) -> bool:
    return any(name == prefix or name.startswith(prefix + ".") for prefix in prefixes)


def _varying(examples: Sequence[Example], numbers: Sequence[str]) -> list[str]:
    seen: dict[str, set[float]] = {name: set() for name in numbers}
    for example in examples:
        figures = _figures(example.decision) or {}
        for name in numbers:
            if len(seen[name]) <= 1:
                seen[name].add(figures.get(name, 0.0))
    return [name for name in numbers if len(seen[name]) > 1]
