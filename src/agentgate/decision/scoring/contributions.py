"""Contributions: how much a label or number changed a score: the score with it minus the score without it."""

from collections.abc import Mapping, Sequence

from agentgate.decision.scoring.features import SCORE_LABELS
from agentgate.decision.scoring.score import Scorer
from agentgate.lib.records import Record

MOST = 12
# The scorer rounds to four decimals.
LEAST_EFFECT = 0.0005


class Contribution(Record, frozen=True, kw_only=True):
    """A feature, and the score with it minus the score without it. `meaning` is the label's."""

    feature: str
    effect: float
    meaning: str


class Contributions(Record, frozen=True, kw_only=True):
    """The features that changed a score most. Together they need not add up: features act in combination."""

    version: str
    score: float
    contributions: list[Contribution]


def effects(
    scorer: Scorer, labels: Sequence[str], numbers: Mapping[str, float], meanings: Mapping[str, str]
) -> tuple[float, list[Contribution]]:
    """Return the score again, and the features that changed it most, the greatest effect first."""
    known = tuple(label for label in labels if not label.startswith(SCORE_LABELS))
    score = scorer.score(known, numbers)
    found = []
    for name in known:
        without = scorer.score(tuple(label for label in known if label != name), numbers)
        found.append((name, score - without))
    found += [(name, score - scorer.score(known, {**numbers, name: 0.0})) for name in numbers if name in scorer.figures]
    found.sort(key=lambda each: (-abs(each[1]), each[0]))
    shown = [
        Contribution(feature=name, effect=round(effect, 4), meaning=meanings.get(name, ""))
        for name, effect in found[:MOST]
        if abs(effect) >= LEAST_EFFECT
    ]
    return score, shown
