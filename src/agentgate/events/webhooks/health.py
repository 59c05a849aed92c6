"""Noticing that a site's health has changed since a webhook was last told. Telling it is in `deliver.py`."""

from collections.abc import Awaitable, Callable, Iterable
from itertools import groupby

from agentgate.events.health_records import SiteHealth
from agentgate.events.webhooks.payloads import HealthBody
from agentgate.events.webhooks.progress import with_health, with_health_seen
from agentgate.events.webhooks.records import DeliveryKind, LiveWebhook, Progress, WebhookEvent
from agentgate.events.webhooks.repository import WebhookStores
from agentgate.lib.clock import Clock
from agentgate.lib.database import Store
from agentgate.lib.enums import HealthCheck
from agentgate.lib.ids import new_delivery_id
from agentgate.lib.records import to_json

_BUSY = " busy"

# From a site's ID and key and the present moment to its health.
ReadHealth = Callable[[str, str, int], Awaitable[SiteHealth]]


class HealthWatch:
    """Checks the health of the sites that have a webhook for it."""

    def __init__(self, store: Store[WebhookStores], read_health: ReadHealth, clock: Clock) -> None:
        self._store = store
        self._read_health = read_health
        self._clock = clock

    async def notice_changes(self) -> None:
        live = await self._store.read.webhooks.list_live()
        for webhooks in _by_site(each for each in live if WebhookEvent.HEALTH in each.webhook.events):
            first = webhooks[0]
            health = await self._read_health(first.webhook.site_id, first.site_key, self._clock.now_ms())
            if health.degraded:
                # Nothing is known of the checks that need events, so nothing has changed.
                continue
            for each in webhooks:
                await self._note(each, health)

    async def _note(self, live: LiveWebhook, health: SiteHealth) -> None:
        before = live.webhook.progress
        after = noticed(before, health)
        if after == before:
            return

        async def work(stores: WebhookStores) -> None:
            await stores.webhooks.lock_site(live.webhook.site_id)
            # When another worker was quicker, the next run finds the changes still to be pushed.
            await stores.webhooks.save_progress(live.webhook.id, after)

        await self._store.change(work)


def noticed(progress: Progress, health: SiteHealth) -> Progress:
    """Return the progress with a health change to deliver. The first observed health does not count as a change."""
    status = mark_of(health)
    if progress.health_told is None or (progress.health_told == status and progress.health_id is not None):
        return with_health_seen(progress, status)
    if status in {progress.health_told, progress.health_next}:
        return progress
    body = HealthBody(
        type=DeliveryKind.HEALTH,
        site_key=health.site_key,
        status=health.status.value,
        previous=progress.health_told.partition(_BUSY)[0],
        checks=health.checks,
    )
    return with_health(progress, status, delivery_id=new_delivery_id(), body=to_json(body))


def mark_of(health: SiteHealth) -> str:
    """Return the value to compare: the status, and whether the site is busy, which is sent with any status."""
    is_busy = any(each.check is HealthCheck.SITE_BUSY for each in health.checks)
    return health.status.value + (_BUSY if is_busy else "")


def _by_site(live: Iterable[LiveWebhook]) -> list[list[LiveWebhook]]:
    ordered = sorted(live, key=lambda each: each.site)
    return [list(group) for _, group in groupby(ordered, key=lambda each: each.site)]
