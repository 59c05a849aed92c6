"""The timed job of scoring: delete feature vectors after the days they are kept."""

from agentgate.events.ports import EventStore
from agentgate.lib.clock import HOUR_MS, Clock
from agentgate.lib.database import Store
from agentgate.lib.tasks.job import Job
from agentgate.protection.scoring.feature_capture import expire_features
from agentgate.protection.scoring.repository import ScoringStores


def scoring_jobs(store: Store[ScoringStores], events: EventStore, clock: Clock) -> tuple[Job, ...]:
    """Return the job."""
    return (Job(name="expire-features", interval_ms=HOUR_MS, work=lambda: expire_features(store, events, clock)),)
