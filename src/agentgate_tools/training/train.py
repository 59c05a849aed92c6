"""`train`: from exported decision labels to a checked model file and all data for a report about it.

Cross-validated by visitor, calibrated on unseen rows, and compared with our own scorer before it is given out.
"""

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import sklearn  # type: ignore[import-untyped]
from msgspec import UNSET, ValidationError, structs
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from agentgate.decision.scoring.model_file import ModelFile, read_model
from agentgate.decision.scoring.score import make_scorer
from agentgate.decision.signals.numbers import NUMBERS
from agentgate.lib.enums import LabelSource, ModelKind
from agentgate.lib.errors import Refused
from agentgate.lib.moment import Moment
from agentgate.lib.records import to_json
from agentgate_tools.training.calibrate import Calibrated, apply, capped, choose, sigmoid
from agentgate_tools.training.figures import alone, figures_of
from agentgate_tools.training.fit import Answers, Learned, LearnerOptions, Weighted, fit, innocents, weighted
from agentgate_tools.training.labels import LabeledDecision, TrainingRefused, examples_for, suspects_of
from agentgate_tools.training.metadata import metadata_of
from agentgate_tools.training.result import ByTime, FeatureFact, Ground, Trained
from agentgate_tools.training.rows import Floats, Integers, RowOptions, TrainingRows, observation, rows_for
from agentgate_tools.training.words import about_suspects, warnings_of

# The scorer rounds to four decimals, so half of the last one is its own.
MOST_DIFFERENCE = 1e-4
TOP_FEATURES = 20
# The older part of the labels, from which the newer is predicted.
OLDER_SHARE = 0.8
LEAST_BY_TIME = 5
# Each fit has a copy of its part of the table.
FITS_AT_ONCE, MOST_CELLS_AT_ONCE = 2, 50_000_000
Chosen: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All settings that influence the result for the same labels."""

    kind: ModelKind
    learner: LearnerOptions
    rows: RowOptions
    folds: int
    least_labels: int


def train(decisions: Sequence[LabeledDecision], plan: Plan) -> Trained:
    """Train a model; raise TrainingRefused with a message that names the missing data."""
    # Floating-point totals are the same on any number of cores only if one thread adds them up; at this size it is also
    # faster.
    with threadpool_limits(limits=1):
        return _train(decisions, plan)


def _train(decisions: Sequence[LabeledDecision], plan: Plan) -> Trained:
    weights = {LabelSource.SYNTHETIC: plan.rows.weight_synthetic, LabelSource.PROBE: plan.rows.weight_probe}
    counted = [decision for decision in decisions if weights.get(decision.source, 1.0) > 0]
    examples = examples_for(plan.kind, counted, least=plan.least_labels)
    rows = rows_for(examples, plan.rows)
    answers = Answers(target=rows.target, weights=rows.weights)
    folds = _folds(rows, plan)
    learned, margins = _fit_all(rows, plan, folds=folds)
    calibrated = choose(margins, answers, folds)
    if plan.kind is ModelKind.BOT:
        with_one, _ = innocents(rows.names, weighted(rows.patterns, rows.pattern, answers))
        if len(with_one):
            calibrated = capped(calibrated, margins, highest=float(learned.margins(with_one).max()))
    facts = _facts(rows, learned)
    ground = _ground(rows, plan)
    figures = figures_of(calibrated.scores, answers, folds, others=ground.visitors_with_zeros)
    suspects = suspects_of([example.decision for example in rows.examples], calibrated.scores, plan.kind)
    by_time = _by_time(rows, plan)
    model = _model_file(plan, rows, learned, calibrated=calibrated)
    warnings = (*warnings_of(ground, figures, facts), *about_suspects(suspects))
    trained = Trained(
        model=model,
        ground=ground,
        figures=figures,
        by_time=by_time,
        suspects=suspects,
        calibrations=calibrated.brier_by_name,
        calibration=calibrated.name,
        features=facts[:TOP_FEATURES],
        warnings=warnings,
    )
    return _finished(trained, plan, expected=apply(calibrated.calibration, learned.margins(rows.patterns)), rows=rows)


def check_scores(model: ModelFile, rows: TrainingRows, expected: Floats) -> None:
    """Reject a file that our scorer reads differently from what the learner meant, pattern by pattern."""
    scorer = make_scorer(model)
    seen = [observation(rows.examples[at].decision) for at in rows.firsts]
    found = np.array([scorer.score(each.labels, each.numbers) for each in seen])
    difference = float(np.abs(found - expected).max())
    if not difference <= MOST_DIFFERENCE:
        raise TrainingRefused(
            f"the written model scores differently from the one that was learned (by up to {difference:.6f});"
            " nothing was written, please report this"
        )


def _fitted(rows: TrainingRows, plan: Plan, chosen: Chosen, *, stop: Chosen | None = None) -> Learned:
    def part(of: Chosen) -> Weighted:
        answers = Answers(target=rows.target[of], weights=rows.weights[of])
        return weighted(rows.patterns, rows.pattern[of], answers)

    return fit(plan.learner, rows.names, part(chosen), None if stop is None else part(stop))


def _folds(rows: TrainingRows, plan: Plan) -> Integers:
    for target in (0, 1):
        visitors = len(np.unique(rows.groups[rows.target == target]))
        if visitors < plan.folds:
            raise TrainingRefused(
                f"the labels of one class come from {visitors} visitor(s), and {plan.folds} folds need one each;"
                " label decisions of more visitors, or lower --folds"
            )
    # Visitors in random order, each class dealt out in turn: as even as whole visitors allow, in one pass.
    chance = np.random.default_rng(plan.learner.seed)
    ones = np.bincount(rows.groups, weights=rows.target) > 0
    fold_of = np.zeros(len(ones), dtype=np.int64)
    for visitors_of in (np.flatnonzero(ones), np.flatnonzero(~ones)):
        fold_of[chance.permutation(visitors_of)] = np.arange(len(visitors_of)) % plan.folds
    return fold_of[rows.groups]


def _fit_all(rows: TrainingRows, plan: Plan, *, folds: Integers) -> tuple[Learned, Floats]:
    """Fit the model, and one for each fold that gives the margins of what it has not seen; several at a time."""

    def margins_of(fold: int) -> tuple[Chosen, Floats]:
        inside, stop = folds == fold, folds == (fold + 1) % plan.folds
        rest = ~inside & ~stop if plan.folds > 2 else ~inside
        if len(np.unique(rows.target[rest])) < 2:
            raise TrainingRefused(
                "too few visitors with both classes to reserve some for testing;"
                " label decisions of more visitors, or lower --folds"
            )
        learned = _fitted(rows, plan, rest, stop=stop if plan.folds > 2 else None)
        return inside, _margins(learned, rows, inside)

    margins = np.zeros(len(rows.target), dtype=np.float64)
    at_once = FITS_AT_ONCE if rows.patterns.size < MOST_CELLS_AT_ONCE else 1
    # The limit of threads holds for the thread that sets it.
    with ThreadPoolExecutor(at_once, initializer=threadpool_limits, initargs=(1,)) as pool:
        # The first fold only shows when to stop.
        whole = pool.submit(_fitted, rows, plan, folds != 0, stop=folds == 0)
        for inside, found in pool.map(margins_of, range(plan.folds)):
            margins[inside] = found
        return whole.result(), margins


def _margins(learned: Learned, rows: TrainingRows, chosen: Chosen) -> Floats:
    """Return the margins of the chosen rows; each of their patterns is computed once."""
    used, place = np.unique(rows.pattern[chosen], return_inverse=True)
    return learned.margins(rows.patterns[used])[place]


def _by_time(rows: TrainingRows, plan: Plan) -> ByTime | None:
    """Learn from the older decisions, and judge by the newest of visitors who were not seen before."""
    split = np.quantile(rows.times, OLDER_SHARE)
    older = rows.times <= split
    newer = ~older & ~np.isin(rows.groups, rows.groups[older])
    counts = [int((rows.target[part] == target).sum()) for part in (older, newer) for target in (0, 1)]
    if min(counts) < LEAST_BY_TIME:
        return None
    learned = _fitted(rows, plan, older)
    scores = sigmoid(_margins(learned, rows, newer))
    answers = Answers(target=rows.target[newer], weights=rows.weights[newer])
    others = len(np.unique(rows.groups[newer & (rows.target == 0)]))
    return ByTime(
        since=Moment(int(split)),
        ones=counts[3],
        zeros=counts[2],
        figures=figures_of(scores, answers, np.zeros(len(scores), dtype=np.int64), others=others),
    )


def _facts(rows: TrainingRows, learned: Learned) -> tuple[FeatureFact, ...]:
    shares = learned.importances()
    counts = tuple(
        np.bincount(rows.pattern[rows.target == target], minlength=len(rows.patterns)).astype(np.float64)
        for target in (0, 1)
    )
    facts = [
        FeatureFact(
            name=name,
            figure=name in NUMBERS,
            share=float(shares[at]),
            among_ones=float((counts[1] * rows.patterns[:, at]).sum() / counts[1].sum()),
            among_zeros=float((counts[0] * rows.patterns[:, at]).sum() / counts[0].sum()),
            alone=alone(rows.patterns[:, at], counts),
        )
        for at, name in enumerate(rows.names)
    ]
    return tuple(sorted(facts, key=lambda fact: (-fact.share, fact.name)))


def _ground(rows: TrainingRows, plan: Plan) -> Ground:
    decisions = [example.decision for example in rows.examples]
    return Ground(
        kind=plan.kind,
        ones=int(rows.target.sum()),
        zeros=int((rows.target == 0).sum()),
        labels=_counts([decision.label for decision in decisions]),
        sources=_counts([decision.source for decision in decisions]),
        visitors=len(np.unique(rows.groups)),
        visitors_with_ones=len(np.unique(rows.groups[rows.target == 1])),
        visitors_with_zeros=len(np.unique(rows.groups[rows.target == 0])),
        first=Moment(min(decision.evidence.time for decision in decisions)),
        last=Moment(max(decision.evidence.time for decision in decisions)),
        features=len(rows.names),
        figures_used=any(name in NUMBERS for name in rows.names),
        unknown_labels=rows.unknown_labels,
        left_out=rows.left_out,
        folds=plan.folds,
    )


def _counts(values: Sequence[str]) -> dict[str, int]:
    return {str(value): values.count(value) for value in sorted(set(values))}


def _model_file(plan: Plan, rows: TrainingRows, learned: Learned, *, calibrated: Calibrated) -> ModelFile:
    return ModelFile(
        version="unfinished",
        kind=plan.kind,
        type=plan.learner.type,
        features=list(rows.names),
        calibration=calibrated.calibration,
        metadata={},
        **learned.written(),
    )


def _finished(trained: Trained, plan: Plan, *, expected: Floats, rows: TrainingRows) -> Trained:
    """Name the model by what is in it, check the file as the service will, and compare its scores."""
    options: dict[str, Any] = {
        "type": plan.learner.type,
        "trees": plan.learner.trees if trained.model.trees is not UNSET else None,
        "depth": plan.learner.depth if trained.model.trees is not UNSET else None,
        "folds": plan.folds,
        "seed": plan.learner.seed,
        "excluded": list(plan.rows.excluded),
        "weightSynthetic": plan.rows.weight_synthetic,
        "weightProbe": plan.rows.weight_probe,
        "library": f"scikit-learn {sklearn.__version__}",
    }
    digest = hashlib.sha256(to_json(trained.model)).hexdigest()[:8]
    day = trained.ground.last.text()[:10].replace("-", "")
    version = f"{plan.kind}-{day}-{digest}"
    model = structs.replace(trained.model, version=version, metadata=metadata_of(trained, options))
    try:
        read = read_model(to_json(model))
    except (Refused, ValidationError) as refused:
        message = refused.message if isinstance(refused, Refused) else str(refused)
        raise TrainingRefused(f"the model would not be accepted: {message}") from None
    check_scores(read, rows, expected)
    return replace(trained, model=model)
