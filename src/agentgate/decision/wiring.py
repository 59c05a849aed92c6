"""Wires labels, captured features and models. `server/application.py` calls it."""

from dataclasses import dataclass
from typing import Any, Protocol

from agentgate.decision.scoring.content_endpoints import ContentScorer
from agentgate.decision.scoring.drift import DriftWatch
from agentgate.decision.scoring.endpoints import scoring_jobs
from agentgate.decision.scoring.repository import ScoringStores
from agentgate.decision.snapshot_refresher import SnapshotRefresher
from agentgate.events.labels.repository import KeptEvents
from agentgate.events.ports import EventStore
from agentgate.events.queries.replays import ScoreSamples
from agentgate.lib.database import Store
from agentgate.lib.foundation import Foundation
from agentgate.lib.tasks.job import Job
from agentgate.lib.telemetry import series
from agentgate.sites.rules.endpoints import Explainer


class DecisionSources(Protocol):
    """The opened stores that labels and models use."""

    @property
    def store(self) -> Store[ScoringStores]: ...
    @property
    def events(self) -> EventStore: ...
    @property
    def evidence(self) -> KeptEvents: ...
    @property
    def score_samples(self) -> ScoreSamples: ...


@dataclass(frozen=True, kw_only=True)
class Decisions:
    """What handlers ask for, and the jobs."""

    dependencies: dict[Any, Any]
    jobs: tuple[Job, ...]


def wire(foundation: Foundation, stores: DecisionSources, refresher: SnapshotRefresher) -> Decisions:
    """Put together what explains decisions and what models learn from; the refresher has the decider."""
    drift = DriftWatch(stores.score_samples, foundation.clock, refresher.sites.key_of)
    foundation.metrics.watch(series.DRIFT, drift.indexes)
    foundation.metrics.watch(series.SCORES, drift.bands)
    return Decisions(
        dependencies={
            ContentScorer: ContentScorer(refresher.sites, refresher.models, refresher.intel),
            DriftWatch: drift,
            Explainer: refresher,
            KeptEvents: stores.evidence,
            ScoreSamples: stores.score_samples,
        },
        jobs=(*scoring_jobs(stores.store, stores.events, foundation.clock), *drift.jobs()),
    )
