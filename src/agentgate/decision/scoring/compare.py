"""Candidate against active model: agreement on recent traffic, changed outcomes, and rates by label."""

import asyncio
from collections.abc import Iterable, Mapping

from msgspec import UnsetType

from agentgate.decision.scoring.features import SCORE_LABELS, band_labels
from agentgate.decision.scoring.model_file import read_model
from agentgate.decision.scoring.models import find_model, summarize
from agentgate.decision.scoring.records import (
    CompareReport,
    LabelRates,
    ScoreSample,
    StoredModel,
    WouldChange,
)
from agentgate.decision.scoring.repository import ScoreSamples, ScoringStores
from agentgate.decision.scoring.score import Scorer, make_scorer
from agentgate.decision.signals.numbers import NUMBERS
from agentgate.events.decision_ids import first_id
from agentgate.events.label_records import LabelEvidence, StoredLabel
from agentgate.lib.clock import DAY_MS
from agentgate.lib.database import Store
from agentgate.lib.enums import DecisionLabelValue, ModelKind, ModelRole
from agentgate.lib.errors import Refused
from agentgate.lib.moment import Moment
from agentgate.sites.directory import SiteDirectory
from agentgate.sites.rules.evaluate import NO_TRAITS, PAGE, STRICTNESS, Traits

COMPARED_DAYS = 7
MOST_SAMPLES = 20_000
MOST_LABELS = 10_000
# The score from which on a model says yes.
YES = 0.5

_TRAINED_ON = (DecisionLabelValue.HUMAN, DecisionLabelValue.BOT, DecisionLabelValue.AGENT)


async def compare(
    store: Store[ScoringStores], samples: ScoreSamples, sites: SiteDirectory, kind: ModelKind, now: Moment
) -> CompareReport:
    """Return the report, or refuse when there is nothing to compare."""
    active = await find_model(store.read, kind, ModelRole.ACTIVE)
    candidate = await find_model(store.read, kind, ModelRole.CANDIDATE)
    if active is None or candidate is None:
        raise Refused("invalid_request", f"There is no candidate of kind {kind} to compare. Install one first.")
    summaries = summarize(active), summarize(candidate)
    since = Moment(now - COMPARED_DAYS * DAY_MS)
    found = await samples.newest(
        kind,
        active_version=summaries[0].version,
        candidate_version=summaries[1].version,
        # Events before its installation have no score of the candidate.
        since_id=first_id(max(since, candidate.installed_ms)),
        limit=MOST_SAMPLES,
    )
    labels = await store.read.decision_labels.list_newest_labels(MOST_LABELS)
    # Tens of thousands of evaluations: in a thread, so that the event loop is not blocked.
    would_change = await asyncio.to_thread(count_changes, found, sites, kind)
    per_label = await asyncio.to_thread(_rates, labels, active, candidate)
    return CompareReport(
        kind=kind,
        active=summaries[0],
        candidate=summaries[1],
        from_=since,
        to=now,
        samples=len(found),
        agreement=await asyncio.to_thread(agreement, found, kind),
        would_change=would_change,
        per_label=per_label,
    )


def agreement(samples: list[ScoreSample], kind: ModelKind) -> float | None:
    """Return the share of samples that both models put on the same side of 0.5; None of none."""
    if not samples:
        return None
    same = sum((sample.scores[kind] >= YES) == (sample.shadow_scores[kind] >= YES) for sample in samples)
    return round(same / len(samples), 4)


def count_changes(samples: Iterable[ScoreSample], sites: SiteDirectory, kind: ModelKind) -> WouldChange:
    """Count the outcomes that today's rules would decide otherwise with the candidate's score."""
    stricter = looser = 0
    for sample in samples:
        compiled = sites.compiled(sample.site)
        if compiled is None or not sample.ruled:
            continue
        labels = tuple(label for label in sample.labels if not label.startswith(SCORE_LABELS))
        unknown = NO_TRAITS if compiled.predicates is None else Traits(PAGE, compiled.predicates.unknown_bits)
        found = [
            {
                STRICTNESS[verdict.outcome]
                for verdict in compiled.possible(
                    ((*labels, *band_labels(scores)), scores, sample.route, sample.action), unknown
                )
            }
            for scores in (sample.scores, {**sample.scores, kind.value: sample.shadow_scores[kind]})
        ]
        if any(len(outcomes) > 1 for outcomes in found):
            # The outcome depends on an address, a header or a path, which no sample has.
            continue
        (before,), (after,) = found
        stricter += after > before
        looser += after < before
    return WouldChange(total=stricter + looser, stricter=stricter, looser=looser)


def _rates(
    labels: list[StoredLabel], active: StoredModel, candidate: StoredModel
) -> dict[DecisionLabelValue, LabelRates]:
    return label_rates(
        labels, active.kind, make_scorer(read_model(active.file)), make_scorer(read_model(candidate.file))
    )


def label_rates(
    labels: list[StoredLabel], kind: ModelKind, active: Scorer, candidate: Scorer
) -> dict[DecisionLabelValue, LabelRates]:
    """Return for each label that occurs how often each model says yes. `unsure` says nothing about either."""
    found = {}
    for value in _TRAINED_ON:
        evidence = [label.evidence for label in labels if label.label == value and _is_scored(label.evidence, kind)]
        if evidence:
            found[value] = LabelRates(
                samples=len(evidence),
                active_rate=_yes_rate(active, evidence),
                candidate_rate=_yes_rate(candidate, evidence),
            )
    return found


def _is_scored(evidence: LabelEvidence, kind: ModelKind) -> bool:
    # Models of this kind score content only.
    return kind != ModelKind.CONTENT or kind in evidence.scores


def _yes_rate(scorer: Scorer, evidence: list[LabelEvidence]) -> float:
    said = sum(scorer.score(each.labels, _numbers(each)) >= YES for each in evidence)
    return round(said / len(evidence), 4)


def _numbers(evidence: LabelEvidence) -> Mapping[str, float]:
    if isinstance(evidence.features, UnsetType):
        return {}
    return {name: value for name, value in evidence.features.items() if name in NUMBERS}
