"""Learners: fit one to rows, ask it for margins, and write it down in the form of the model file.

Needs scikit-learn, the optional extra `train`; the service itself never imports this module.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier  # type: ignore[import-untyped]
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

from agentgate.decision.scoring.model_file import NONE, Tree
from agentgate.decision.signals.numbers import NUMBERS
from agentgate.lib.enums import ModelType
from agentgate_tools.training.rows import Floats, Integers

LEARNING_RATE = 0.1
LEAST_LEAF_ROWS = 5
LOGISTIC_ROUNDS = 2_000


@dataclass(frozen=True, kw_only=True)
class LearnerOptions:
    """Which learner, and how large it may become."""

    type: ModelType
    trees: int
    depth: int
    seed: int


class Learned(Protocol):
    """A fitted learner."""

    def margins(self, matrix: Floats) -> Floats:
        """Return the log-odds of each row."""
        ...

    def importances(self) -> Floats:
        """Return how much each feature counts, summing to 1 (or to 0 when none does)."""
        ...

    def written(self) -> dict[str, Any]:
        """Return the model file's `bias` and its `weights` or `trees`."""
        ...


def fit(options: LearnerOptions, names: tuple[str, ...], matrix: Floats, answers: "Answers") -> Learned:
    """Fit a learner."""
    if options.type == ModelType.LOGISTIC:
        return _fit_logistic(names, matrix, answers)
    learner = GradientBoostingClassifier(
        n_estimators=options.trees,
        max_depth=options.depth,
        learning_rate=LEARNING_RATE,
        min_samples_leaf=LEAST_LEAF_ROWS,
        random_state=options.seed,
    )
    learner.fit(matrix, answers.target, sample_weight=answers.weights)
    return LearnedTrees(learner)


@dataclass(frozen=True, kw_only=True)
class Answers:
    """What each row should have come out as, and how much it counts."""

    target: Integers
    weights: Floats


class LearnedTrees:
    """Gradient-boosted trees."""

    def __init__(self, learner: Any) -> None:
        self._learner = learner

    def margins(self, matrix: Floats) -> Floats:
        """Return the log-odds of each row."""
        return np.asarray(self._learner.decision_function(matrix), dtype=np.float64)

    def importances(self) -> Floats:
        """Return each feature's share of what the splits gained."""
        return np.asarray(self._learner.feature_importances_, dtype=np.float64)

    def written(self) -> dict[str, Any]:
        """Return bias and trees; the learning rate is multiplied into the leaves."""
        before, after = self._learner.init_.class_prior_
        trees = [_tree(stage[0].tree_, self._learner.learning_rate) for stage in self._learner.estimators_]
        return {"bias": float(np.log(after / before)), "trees": trees}


class LearnedWeights:
    """Logistic regression."""

    def __init__(self, weights: Floats, bias: float, *, spread: Floats) -> None:
        self._weights = weights
        self._bias = bias
        self._spread = spread

    def margins(self, matrix: Floats) -> Floats:
        """Return the log-odds of each row."""
        return np.asarray(matrix @ self._weights + self._bias, dtype=np.float64)

    def importances(self) -> Floats:
        """Return each weight's size times how much its feature varies, as a share of all."""
        sizes = np.abs(self._weights) * self._spread
        total = float(sizes.sum())
        return sizes / total if total > 0 else sizes

    def written(self) -> dict[str, Any]:
        """Return bias and weights."""
        return {"bias": self._bias, "weights": [float(weight) for weight in self._weights]}


def _fit_logistic(names: tuple[str, ...], matrix: Floats, answers: Answers) -> LearnedWeights:
    # The penalty is fair only between features of like size: labels are 0 or 1, figures are brought to that.
    spread = matrix.std(axis=0)
    scale = np.array([spread[at] or 1.0 if name in NUMBERS else 1.0 for at, name in enumerate(names)])
    learner = LogisticRegression(C=1.0, max_iter=LOGISTIC_ROUNDS)
    learner.fit(matrix / scale, answers.target, sample_weight=answers.weights)
    return LearnedWeights(learner.coef_[0] / scale, float(learner.intercept_[0]), spread=spread)


def _tree(grown: Any, rate: float) -> Tree:
    leaves = grown.children_left == NONE
    return Tree(
        feature=[NONE if leaf else int(feature) for leaf, feature in zip(leaves, grown.feature, strict=True)],
        threshold=[0.0 if leaf else float(split) for leaf, split in zip(leaves, grown.threshold, strict=True)],
        left=[int(child) for child in grown.children_left],
        right=[int(child) for child in grown.children_right],
        value=[float(rate * value) if leaf else 0.0 for leaf, value in zip(leaves, grown.value[:, 0, 0], strict=True)],
    )
