"""The timed job of appeals: delete old ones."""

from agentgate.lib import limits
from agentgate.lib.clock import DAY_MS, Clock
from agentgate.lib.database import Store
from agentgate.lib.tasks.job import Job
from agentgate.protection.appeals.repository import AppealStores


def appeal_jobs(store: Store[AppealStores], clock: Clock) -> tuple[Job, ...]:
    """Return the job."""
    return (Job(name="forget-appeals", interval_ms=DAY_MS, work=lambda: forget_appeals(store, clock)),)


async def forget_appeals(store: Store[AppealStores], clock: Clock) -> None:
    """Delete appeals that are older than the days they are kept."""
    before_ms = clock.now_ms() - limits.APPEAL_KEPT_DAYS * DAY_MS
    await store.change(lambda stores: stores.appeals.forget_appeals(before_ms))
