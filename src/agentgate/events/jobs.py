"""Timed jobs of events: roll up the days that are over, and delete old events and counters."""

from agentgate.events.ports import EventStore
from agentgate.lib.clock import DAY_MS, HOUR_MS, MINUTE_MS, Clock
from agentgate.lib.settings.schema import Settings
from agentgate.lib.tasks.job import Job


def event_jobs(events: EventStore, settings: Settings, clock: Clock) -> tuple[Job, ...]:
    """Return the jobs."""

    async def close_days() -> None:
        await events.close_days(now_ms=clock.now_ms())

    async def forget() -> None:
        today, event_days = clock.now_ms() // DAY_MS, settings.event_days
        # The day that is only partly old enough is kept whole. Aggregates are never forgotten before their events.
        await events.forget(
            events_before_day=today - event_days, metrics_before_day=today - max(event_days, settings.metric_days)
        )

    return (
        Job(name="close-days", interval_ms=10 * MINUTE_MS, work=close_days),
        Job(name="retention", interval_ms=HOUR_MS, work=forget),
    )
