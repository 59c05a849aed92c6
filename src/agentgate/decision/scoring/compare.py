"""Candidate against active model: agreement on recent traffic, changed outcomes, and rates by label.

Nothing is judged by data that is missing: a model that reads numbers is not applied to labels without captured
features, and labels that the candidate was trained on are excluded.
"""

import asyncio
from collections.abc import Mapping

from msgspec import UnsetType, ValidationError

from agentgate.decision.scoring.model_file import read_model
from agentgate.decision.scoring.models import find_model, summarize
from agentgate.decision.scoring.promotion import DAYS, MOST_SAMPLES, CandidateReplay, interval, replay
from agentgate.decision.scoring.records import AskedRates, CompareReport, LabelRates, StoredModel, WouldChange
from agentgate.decision.scoring.repository import ScoringStores
from agentgate.decision.scoring.score import Scorer, TextScorer, make_scorer
from agentgate.decision.signals.numbers import NUMBERS
from agentgate.events.decision_ids import first_id, write_id
from agentgate.events.labels.records import LabelEvidence, StoredLabel
from agentgate.events.queries.replays import ScoreSample, ScoreSamples
from agentgate.lib.clock import DAY_MS
from agentgate.lib.database import Store
from agentgate.lib.enums import DecisionLabelValue, ModelKind, ModelRole
from agentgate.lib.errors import Refused
from agentgate.lib.moment import Moment
from agentgate.sites.directory import SiteDirectory

MOST_LABELS = 10_000
# The score from which on a model finds a bot, and that from which on the default rules challenge.
YES, ASKED = 0.5, 0.9
EXAMPLES = 20

_TRAINED_ON = (DecisionLabelValue.HUMAN, DecisionLabelValue.BOT, DecisionLabelValue.AGENT)


async def compare(
    store: Store[ScoringStores], samples: ScoreSamples, sites: SiteDirectory, kind: ModelKind, now: Moment
) -> CompareReport:
    """Return the report; raise `Refused` if there is nothing to compare."""
    active = await find_model(store.read, kind, ModelRole.ACTIVE)
    candidate = await find_model(store.read, kind, ModelRole.CANDIDATE)
    if candidate is None:
        raise Refused("invalid_request", f"There is no candidate of kind {kind} to compare. Install one first.")
    since = Moment(now - DAYS * DAY_MS)
    found = [] if active is None else await _newest(samples, active, candidate, since)
    labels = await store.read.decision_labels.list_newest_labels(MOST_LABELS)
    scorers = None if active is None else make_scorer(read_model(active.file)), make_scorer(read_model(candidate.file))
    # Tens of thousands of evaluations: in a thread, so that the event loop is not blocked.
    replayed = await asyncio.to_thread(replay, found, sites, kind, scorers)
    per_label = await asyncio.to_thread(label_rates, labels, kind, scorers, trained_until(candidate))
    return CompareReport(
        kind=kind,
        active=None if active is None else summarize(active),
        candidate=summarize(candidate),
        from_=since,
        to=now,
        samples=len(found),
        agreement=await asyncio.to_thread(agreement, found, kind),
        would_change=would_change(replayed),
        per_label=per_label,
    )


async def _newest(
    samples: ScoreSamples, active: StoredModel, candidate: StoredModel, since: Moment
) -> list[ScoreSample]:
    return await samples.newest(
        candidate.kind,
        active_version=summarize(active).version,
        candidate_version=summarize(candidate).version,
        # Events before its installation have no score of the candidate.
        since_id=first_id(max(since, candidate.installed_ms)),
        limit=MOST_SAMPLES,
    )


def agreement(samples: list[ScoreSample], kind: ModelKind) -> float | None:
    """Return the share of samples that both models put on the same side of 0.5; None of none."""
    if not samples:
        return None
    same = sum((sample.scores[kind] >= YES) == (sample.shadow_scores[kind] >= YES) for sample in samples)
    return round(same / len(samples), 4)


def would_change(found: CandidateReplay) -> WouldChange:
    """Count the outcomes that today's rules would decide otherwise with the candidate's score."""
    stricter = sum(change.is_stricter for change in found.changes)
    return WouldChange(
        total=len(found.changes),
        stricter=stricter,
        looser=len(found.changes) - stricter,
        decisions=[write_id(change.sample.id) for change in found.changes[:EXAMPLES]],
    )


def trained_until(model: StoredModel) -> Moment | None:
    """Return the time of the newest decision that a model was trained on, as its file has it."""
    end = summarize(model).metadata.get("to")
    try:
        return Moment.parse(end) if isinstance(end, str) else None
    except (ValueError, ValidationError):
        return None


def label_rates(
    labels: list[StoredLabel], kind: ModelKind, scorers: tuple[Scorer | None, Scorer], until: Moment | None
) -> dict[DecisionLabelValue, LabelRates]:
    """Return for each label but `unsure` how many decisions each model scores at the threshold or above."""
    found = {}
    for value in _TRAINED_ON:
        evidence = [label.evidence for label in labels if label.label == value and _is_scored(label.evidence, kind)]
        if not evidence:
            continue
        unseen = [each for each in evidence if until is None or each.time > until]
        judged = [each for each in unseen if all(_can_score(scorer, each) for scorer in scorers)]
        scores = [[_score(scorer, each) for each in judged] for scorer in scorers]
        found[value] = LabelRates(
            samples=len(judged),
            active_rate=_rate(scores[0], YES),
            candidate_rate=_rate(scores[1], YES),
            asked=AskedRates(
                active_rate=_rate(scores[0], ASKED),
                active_interval=_interval(scores[0]),
                candidate_rate=_rate(scores[1], ASKED),
                candidate_interval=_interval(scores[1]),
            ),
            trained_on=len(evidence) - len(unseen),
            without_features=len(unseen) - len(judged),
        )
    return found


def _is_scored(evidence: LabelEvidence, kind: ModelKind) -> bool:
    # Models of this kind score content only.
    return kind != ModelKind.CONTENT or kind in evidence.scores


def _can_score(scorer: Scorer | None, evidence: LabelEvidence) -> bool:
    # Texts are never stored, so a model that reads them cannot be applied later.
    if scorer is None or isinstance(scorer, TextScorer):
        return scorer is None
    return not scorer.figures or not isinstance(evidence.features, UnsetType)


def _score(scorer: Scorer | None, evidence: LabelEvidence) -> float:
    return 0.0 if scorer is None else scorer.score(evidence.labels, _numbers(evidence))


def _rate(scores: list[float], least: float) -> float:
    return round(sum(score >= least for score in scores) / len(scores), 4) if scores else 0.0


def _interval(scores: list[float]) -> list[float]:
    return [round(end, 4) for end in interval(sum(score >= ASKED for score in scores), len(scores))]


def _numbers(evidence: LabelEvidence) -> Mapping[str, float]:
    if isinstance(evidence.features, UnsetType):
        return {}
    return {name: value for name, value in evidence.features.items() if name in NUMBERS}
