"""The queue of decisions to label: the decisions that would teach a model most, each with the reasons."""

from collections import Counter
from collections.abc import Collection, Sequence

from agentgate.decision.scoring.features import SCORE_LABELS
from agentgate.events.decision_ids import write_id
from agentgate.events.queries.replays import ScoreSample
from agentgate.lib.enums import ModelKind, Outcome
from agentgate.lib.records import Record

# From here on the default rules challenge; and half of the width around it in which a label decides most.
ASKED, NEAR = 0.9, 0.15
YES = 0.5
# A set of labels that so few of the recent requests have is a rare family.
RARE = 5
REASONS = ("disagreement", "threshold", "rare")


class ProposedLabel(Record, frozen=True, kw_only=True):
    """A decision to label. Reasons: rules and model disagree, score near a threshold, rare combination of labels."""

    decision_id: str
    reasons: list[str]
    score: float
    outcome: Outcome
    labels: list[str]
    # Recent decisions with the same labels.
    alike: int


class LabelQueue(Record, frozen=True, kw_only=True):
    """Decisions to label, the most useful first: one for each combination of labels."""

    items: list[ProposedLabel]


def propose(
    samples: Sequence[ScoreSample], labeled: Collection[int], kind: ModelKind, *, limit: int
) -> list[ProposedLabel]:
    """Choose decisions without a label, one of each combination of labels."""
    counts: Counter[tuple[str, ...]] = Counter(map(_plain, samples))
    known = {_plain(sample) for sample in samples if sample.id in labeled}
    found: dict[tuple[str, ...], tuple[tuple[int, float, int], ProposedLabel]] = {}
    for sample in samples:
        key = _plain(sample)
        score = sample.scores.get(kind.value)
        if score is None or key in known or key in found:
            continue
        reasons = _reasons(sample, score, counts[key])
        if reasons:
            proposal = ProposedLabel(
                decision_id=write_id(sample.id),
                reasons=reasons,
                score=score,
                outcome=sample.outcome,
                labels=list(key),
                alike=counts[key],
            )
            found[key] = ((-len(reasons), abs(score - ASKED), -counts[key]), proposal)
    return [proposal for _, proposal in sorted(found.values(), key=lambda each: each[0])][:limit]


def _plain(sample: ScoreSample) -> tuple[str, ...]:
    return tuple(label for label in sample.labels if not label.startswith(SCORE_LABELS))


def _reasons(sample: ScoreSample, score: float, count: int) -> list[str]:
    is_allowed = sample.outcome is Outcome.ALLOW
    found = (
        (score >= YES) is is_allowed,
        min(abs(score - ASKED), abs(score - YES)) <= NEAR,
        count < RARE,
    )
    return [name for name, holds in zip(REASONS, found, strict=True) if holds]
