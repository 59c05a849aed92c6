"""Learners: fit one to weighted patterns, ask it for margins, and write it down in the form of the model file.

Both keep to the direction of each feature: more evidence against a client never lowers a score. Needs scikit-learn, the
optional extra `train`; the service itself never imports this module.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.optimize import Bounds, minimize  # type: ignore[import-untyped]
from sklearn.ensemble import HistGradientBoostingClassifier  # type: ignore[import-untyped]

from agentgate.decision.scoring.directions import INNOCENT_ALONE, direction_of
from agentgate.decision.scoring.model_file import NONE, Tree
from agentgate.decision.signals.numbers import NUMBERS
from agentgate.lib.enums import ModelKind, ModelType
from agentgate_tools.training.rows import Floats, Integers

LEARNING_RATE = 0.1
# By weight, not by rows: a leaf of few examples stays near zero.
SHRINKAGE = 1.0
LEAST_LEAF_PATTERNS = 2
MOST_LEAVES = 16
# Rounds without gain on unseen visitors after which trees stop.
PATIENCE = 10
LOGISTIC_ROUNDS = 2_000
LOGISTIC_PENALTY = 1.0
# Visitors of whom nothing is remarkable: at the gateway, and after the browser check.
USUAL = (("ua.browser",), ("browser.evidence", "probes.right", "ua.browser"))
# Patterns of usual visitors that get one more trait each, and how much each such example counts.
USUAL_PATTERNS = 6
INNOCENT_WEIGHT = 2.0


@dataclass(frozen=True, kw_only=True)
class LearnerOptions:
    """Which learner, and how large it may become."""

    type: ModelType
    trees: int
    depth: int
    seed: int
    kind: ModelKind = ModelKind.BOT


class Learned(Protocol):
    """A fitted learner."""

    def margins(self, patterns: Floats) -> Floats:
        """Return the log-odds of each pattern."""

    def importances(self) -> Floats:
        """Return how much each feature counts, summing to 1 (or to 0 when none does)."""

    def written(self) -> dict[str, Any]:
        """Return the model file's `bias` and its `weights` or `trees`."""


@dataclass(frozen=True, kw_only=True)
class Answers:
    """The target and the weight of each row."""

    target: Integers
    weights: Floats


@dataclass(frozen=True, kw_only=True)
class Weighted:
    """Patterns with a target, and the weight of the examples that have both."""

    matrix: Floats
    answers: Answers


def weighted(patterns: Floats, pattern: Integers, answers: Answers) -> Weighted:
    """Add up the examples that have the same pattern and the same target."""
    found = []
    for target in (0, 1):
        chosen = answers.target == target
        weights = np.bincount(pattern[chosen], weights=answers.weights[chosen], minlength=len(patterns)).astype(float)
        there = np.flatnonzero(weights)
        found.append((there, np.full(len(there), target, dtype=np.int64), weights[there]))
    rows = np.concatenate([each[0] for each in found])
    targets, weights = np.concatenate([each[1] for each in found]), np.concatenate([each[2] for each in found])
    return Weighted(matrix=patterns[rows], answers=Answers(target=targets, weights=weights))


def innocents(names: tuple[str, ...], rows: Weighted) -> tuple[Floats, Floats]:
    """Return usual visitors with one more trait, of those that have benign causes, and how much each counts.

    All with a trait count as much as the bots that have it, so that a learner must find what else these have.
    """
    people = np.flatnonzero(rows.answers.target == 0)
    usual = rows.matrix[people[np.argsort(-rows.answers.weights[people], kind="stable")[:USUAL_PATTERNS]]]
    known = np.array([[float(name in labels) for name in names] for labels in USUAL])
    traits = [at for at, name in enumerate(names) if name in INNOCENT_ALONE]
    # The most usual people may have such a trait already.
    usual = usual[usual[:, traits].sum(axis=1) == 0]
    usual = np.unique(np.concatenate([known, usual]), axis=0)
    with_one = np.repeat(usual, len(traits), axis=0)
    added = np.tile(traits, len(usual)).astype(np.int64)
    with_one[np.arange(len(with_one)), added] = 1.0
    ones = rows.answers.target == 1
    of_bots = rows.answers.weights[ones] @ rows.matrix[ones]
    weights = np.maximum(INNOCENT_WEIGHT, of_bots[added] / len(usual))
    return with_one, weights


def with_innocents(names: tuple[str, ...], rows: Weighted) -> Weighted:
    """Add usual visitors with one more trait as people: it alone must not be enough."""
    added, weights = innocents(names, rows)
    answers = Answers(
        target=np.concatenate([rows.answers.target, np.zeros(len(added), dtype=np.int64)]),
        weights=np.concatenate([rows.answers.weights, weights]),
    )
    return Weighted(matrix=np.concatenate([rows.matrix, added]), answers=answers)


def fit(options: LearnerOptions, names: tuple[str, ...], rows: Weighted, unseen: Weighted | None = None) -> Learned:
    """Fit a learner. Trees stop when they no longer get better on `unseen`. Default: all are grown."""
    if options.kind is ModelKind.BOT:
        rows = with_innocents(names, rows)
    if options.type == ModelType.LOGISTIC:
        return _fit_logistic(options, names, rows)
    stops = unseen is not None and len(np.unique(unseen.answers.target)) == 2
    learner = HistGradientBoostingClassifier(
        max_iter=options.trees,
        max_depth=options.depth,
        max_leaf_nodes=MOST_LEAVES,
        learning_rate=LEARNING_RATE,
        min_samples_leaf=LEAST_LEAF_PATTERNS,
        l2_regularization=SHRINKAGE,
        monotonic_cst=[direction_of(name, options.kind) for name in names],
        early_stopping=stops,
        n_iter_no_change=PATIENCE,
        random_state=options.seed,
    )
    validation = {}
    if stops and unseen is not None:
        validation = {
            "X_val": unseen.matrix,
            "y_val": unseen.answers.target,
            "sample_weight_val": unseen.answers.weights,
        }
    learner.fit(rows.matrix, rows.answers.target, sample_weight=rows.answers.weights, **validation)
    return LearnedTrees(learner, len(names))


class LearnedTrees:
    """Gradient-boosted trees over histograms."""

    def __init__(self, learner: Any, features: int) -> None:
        self._learner = learner
        self._features = features

    def margins(self, patterns: Floats) -> Floats:
        """Return the log-odds of each pattern."""
        return np.asarray(self._learner.decision_function(patterns), dtype=np.float64)

    def importances(self) -> Floats:
        """Return each feature's share of what the splits gained."""
        gains = np.zeros(self._features)
        for [predictor] in self._learner._predictors:  # noqa: SLF001 - the library has no other way to its trees
            inner = predictor.nodes[predictor.nodes["is_leaf"] == 0]
            np.add.at(gains, inner["feature_idx"], np.maximum(inner["gain"], 0.0))
        total = float(gains.sum())
        return gains / total if total > 0 else gains

    def written(self) -> dict[str, Any]:
        """Return bias and trees; the leaves have the learning rate in them."""
        bias = float(np.ravel(self._learner._baseline_prediction)[0])  # noqa: SLF001 - likewise
        trees = [_tree(predictor.nodes) for [predictor] in self._learner._predictors]  # noqa: SLF001 - likewise
        return {"bias": bias, "trees": trees}


class LearnedWeights:
    """Logistic regression."""

    def __init__(self, weights: Floats, bias: float, *, spread: Floats) -> None:
        self._weights = weights
        self._bias = bias
        self._spread = spread

    def margins(self, patterns: Floats) -> Floats:
        """Return the log-odds of each pattern."""
        return np.asarray(patterns @ self._weights + self._bias, dtype=np.float64)

    def importances(self) -> Floats:
        """Return each weight's size times how much its feature varies, as a share of all."""
        sizes = np.abs(self._weights) * self._spread
        total = float(sizes.sum())
        return sizes / total if total > 0 else sizes

    def written(self) -> dict[str, Any]:
        """Return bias and weights."""
        return {"bias": self._bias, "weights": [float(weight) for weight in self._weights]}


def _fit_logistic(options: LearnerOptions, names: tuple[str, ...], rows: Weighted) -> LearnedWeights:
    # The penalty is fair only between features of similar size: labels are 0 or 1, so numbers are scaled to that.
    matrix, weights = rows.matrix.astype(np.float64), rows.answers.weights
    mean = np.average(matrix, axis=0, weights=weights)
    spread = np.sqrt(np.average((matrix - mean) ** 2, axis=0, weights=weights))
    scale = np.array([spread[at] or 1.0 if name in NUMBERS else 1.0 for at, name in enumerate(names)])
    scaled = matrix / scale
    signs = rows.answers.target * 2.0 - 1.0

    def loss(parameters: Floats) -> tuple[float, Floats]:
        margins = signs * (scaled @ parameters[:-1] + parameters[-1])
        slopes = -signs * weights * 0.5 * (1.0 - np.tanh(0.5 * margins))
        penalty = LOGISTIC_PENALTY * parameters[:-1]
        value = float(weights @ np.logaddexp(0.0, -margins)) + 0.5 * float(penalty @ parameters[:-1])
        return value, np.append(scaled.T @ slopes + penalty, slopes.sum())

    directions = np.array([direction_of(name, options.kind) for name in names])
    least = np.append(np.where(directions > 0, 0.0, -np.inf), -np.inf)
    most = np.append(np.where(directions < 0, 0.0, np.inf), np.inf)
    found = minimize(
        loss,
        np.zeros(len(names) + 1),
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(least, most),
        options={"maxiter": LOGISTIC_ROUNDS, "ftol": 1e-12, "gtol": 1e-8},
    )
    return LearnedWeights(found.x[:-1] / scale, float(found.x[-1]), spread=spread)


def _tree(nodes: Any) -> Tree:
    leaves = [bool(leaf) for leaf in nodes["is_leaf"]]
    return Tree(
        feature=[NONE if leaf else int(at) for leaf, at in zip(leaves, nodes["feature_idx"], strict=True)],
        threshold=[0.0 if leaf else float(split) for leaf, split in zip(leaves, nodes["num_threshold"], strict=True)],
        left=[NONE if leaf else int(child) for leaf, child in zip(leaves, nodes["left"], strict=True)],
        right=[NONE if leaf else int(child) for leaf, child in zip(leaves, nodes["right"], strict=True)],
        value=[float(value) if leaf else 0.0 for leaf, value in zip(leaves, nodes["value"], strict=True)],
    )
