"""Over HTTP: contributions to a decision's scores, the review of labels, the queue of decisions to label."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated

from msgspec import Meta, UnsetType

from agentgate.decision.scoring import models
from agentgate.decision.scoring.features import SCORE_LABELS
from agentgate.decision.scoring.label_queue import LabelQueue, propose
from agentgate.decision.scoring.label_review import ReviewedLabel, review
from agentgate.decision.scoring.model_file import read_model
from agentgate.decision.scoring.promotion import DAYS, MOST_SAMPLES
from agentgate.decision.scoring.repository import ScoringStores
from agentgate.decision.scoring.score import Scorer, TextScorer, make_scorer
from agentgate.decision.signals.numbers import NUMBERS
from agentgate.events.decision_ids import first_id, read_id
from agentgate.events.labels.endpoints import SiteQuery
from agentgate.events.labels.records import StoredLabel
from agentgate.events.labels.repository import KeptEvents
from agentgate.events.queries.replays import ScoreSamples
from agentgate.http.call import SiteCall
from agentgate.lib.clock import DAY_MS
from agentgate.lib.database import Store
from agentgate.lib.enums import DecisionLabelValue, ModelKind
from agentgate.lib.errors import Refused
from agentgate.lib.moment import Moment
from agentgate.lib.records import Record
from agentgate.sites.rules.labels import LABELS

MOST_REVIEWED = 10_000
MOST_SHOWN = 200
_TARGETS = {
    ModelKind.BOT: {DecisionLabelValue.BOT: 1, DecisionLabelValue.HUMAN: 0},
    ModelKind.AGENT: {DecisionLabelValue.AGENT: 1, DecisionLabelValue.HUMAN: 0, DecisionLabelValue.BOT: 0},
    ModelKind.CONTENT: {DecisionLabelValue.BOT: 1, DecisionLabelValue.HUMAN: 0},
}


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


class DecisionContributions(Record, frozen=True, kw_only=True):
    """By kind of model. A kind is missing if its version is not kept, or if it reads what is not stored."""

    models: dict[ModelKind, Contributions]


class KindQuery(SiteQuery, frozen=True, kw_only=True):
    """Which site, and which kind of model."""

    kind: ModelKind = ModelKind.BOT
    limit: Annotated[int, Meta(ge=1, le=MOST_SHOWN)] = 50


class DoubtfulLabel(Record, frozen=True, kw_only=True):
    """A label to look at again. `score`: what labels of others predict, 1 is a bot."""

    decision_id: str
    label: DecisionLabelValue
    actor: str
    source: str
    doubt: float
    score: float
    reasons: list[str]
    signals: list[str]


class LabelShare(Record, frozen=True, kw_only=True):
    """Labels of one user or from one source, and how many are doubtful."""

    name: str
    labels: int
    doubtful: int


class LabelReview(Record, frozen=True, kw_only=True):
    """Doubtful labels of a site, the most doubtful first. Nothing is changed."""

    labels: int
    doubtful: int
    items: list[DoubtfulLabel]
    actors: list[LabelShare]
    sources: list[LabelShare]


async def read_contributions(
    call: SiteCall,
    query: SiteQuery,  # noqa: ARG001 - the scope reads it
    store: Store[ScoringStores],
    events: KeptEvents,
) -> DecisionContributions:
    """Read how much each label changed the scores of a decision.

    The effect of a label is the score with it minus the score without it.
    """
    decision = read_id(call.params["decisionId"])
    number = await store.read.sites.find_number(call.site_id)
    event = None if decision is None else await events.find_event(number, decision)
    if event is None:
        raise Refused("not_found", "The site has no decision with this ID, or its retention has ended.")
    numbers = {name: value for name, value in (event.features or {}).items() if name in NUMBERS}
    meanings = {label.name: label.meaning for label in LABELS}
    found = {}
    for kind in ModelKind:
        version, score = event.model_versions.get(kind.value), event.scores.get(kind.value)
        file = None if version is None else await models.find_version(store.read, kind, version)
        if file is None or version is None or score is None:
            continue
        scorer = make_scorer(read_model(file))
        if isinstance(scorer, TextScorer) or (scorer.figures and not event.features):
            continue
        _, contributions = await asyncio.to_thread(effects, scorer, event.labels, numbers, meanings)
        found[kind] = Contributions(version=version, score=score, contributions=contributions)
    return DecisionContributions(models=found)


async def review_labels(call: SiteCall, query: KindQuery, store: Store[ScoringStores]) -> LabelReview:
    """Review the labels of a site: which ones other labels or the evidence contradict. Nothing is changed."""
    targets = _TARGETS[query.kind]
    stored = await store.read.decision_labels.list_labels(call.site_id, after=None, limit=MOST_REVIEWED)
    by_id = {label.wire().decision_id: label for label in stored if label.label in targets}
    items = [_reviewed(name, label, targets) for name, label in by_id.items()]
    found = await asyncio.to_thread(review, items)
    return LabelReview(
        labels=found.labels,
        doubtful=len(found.suspects),
        items=[
            DoubtfulLabel(
                decision_id=each.decision,
                label=label.label,
                actor=label.actor,
                source=label.source,
                doubt=each.doubt,
                score=each.score,
                reasons=list(each.reasons),
                signals=label.evidence.labels,
            )
            for each in found.suspects[: query.limit]
            for label in (by_id[each.decision],)
        ],
        actors=[LabelShare(name=each.name, labels=each.labels, doubtful=each.doubtful) for each in found.actors],
        sources=[LabelShare(name=each.name, labels=each.labels, doubtful=each.doubtful) for each in found.sources],
    )


def _reviewed(name: str, label: StoredLabel, targets: dict[DecisionLabelValue, int]) -> ReviewedLabel:
    visitor = label.evidence.visitor_id
    group = f"decision {name}" if isinstance(visitor, UnsetType) else f"visitor {visitor}"
    return ReviewedLabel(name, targets[label.label], tuple(label.evidence.labels), group, label.actor, label.source)


async def list_label_queue(
    call: SiteCall, query: KindQuery, store: Store[ScoringStores], samples: ScoreSamples
) -> LabelQueue:
    """List decisions of the last 7 days that are worth a label, the most useful first.

    Reasons: `disagreement` of rules and model, a score near a `threshold`, a `rare` combination of labels.
    """
    number = await store.read.sites.find_number(call.site_id)
    since_id = first_id(Moment(call.now - DAYS * DAY_MS))
    recent = await samples.recent(query.kind, "", since_id=since_id, limit=MOST_SAMPLES)
    own = [sample for sample in recent if sample.site == number]
    stored = await store.read.decision_labels.list_labels(call.site_id, after=None, limit=MOST_REVIEWED)
    labeled = {label.decision for label in stored}
    return LabelQueue(items=await asyncio.to_thread(propose, own, labeled, query.kind, limit=query.limit))


MOST = 12
# The scorer rounds to four decimals.
LEAST_EFFECT = 0.0005


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
