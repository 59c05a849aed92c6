"""Timed jobs: roll up ended days, delete old events and counters, push to webhooks."""

from agentgate.events.ports import EventStore
from agentgate.events.webhooks.deliver import Push
from agentgate.events.webhooks.health import HealthWatch
from agentgate.lib.clock import DAY_MS, HOUR_MS, MINUTE_MS, Clock
from agentgate.lib.settings.schema import Settings
from agentgate.lib.tasks.job import Job


def event_jobs(events: EventStore, settings: Settings, clock: Clock) -> tuple[Job, ...]:

    async def close_days() -> None:
        await events.close_days(now_ms=clock.now_ms())

    async def forget() -> None:
        today, event_days = clock.now_ms() // DAY_MS, settings.event_days
        # Keep a day whole if only a part of it is old enough. Never delete aggregates before their events.
        await events.forget(
            events_before_day=today - event_days, metrics_before_day=today - max(event_days, settings.metric_days)
        )

    return (
        Job(name="close-days", interval_ms=10 * MINUTE_MS, work=close_days),
        Job(name="retention", interval_ms=HOUR_MS, work=forget),
    )


def webhook_jobs(push: Push, watch: HealthWatch) -> tuple[Job, ...]:
    """Return the jobs that push decisions, and changes of a site's health."""
    return (
        Job(name="push-decisions", interval_ms=0, work=push.push_due, guarded=False),
        Job(name="push-health", interval_ms=5 * MINUTE_MS, work=watch.notice_changes, guarded=False),
    )
