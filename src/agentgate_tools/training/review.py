"""The review of labels in a training run, with the model's scores of visitors that it had not seen."""

from collections.abc import Iterable, Sequence

from agentgate.decision.scoring.label_review import Review, ReviewedLabel, review
from agentgate.lib.enums import ModelKind
from agentgate_tools.training.labels import TARGETS, LabeledDecision

Suspects = Review


def suspects_of(decisions: Sequence[LabeledDecision], scores: Iterable[float] | None, kind: ModelKind) -> Review:
    """Return the labels to review. Scores and decisions have the same order."""
    targets = TARGETS[kind]
    items = [
        ReviewedLabel(
            decision.decision_id,
            targets[decision.label],
            decision.evidence.labels,
            decision.group,
            decision.actor,
            decision.source,
        )
        for decision in decisions
    ]
    return review(items, None if scores is None else [float(score) for score in scores])
