"""Timed jobs of the outbox: hand messages to the mail server, and forget their bodies."""

from agentgate.lib import limits
from agentgate.lib.clock import DAY_MS, MINUTE_MS, Clock
from agentgate.lib.database import Store
from agentgate.lib.tasks.job import Job
from agentgate.people.outbox.deliver import MailDelivery
from agentgate.people.outbox.repository import OutboxStores

# A day longer than the longest link lives.
BODY_KEPT_MS = (limits.INVITE_LINK_DAYS + 1) * DAY_MS


def outbox_jobs(store: Store[OutboxStores], delivery: MailDelivery | None, clock: Clock) -> tuple[Job, ...]:
    """Return the jobs. Without a mail server, messages wait in the outbox."""
    clear = Job(name="clear-messages", interval_ms=10 * MINUTE_MS, work=lambda: clear_messages(store, clock))
    if delivery is None:
        return (clear,)
    return (Job(name="deliver-mail", interval_ms=0, work=delivery.deliver_due, guarded=False), clear)


async def clear_messages(store: Store[OutboxStores], clock: Clock) -> None:
    """Delete the bodies of messages whose link is of no more use."""
    now_ms = clock.now_ms()

    async def clear(stores: OutboxStores) -> None:
        await stores.outbox.clear_dead_bodies(now_ms)
        await stores.outbox.clear_bodies(now_ms - BODY_KEPT_MS)

    await store.change(clear)
