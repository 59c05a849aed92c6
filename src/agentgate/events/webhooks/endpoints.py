"""Webhooks over HTTP: the same handlers for operators and for customers."""

from agentgate.events.webhooks import editing
from agentgate.events.webhooks.deliver import DELIVERIES_KEPT, Push, delivery_of
from agentgate.events.webhooks.payloads import sample_message
from agentgate.events.webhooks.records import (
    Delivery,
    Webhook,
    WebhookDelivery,
    WebhookDeliveryList,
    WebhookInput,
    WebhookList,
    WebhookPatch,
    WebhookSecret,
)
from agentgate.events.webhooks.repository import WebhookStores
from agentgate.http.call import SiteCall
from agentgate.http.outbound.client import Outbound
from agentgate.lib.clock import MINUTE_MS
from agentgate.lib.database import Store
from agentgate.lib.keyring import Sealer
from agentgate.lib.limiter import Limiter, Window
from agentgate.lib.moment import Moment
from agentgate.lib.records import optional

# Each test is a request to an address of the caller's choice.
TESTS = Window("webhook-test", 10, MINUTE_MS)


async def list_webhooks(call: SiteCall, store: Store[WebhookStores]) -> WebhookList:
    """List a site's webhooks."""
    found = await store.read.webhooks.list_webhooks(call.site_id)
    return WebhookList(items=[editing.show(webhook, call) for webhook in found])


async def create_webhook(
    call: SiteCall, body: WebhookInput, stores: WebhookStores, sealer: Sealer, outbound: Outbound
) -> WebhookSecret:
    """Create a webhook for decisions or site health changes.

    The signing secret is only in this response. Deliveries start with new decisions.
    """
    editing.check_url(outbound, body.url)
    return await editing.create(stores, call, body, sealer)


async def change_webhook(call: SiteCall, body: WebhookPatch, stores: WebhookStores, outbound: Outbound) -> Webhook:
    """Change a webhook.

    `enabled: true` resumes a paused webhook at the last delivered decision, or at the oldest stored decision.
    """
    if isinstance(body.url, str):
        editing.check_url(outbound, body.url)
    return await editing.change(stores, call, call.params["webhookId"], body)


async def rotate_webhook(call: SiteCall, stores: WebhookStores, sealer: Sealer) -> WebhookSecret:
    """Rotate a webhook's secret; for 24 hours, deliveries are signed with both secrets.

    The new secret is only in this response.
    """
    return await editing.rotate(stores, call, call.params["webhookId"], sealer)


async def delete_webhook(call: SiteCall, stores: WebhookStores) -> None:
    """Delete a webhook."""
    await editing.delete(stores, call, call.params["webhookId"])


async def test_webhook(call: SiteCall, store: Store[WebhookStores], push: Push, limiter: Limiter) -> WebhookDelivery:
    """Send a test delivery to a webhook and return its result.

    It is sent once, even if the webhook is not enabled.
    """
    webhook = await editing.get(store.read, call.site_id, call.params["webhookId"])
    await limiter.require(TESTS, call.site_id, "A site can be tested ten times a minute. Try again in a minute.")
    message = sample_message(webhook, call.site_key, call.now)
    attempt = await push.attempt(webhook, message)
    delivery = delivery_of(webhook, message, attempt, now_ms=call.now, attempts=1)

    async def keep(stores: WebhookStores) -> None:
        await stores.webhooks.lock_site(call.site_id)
        if await stores.webhooks.find_webhook(call.site_id, webhook.id) is not None:
            await stores.webhooks.save_delivery(delivery, keep=DELIVERIES_KEPT)

    await store.change(keep)
    return _record(delivery)


async def list_deliveries(call: SiteCall, store: Store[WebhookStores]) -> WebhookDeliveryList:
    """List a webhook's 50 newest deliveries."""
    webhook = await editing.get(store.read, call.site_id, call.params["webhookId"])
    found = await store.read.webhooks.list_deliveries(webhook.id, DELIVERIES_KEPT)
    return WebhookDeliveryList(items=[_record(delivery) for delivery in found])


def _record(delivery: Delivery) -> WebhookDelivery:
    return WebhookDelivery(
        id=delivery.id,
        type=delivery.kind,
        time=Moment(delivery.time_ms),
        items=delivery.items,
        delivered=delivery.delivered,
        attempts=delivery.attempts,
        duration_ms=delivery.duration_ms,
        status=optional(delivery.status),
        error=optional(delivery.error),
    )
