"""Timed jobs of webhooks: push decisions, and push changes of a site's health."""

from agentgate.events.webhooks.deliver import Push
from agentgate.events.webhooks.health import HealthWatch
from agentgate.lib.clock import MINUTE_MS
from agentgate.lib.tasks.job import Job


def webhook_jobs(push: Push, watch: HealthWatch) -> tuple[Job, ...]:
    """Return the jobs."""
    return (
        Job(name="push-decisions", interval_ms=0, work=push.push_due, guarded=False),
        Job(name="push-health", interval_ms=5 * MINUTE_MS, work=watch.notice_changes, guarded=False),
    )
