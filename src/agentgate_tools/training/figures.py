"""How good a model is: metrics over the folds with intervals, the points of the curves, and each feature alone.

All metrics use scores of rows by a model which was not trained on them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.stats import t as student  # type: ignore[import-untyped]
from sklearn.metrics import (  # type: ignore[import-untyped]
    average_precision_score,
    log_loss,
    precision_recall_curve,
    roc_auc_score,
    roc_curve,
)

from agentgate_tools.training.calibrate import brier
from agentgate_tools.training.fit import Answers
from agentgate_tools.training.rows import Floats, Integers

THRESHOLDS = (0.5, 0.8, 0.95)
CONFIDENCE = 0.95
CURVE_POINTS = 200
CALIBRATION_BINS = 10
HISTOGRAM_BINS = 20

Points: TypeAlias = tuple[tuple[float, float], ...]
Measure: TypeAlias = Callable[[Floats, Answers], float | None]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A mean over the folds with its 95 % interval; all None if no fold has a value."""

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, kw_only=True)
class AtThreshold:
    """What happens when everything at or above a score counts as found."""

    threshold: float
    false_positive_rate: Figure
    recall: Figure
    precision: Figure
    # Rows, unweighted: wrongly found, and rightly found.
    wrong: int
    right: int


@dataclass(frozen=True, kw_only=True)
class CalibrationBin:
    """Rows whose scores are alike: their mean score, and the share that really is."""

    score: float
    share: float
    rows: int


@dataclass(frozen=True, kw_only=True)
class Figures:
    """All that is known about a model from cross-validation."""

    roc_auc: Figure
    pr_auc: Figure
    brier: Figure
    log_loss: Figure
    thresholds: tuple[AtThreshold, ...]
    roc: Points
    precision_recall: Points
    calibration: tuple[CalibrationBin, ...]
    # Rows in each of the histogram's bins, by target.
    histogram: tuple[tuple[int, ...], tuple[int, ...]]


def figures_of(scores: Floats, answers: Answers, folds: Integers, *, others: int) -> Figures:
    """Work out every figure from cross-validated scores; `others` is how many visitors must not be found."""
    false_rate, true_rate, _ = roc_curve(answers.target, scores, sample_weight=answers.weights)
    precision, recall, _ = precision_recall_curve(answers.target, scores, sample_weight=answers.weights)
    return Figures(
        roc_auc=_over_folds(_roc_auc, scores, answers, folds=folds),
        pr_auc=_over_folds(_pr_auc, scores, answers, folds=folds),
        brier=_over_folds(brier, scores, answers, folds=folds),
        log_loss=_over_folds(_log_loss, scores, answers, folds=folds, most=None),
        thresholds=tuple(
            _proven(_at(threshold, scores, answers, folds=folds), others=others) for threshold in THRESHOLDS
        ),
        roc=_points(false_rate, true_rate),
        precision_recall=_points(recall[::-1], precision[::-1]),
        calibration=_calibration(scores, answers),
        histogram=(_histogram(scores[answers.target == 0]), _histogram(scores[answers.target == 1])),
    )


def alone(column: npt.NDArray[np.floating], counts: Sequence[Floats]) -> float:
    """Return the ROC AUC of a single feature, whichever way it points: 0.5 is random, 1 separates by itself.

    `column` has the feature's value of each pattern, `counts` the examples of the two classes with that pattern.
    """
    order = np.argsort(column, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(column[order]) > 0))
    zeros, ones = (np.add.reduceat(of_class[order], starts) for of_class in counts)
    below = np.cumsum(zeros) - zeros
    area = float((ones * (below + zeros / 2)).sum() / (zeros.sum() * ones.sum()))
    return max(area, 1 - area)


def _over_folds(
    measure: Measure, scores: Floats, answers: Answers, *, folds: Integers, most: float | None = 1.0
) -> Figure:
    found = []
    for fold in np.unique(folds):
        inside = folds == fold
        part = Answers(target=answers.target[inside], weights=answers.weights[inside])
        # Rows of weight zero do not count, so a fold with only such rows has no value.
        value = measure(scores[inside], part) if part.weights.sum() > 0 else None
        if value is not None:
            found.append(value)
    if not found:
        return Figure(value=None, low=None, high=None)
    mean = float(np.mean(found))
    if len(found) == 1:
        return Figure(value=mean, low=None, high=None)
    half = float(student.ppf((1 + CONFIDENCE) / 2, len(found) - 1) * np.std(found, ddof=1) / np.sqrt(len(found)))
    return Figure(value=mean, low=max(0.0, mean - half), high=mean + half if most is None else min(most, mean + half))


def _roc_auc(scores: Floats, answers: Answers) -> float | None:
    if len(set(answers.target[answers.weights > 0])) < 2:
        return None
    return float(roc_auc_score(answers.target, scores, sample_weight=answers.weights))


def _pr_auc(scores: Floats, answers: Answers) -> float | None:
    if not answers.target[answers.weights > 0].any():
        return None
    return float(average_precision_score(answers.target, scores, sample_weight=answers.weights))


def _log_loss(scores: Floats, answers: Answers) -> float | None:
    return float(log_loss(answers.target, scores, sample_weight=answers.weights, labels=[0, 1]))


def _at(threshold: float, scores: Floats, answers: Answers, *, folds: Integers) -> AtThreshold:
    def rate(of: int) -> Measure:
        def measure(scores: Floats, answers: Answers) -> float | None:
            return _share(scores >= threshold, answers.weights * (answers.target == of))

        return measure

    def precision(scores: Floats, answers: Answers) -> float | None:
        return _share(answers.target == 1, answers.weights * (scores >= threshold))

    found = scores >= threshold
    return AtThreshold(
        threshold=threshold,
        false_positive_rate=_over_folds(rate(0), scores, answers, folds=folds),
        recall=_over_folds(rate(1), scores, answers, folds=folds),
        precision=_over_folds(precision, scores, answers, folds=folds),
        wrong=int((found & (answers.target == 0)).sum()),
        right=int((found & (answers.target == 1)).sum()),
    )


def _proven(found: AtThreshold, *, others: int) -> AtThreshold:
    # None among n does not prove a rate of 0: by the rule of three, up to 3 / n would still fit.
    if found.wrong:
        return found
    return replace(found, false_positive_rate=Figure(value=0.0, low=0.0, high=min(1.0, 3 / others)))


def _share(chosen: npt.NDArray[np.bool_], weights: Floats) -> float | None:
    total = float(weights.sum())
    return float(weights[chosen].sum()) / total if total > 0 else None


def _points(across: Floats, up: Floats) -> Points:
    kept = np.unique(np.linspace(0, len(across) - 1, min(CURVE_POINTS, len(across))).astype(int))
    return tuple((float(across[at]), float(up[at])) for at in kept)


def _calibration(scores: Floats, answers: Answers) -> tuple[CalibrationBin, ...]:
    bins = np.minimum((scores * CALIBRATION_BINS).astype(int), CALIBRATION_BINS - 1)
    found = []
    for number in range(CALIBRATION_BINS):
        inside = bins == number
        weights = answers.weights[inside]
        if weights.sum() > 0:
            score = float(np.average(scores[inside], weights=weights))
            share = float(np.average(answers.target[inside], weights=weights))
            found.append(CalibrationBin(score=score, share=share, rows=int(inside.sum())))
    return tuple(found)


def _histogram(scores: Floats) -> tuple[int, ...]:
    counts, _ = np.histogram(scores, bins=HISTOGRAM_BINS, range=(0.0, 1.0))
    return tuple(int(count) for count in counts)
