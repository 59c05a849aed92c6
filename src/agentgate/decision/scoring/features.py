"""Features: the input of models. Signal labels count 1 when present; numeric features have their values.

An absent feature counts 0, so numeric features of 0 are omitted too. Features never contain content or an address.
Score bands are labels that show how sure a model is, so that rules can match them like any other label.
"""

from collections.abc import Mapping

from agentgate.decision.signals.facts import Observation
from agentgate.decision.signals.numbers import NUMBERS
from agentgate.sites.rules.labels import is_label

# Labels derived from scores, and labels of the site's load: a model must not learn from its own output, nor from what
# others do.
SCORE_LABELS = ("model.", "site.")


def is_feature(name: str) -> bool:
    return name in NUMBERS or (is_label(name) and not name.startswith(SCORE_LABELS))


def feature_values(observation: Observation) -> dict[str, float]:
    """Return the feature vector of a request, for training and for evidence."""
    values = {label: 1.0 for label in observation.labels if not label.startswith(SCORE_LABELS)}
    values.update({name: number for name, number in observation.numbers.items() if number})
    return values


LIKELY = 0.8
POSSIBLE = 0.5


def band_labels(scores: Mapping[str, float]) -> tuple[str, ...]:
    """Return `model.<kind>.possible` for each score from 0.5 on, and also `model.<kind>.likely` from 0.8 on."""
    if not scores or max(scores.values()) < POSSIBLE:
        # Most requests.
        return ()
    labels: list[str] = []
    # Sorted as all labels are: kinds by name, and `likely` before `possible`.
    for kind in sorted(scores):
        if scores[kind] >= LIKELY:
            labels.append(f"model.{kind}.likely")
        if scores[kind] >= POSSIBLE:
            labels.append(f"model.{kind}.possible")
    return tuple(labels)
