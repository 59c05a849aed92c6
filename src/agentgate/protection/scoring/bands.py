"""Score bands: labels that say how sure a model is, so that rules can match them like any other label."""

from collections.abc import Mapping

LIKELY = 0.8
POSSIBLE = 0.5


def band_labels(scores: Mapping[str, float]) -> tuple[str, ...]:
    """Return `model.<kind>.possible` for each score from 0.5 on, and `model.<kind>.likely` beside it from 0.8 on."""
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
