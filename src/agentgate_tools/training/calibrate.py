"""Calibration: what makes a score of 0.8 mean that eight in ten are. Platt, isotonic or none, whichever tested best.

A calibration is fitted only to margins that the learner gave to rows it had not seen.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from msgspec import UNSET, UnsetType
from sklearn.isotonic import IsotonicRegression  # type: ignore[import-untyped]
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

from agentgate.decision.scoring.model_file import MOST_POINTS, Isotonic, Platt
from agentgate_tools.training.fit import Answers
from agentgate_tools.training.rows import Floats, Integers

Calibration: TypeAlias = Platt | Isotonic | UnsetType

# Weak enough to let the slope follow the data, strong enough to keep it finite where the classes are apart.
PLATT_STRENGTH = 100.0
LEAST_GAP = 1e-6
# Below the score from which on a visitor is a possible bot.
MOST_OF_ONE_TRAIT = 0.49
# A curve that is bent has so many points up to this margin.
CURVE_POINTS, LARGEST_MARGIN = 121, 12.0


@dataclass(frozen=True, kw_only=True)
class Calibrated:
    """The calibration that was chosen, and how all of them tested."""

    name: str
    calibration: Calibration
    # Of every row, calibrated by what was fitted without its fold.
    scores: Floats
    brier_by_name: dict[str, float]


def choose(margins: Floats, answers: Answers, folds: Integers) -> Calibrated:
    """Fit each calibration across the folds, take the one with the least Brier score, and fit it to all."""
    tested = {name: _cross_fitted(fitter, margins, answers, folds=folds) for name, fitter in CALIBRATIONS.items()}
    errors = {name: brier(scores, answers) for name, scores in tested.items()}
    best = min(CHOSEN, key=lambda name: (round(errors[name], 6), CHOSEN.index(name)))
    return Calibrated(
        name=best, calibration=CALIBRATIONS[best](margins, answers), scores=tested[best], brier_by_name=errors
    )


def apply(calibration: Calibration, margins: Floats) -> Floats:
    """Turn margins into scores exactly as the model file defines it."""
    if isinstance(calibration, Platt):
        return sigmoid(calibration.a * margins + calibration.b)
    if isinstance(calibration, Isotonic):
        return np.interp(sigmoid(margins), calibration.x, calibration.y)
    return sigmoid(margins)


def capped(found: Calibrated, margins: Floats, *, highest: float) -> Calibrated:
    """Keep everything up to a margin below 0.5: the highest that one trait with benign causes can give."""
    if apply(found.calibration, np.array([highest]))[0] <= MOST_OF_ONE_TRAIT:
        return found
    bend = float(sigmoid(np.array([highest]))[0])
    if isinstance(found.calibration, Isotonic):
        x = np.array(found.calibration.x)
    else:
        x = sigmoid(np.linspace(-LARGEST_MARGIN, LARGEST_MARGIN, CURVE_POINTS))
    x = np.unique(np.concatenate([x, [bend, min(1.0, bend + LEAST_GAP)]]))
    y = apply(found.calibration, np.log(np.maximum(x, 1e-12) / np.maximum(1.0 - x, 1e-12)))
    y = np.where(x <= bend, np.minimum(y, MOST_OF_ONE_TRAIT), y)
    curve = _spaced([float(value) for value in x], [float(value) for value in np.maximum.accumulate(y)])
    scores = np.where(margins <= highest, np.minimum(found.scores, MOST_OF_ONE_TRAIT), found.scores)
    return replace(found, calibration=curve, scores=scores)


def sigmoid(margins: Floats) -> Floats:
    """Return 1 / (1 + exp(-margin)) without overflow."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * margins)), dtype=np.float64)


def brier(scores: Floats, answers: Answers) -> float:
    """Return the mean squared distance between score and target."""
    return float(np.average((scores - answers.target) ** 2, weights=answers.weights))


def _cross_fitted(
    fitter: Callable[[Floats, Answers], Calibration], margins: Floats, answers: Answers, *, folds: Integers
) -> Floats:
    scores = np.zeros_like(margins)
    for fold in np.unique(folds):
        inside = folds == fold
        others = Answers(target=answers.target[~inside], weights=answers.weights[~inside])
        scores[inside] = apply(fitter(margins[~inside], others), margins[inside])
    return scores


def _none(margins: Floats, answers: Answers) -> Calibration:
    del margins, answers
    return UNSET


def _platt(margins: Floats, answers: Answers) -> Calibration:
    learner = LogisticRegression(C=PLATT_STRENGTH, max_iter=1_000)
    learner.fit(margins.reshape(-1, 1), answers.target, sample_weight=answers.weights)
    return Platt(a=float(learner.coef_[0][0]), b=float(learner.intercept_[0]))


def _isotonic(margins: Floats, answers: Answers) -> Calibration:
    # So many labels cannot prove certainty, so the curve ends short of 0 and 1.
    ones = int(answers.target.sum())
    zeros = len(answers.target) - ones
    curve = IsotonicRegression(y_min=1 / (zeros + 2), y_max=1 - 1 / (ones + 2), out_of_bounds="clip")
    curve.fit(sigmoid(margins), answers.target, sample_weight=answers.weights)
    x, y = curve.X_thresholds_, curve.y_thresholds_
    if len(x) > MOST_POINTS:
        kept = np.unique(np.linspace(0, len(x) - 1, MOST_POINTS).astype(int))
        x, y = x[kept], y[kept]
    return _spaced([float(value) for value in x], [float(value) for value in y])


def _spaced(across: list[float], up: list[float]) -> Isotonic:
    # Between points that all but coincide, the last bits of a sum would decide about the score.
    x, y = [across[0]], [up[0]]
    for value, share in zip(across[1:], up[1:], strict=True):
        place = max(value, x[-1] + LEAST_GAP)
        if place <= 1.0:
            x.append(place)
            y.append(share)
    return Isotonic(x=x, y=y)


CALIBRATIONS: dict[str, Callable[[Floats, Answers], Calibration]] = {
    "none": _none,
    "platt": _platt,
    "isotonic": _isotonic,
}
# Margins of boosted trees are too sure of themselves, so they are never taken as they are.
CHOSEN = ("platt", "isotonic")
