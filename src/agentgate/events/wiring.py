"""Wires the recorder of events, their reading, and webhooks. `server/application.py` calls it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from agentgate.events.decision_counts import DecisionMetrics
from agentgate.events.decision_log import DecisionLog
from agentgate.events.jobs import event_jobs
from agentgate.events.ports import Batching, EventStore
from agentgate.events.queries.ports import TrafficStore
from agentgate.events.queries.queries import TrafficTerms
from agentgate.events.queries.records import Decision
from agentgate.events.recorder import Recorder
from agentgate.events.storage.queries.kept_events import DecisionFeed
from agentgate.events.webhooks.deliver import Push
from agentgate.events.webhooks.repository import WebhookStores
from agentgate.http.outbound.client import Outbound
from agentgate.lib.database import Store
from agentgate.lib.foundation import Foundation
from agentgate.lib.tasks.job import Job
from agentgate.lib.telemetry import series


class BatchedEventStore(EventStore, Protocol):
    """A store of events, and in which portions it takes them best."""

    @property
    def batching(self) -> Batching: ...


class EventSources(Protocol):
    """The opened stores that recorder, read models and webhooks use."""

    @property
    def store(self) -> Store[WebhookStores]: ...
    @property
    def events(self) -> BatchedEventStore: ...
    @property
    def feed(self) -> DecisionFeed: ...
    @property
    def traffic(self) -> TrafficStore: ...


@dataclass(frozen=True, kw_only=True)
class Events:
    """The recorder, the push to webhooks, what handlers ask for, and the jobs."""

    recorder: Recorder
    push: Push
    dependencies: dict[Any, Any]
    jobs: tuple[Job, ...]


def wire(
    foundation: Foundation,
    stores: EventSources,
    key_of: Callable[[int], str | None],
    explain: Callable[[Decision], Decision],
) -> Events:
    """Make the recorder, the push to webhooks and their jobs; `key_of` returns a site's key by its number, `explain` a
    decision with its explanation."""
    settings, metrics = foundation.settings, foundation.metrics
    recorder = Recorder(stores.events, failed=metrics.event_write_failed, batching=stores.events.batching)
    recorder.log = DecisionLog(settings.decision_log_every, key_of)
    recorder.took = metrics.timing("events")
    metrics.watch(series.EVENTS_SENT, lambda: {(): recorder.sent})
    metrics.watch(series.EVENTS_STORED, lambda: {(): recorder.stored})
    metrics.watch(series.EVENTS_WAITING, lambda: {(): recorder.waiting})
    metrics.show(DecisionMetrics(recorder.decisions, key_of))
    outbound = Outbound(frozenset(settings.webhook_private_hosts))
    push = Push(
        stores.store, stores.feed, outbound=outbound, sealer=foundation.sealer, clock=foundation.clock, metrics=metrics
    )
    push.explain = explain
    terms = TrafficTerms(
        event_days=settings.event_days,
        metric_days=settings.metric_days,
        trace_url_template=settings.trace_url_template,
        count_write_failures=lambda: recorder.failed,
    )
    return Events(
        recorder=recorder,
        push=push,
        dependencies={
            EventStore: stores.events,
            Outbound: outbound,
            Push: push,
            TrafficStore: stores.traffic,
            TrafficTerms: terms,
        },
        jobs=event_jobs(stores.events, settings, foundation.clock),
    )
