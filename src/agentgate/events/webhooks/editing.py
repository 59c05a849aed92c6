"""The life of a webhook: made, changed, given another secret, deleted. Its limit holds under any race."""

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from agentgate.events.webhooks.payloads import CHATS
from agentgate.events.webhooks.progress import last_id_before, new_progress, resumed, rewritten, with_health_seen
from agentgate.events.webhooks.records import (
    EVERYTHING,
    Progress,
    StoredWebhook,
    Webhook,
    WebhookEvent,
    WebhookFilter,
    WebhookInput,
    WebhookPatch,
    WebhookSecret,
    WebhookStatus,
)
from agentgate.events.webhooks.repository import WebhookStores
from agentgate.events.webhooks.signing import new_secret, seal_secret
from agentgate.http.call import SiteCall
from agentgate.http.outbound.client import Outbound, OutboundFailed
from agentgate.lib.clock import DAY_MS
from agentgate.lib.errors import Refused
from agentgate.lib.ids import new_webhook_id
from agentgate.lib.keyring import Sealer
from agentgate.lib.moment import Moment
from agentgate.lib.records import given, optional, optional_moment
from agentgate.people.audit.actions import Action
from agentgate.people.audit.trail import Subject, diff, record

WEBHOOKS_PER_SITE = 5
# How long a replaced secret continues to sign.
OVERLAP_MS = DAY_MS

_EDITED = ("url", "events", "format", "filter", "enabled")


def check_url(outbound: Outbound, url: str) -> None:
    """Reject an address that AgentGate would never send to."""
    try:
        outbound.check(url)
    except OutboundFailed as failed:
        raise Refused("invalid_request", f"url {failed.reason}.") from None


def _check_format(webhook: StoredWebhook) -> None:
    if webhook.format in CHATS and WebhookEvent.DECISIONS in webhook.events:
        raise Refused("invalid_request", f'events must be ["health"] for the format {webhook.format}.')


async def create(stores: WebhookStores, call: SiteCall, body: WebhookInput, sealer: Sealer) -> WebhookSecret:
    """Create a webhook, unless the site has reached its limit."""
    await stores.webhooks.lock_site(call.site_id)
    count = len(await stores.webhooks.list_webhooks(call.site_id))
    if count >= WEBHOOKS_PER_SITE:
        raise Refused("invalid_state", f"The site has {count} webhooks of {WEBHOOKS_PER_SITE}; delete one first.")
    webhook_id, secret = new_webhook_id(), new_secret()
    made = StoredWebhook(
        id=webhook_id,
        site_id=call.site_id,
        account_id=call.account_id,
        url=body.url,
        events=_in_order(body.events),
        format=body.format,
        filter=_plain(body.filter),
        enabled=body.enabled,
        secret=seal_secret(sealer, webhook_id, secret),
        created_ms=call.now,
        progress=new_progress(call.now),
    )
    _check_format(made)
    await stores.webhooks.add_webhook(made)
    shown = show(made, call)
    await _record(stores, call, Action.WEBHOOK_CREATE, shown, {"url": shown.url, "events": shown.events})
    return WebhookSecret(webhook=shown, secret=secret)


async def change(stores: WebhookStores, call: SiteCall, webhook_id: str, body: WebhookPatch) -> Webhook:
    """Change what was sent. Enabling a webhook, or giving it another address, makes it try again at once."""
    await stores.webhooks.lock_site(call.site_id)
    before = await get(stores, call.site_id, webhook_id)
    after = _changed(before, body, call)
    _check_format(after)
    if body.enabled is True or after.url != before.url:
        after = replace(after, progress=resumed(after.progress, call.now))
    if after != before:
        await stores.webhooks.save_webhook(after)
        saved = await stores.webhooks.save_progress(after.id, after.progress)
        assert saved, "deliveries take the site's lock too, so none can end in between"
    shown = show(after, call)
    changes = diff(show(before, call), shown, _EDITED)
    if changes:
        await _record(stores, call, Action.WEBHOOK_UPDATE, shown, changes)
    return shown


async def rotate(stores: WebhookStores, call: SiteCall, webhook_id: str, sealer: Sealer) -> WebhookSecret:
    """Give a webhook another secret; for a day, deliveries carry a signature of the old one too."""
    await stores.webhooks.lock_site(call.site_id)
    before = await get(stores, call.site_id, webhook_id)
    secret, ends_ms = new_secret(), call.now + OVERLAP_MS
    after = replace(
        before, secret=seal_secret(sealer, before.id, secret), replaced_secret=before.secret, replaced_until_ms=ends_ms
    )
    await stores.webhooks.save_webhook(after)
    shown = show(after, call)
    await _record(stores, call, Action.WEBHOOK_ROTATE, shown, {"overlapEndsAt": Moment(ends_ms).text()})
    return WebhookSecret(webhook=shown, secret=secret)


async def delete(stores: WebhookStores, call: SiteCall, webhook_id: str) -> None:
    """Delete a webhook. Deliveries in progress may still arrive."""
    await stores.webhooks.lock_site(call.site_id)
    shown = show(await get(stores, call.site_id, webhook_id), call)
    await stores.webhooks.delete_webhook(call.site_id, webhook_id)
    await _record(stores, call, Action.WEBHOOK_DELETE, shown, {"url": shown.url})


async def get(stores: WebhookStores, site_id: str, webhook_id: str) -> StoredWebhook:
    """Return a site's webhook. Reject an unknown ID and the ID of another site's webhook alike."""
    webhook = await stores.webhooks.find_webhook(site_id, webhook_id)
    if webhook is None:
        raise Refused("not_found", "The site has no webhook with this ID.")
    return webhook


def show(webhook: StoredWebhook, call: SiteCall) -> Webhook:
    """Return a webhook as the site's present account sees it."""
    # An address that another account chose is not pushed to: for this account, it was never enabled.
    enabled = webhook.enabled and webhook.account_id == call.account_id
    failing = webhook.progress.failing_since_ms is not None
    status = WebhookStatus.FAILING if failing else WebhookStatus.OK
    return Webhook(
        id=webhook.id,
        site_key=call.site_key,
        url=webhook.url,
        events=list(webhook.events),
        format=webhook.format,
        filter=UNSET if webhook.filter == EVERYTHING else webhook.filter,
        enabled=enabled,
        status=status if enabled else WebhookStatus.PAUSED,
        created_at=Moment(webhook.created_ms),
        last_delivery_at=optional_moment(webhook.progress.last_delivery_ms),
        last_error=optional(webhook.progress.last_error),
    )


def _changed(before: StoredWebhook, body: WebhookPatch, call: SiteCall) -> StoredWebhook:
    sent: dict[str, Any] = given(body)
    if "events" in sent:
        sent["events"] = _in_order(sent["events"])
    if "filter" in sent:
        sent["filter"] = _plain(sent["filter"])
    if body.enabled is True:
        sent["account_id"] = call.account_id
    after = replace(before, **sent)
    return replace(after, progress=_progress(before, after, call.now))


def _progress(before: StoredWebhook, after: StoredWebhook, now_ms: int) -> Progress:
    progress = before.progress
    if (after.filter, after.format, after.events) != (before.filter, before.format, before.events):
        progress = rewritten(progress)
    if WebhookEvent.DECISIONS in after.events and WebhookEvent.DECISIONS not in before.events:
        # Do not deliver decisions from before the webhook subscribed to them.
        progress = replace(progress, position=last_id_before(now_ms))
    if WebhookEvent.HEALTH not in after.events and WebhookEvent.HEALTH in before.events:
        progress = replace(with_health_seen(progress, ""), health_told=None)
    return progress


def _in_order(events: list[WebhookEvent]) -> tuple[WebhookEvent, ...]:
    return tuple(event for event in WebhookEvent if event in events)


def _plain(wanted: WebhookFilter) -> WebhookFilter:
    # Keep each value once. Treat an empty list as no filter: to receive nothing, users disable the webhook.
    return WebhookFilter(
        outcomes=list(dict.fromkeys(wanted.outcomes or ())) or UNSET,
        kinds=list(dict.fromkeys(wanted.kinds or ())) or UNSET,
    )


async def _record(
    stores: WebhookStores, call: SiteCall, action: Action, webhook: Webhook, detail: dict[str, Any]
) -> None:
    subject = Subject(account_id=call.account_id, site_id=call.site_id, target=webhook.id)
    await record(stores, call, action, subject, detail)
