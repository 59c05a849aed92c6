"""Training in plain words: what to watch out for, and what to do with the model."""

from collections.abc import Iterator, Mapping, Sequence

from agentgate.lib.enums import LabelSource, ModelKind
from agentgate_tools.training.figures import AtThreshold, Figures
from agentgate_tools.training.labels import Suspects
from agentgate_tools.training.result import FeatureFact, Ground, Trained

FEW_LABELS = 500
FEW_VISITORS = 50
RARE_SHARE = 0.1
SEPARATES_ALONE = 0.98
NAMED_FEATURES = 5
# Below this a model hardly tells the two apart.
LEAST_ROC_AUC = 0.7
# More people wrongly held up than this is not worth any catch.
MOST_FALSE_RATE = 0.01
# A share of doubtful labels beyond this is not by chance; and the same of one user or source.
MANY_SUSPECTS = 0.05
MOST_DOUBTFUL = 0.25
LEAST_OF_GROUP = 10

# The clients that a model looks for, and the clients that it must not confuse with them.
SOUGHT: Mapping[ModelKind, str] = {ModelKind.BOT: "bots", ModelKind.AGENT: "agents", ModelKind.CONTENT: "bots"}
OTHERS: Mapping[ModelKind, str] = {
    ModelKind.BOT: "people",
    ModelKind.AGENT: "people and bots",
    ModelKind.CONTENT: "people",
}


def warnings_of(ground: Ground, figures: Figures, facts: Sequence[FeatureFact]) -> tuple[str, ...]:
    """Return what should make a reader careful, the gravest first."""
    found = [*_about_features(facts), *_about_labels(ground), *_about_evidence(ground)]
    if figures.roc_auc.low is not None and figures.roc_auc.low < LEAST_ROC_AUC:
        found.append("Some folds hardly distinguished the classes, so the metrics may be too optimistic.")
    return tuple(found)


def about_suspects(found: Suspects) -> tuple[str, ...]:
    """Return what the review of labels found, if it is much."""
    warnings = []
    if len(found.suspects) > found.labels * MANY_SUSPECTS:
        warnings.append(
            f"{len(found.suspects)} of {found.labels} labels are doubtful: other labels or the evidence contradict"
            " them. None was excluded. Look at them first: `agentgate labels review`."
        )
    groups = [(group, "user") for group in found.actors] if len(found.actors) > 1 else []
    groups += [(group, "source") for group in found.sources] if len(found.sources) > 1 else []
    warnings += [
        f"{group.doubtful} of {group.labels} labels of the {what} {group.name} are doubtful."
        " They may be wrong, or set to mislead the model."
        for group, what in groups
        if group.labels >= LEAST_OF_GROUP and group.doubtful > group.labels * MOST_DOUBTFUL
    ]
    return tuple(warnings)


def recommendation(trained: Trained) -> str:
    """Return what to do with the model, in one or two sentences."""
    kind, area = trained.ground.kind, trained.figures.roc_auc.value
    sought, others = SOUGHT[kind], OTHERS[kind]
    if area is None or area < LEAST_ROC_AUC:
        return (
            f"Do not install this model: it hardly distinguishes {sought} from {others}. Improve or add labels first."
        )
    if any(fact.alone >= SEPARATES_ALONE for fact in trained.features):
        return (
            "Resolve the first warning first: metrics this good may only mean that the labels were"
            " derived from the model's features. Until then, install it only as a candidate and do not use it in rules."
        )
    safe = next((found for found in trained.figures.thresholds if _highest(found) <= MOST_FALSE_RATE), None)
    if safe is not None:
        return (
            f"Install it as the candidate and compare it with the active model. In rules, start with a min_score of"
            f" {safe.threshold:g}: there it finds {percent(safe.recall.value)} of {sought} and is wrong about"
            f" {percent(safe.false_positive_rate.value)} of {others} (at most {percent(_highest(safe))})."
        )
    last = trained.figures.thresholds[-1]
    return (
        f"Install it as the candidate to observe it, but do not use it in rules yet: even at"
        f" {last.threshold:g} it may be wrong about {percent(_highest(last))} of {others}. Add labels for a"
        " better estimate."
    )


def percent(value: float | None) -> str:
    """Write a share for people."""
    if value is None:
        return "unknown"
    return f"{value * 100:.1f} %" if value < 0.9995 or value == 1 else f"{value * 100:.2f} %"


def _highest(found: AtThreshold) -> float:
    rate = found.false_positive_rate
    if rate.high is not None:
        return rate.high
    return 1.0 if rate.value is None else rate.value


def _about_features(facts: Sequence[FeatureFact]) -> Iterator[str]:
    names = [fact.name for fact in sorted(facts, key=lambda fact: -fact.alone) if fact.alone >= SEPARATES_ALONE]
    if names:
        shown = ", ".join(names[:NAMED_FEATURES]) + (", and more" if len(names) > NAMED_FEATURES else "")
        yield (
            f"These features alone almost separate the classes: {shown}. Either the task is easy, or the"
            " labels were derived"
            " from them and the model only repeats them. To exclude a feature, use --exclude."
        )


def _about_labels(ground: Ground) -> Iterator[str]:
    sought, others = SOUGHT[ground.kind], OTHERS[ground.kind]
    total = ground.ones + ground.zeros
    if min(ground.ones, ground.zeros) < RARE_SHARE * total:
        yield (
            f"The classes are imbalanced: {ground.ones} of {sought}, {ground.zeros} of {others}."
            " Precision on real traffic depends on the true mix."
        )
    if total < FEW_LABELS:
        yield f"There are only {total} labels. With {FEW_LABELS} or more the intervals become useful."
    if min(ground.visitors_with_ones, ground.visitors_with_zeros) < FEW_VISITORS:
        yield (
            f"The labels come from few visitors: {ground.visitors_with_ones} of {sought},"
            f" {ground.visitors_with_zeros} of {others}. The model may have learned these visitors."
        )
    made = total - ground.sources.get(LabelSource.OPERATOR, 0) - ground.sources.get(LabelSource.APPEAL, 0)
    if made > total / 2:
        yield f"{made} of {total} labels come from probes or synthetic traffic; real visitors may not resemble it."


def _about_evidence(ground: Ground) -> Iterator[str]:
    if not ground.figures_used:
        yield "Measurements such as rates were not used. To use them, turn on feature capture before labeling."
    if ground.left_out:
        yield f"{ground.left_out} labels were excluded because their measurements were not captured."
    if ground.unknown_labels:
        yield f"{ground.unknown_labels} signal label(s) of the evidence are unknown and were ignored."
