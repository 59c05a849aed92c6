"""Webhooks in SQL."""

from typing import Protocol

import msgspec

from agentgate.events.webhooks.records import (
    Delivery,
    DeliveryKind,
    LiveWebhook,
    Progress,
    StoredWebhook,
    WebhookEvent,
    WebhookFilter,
    WebhookFormat,
)
from agentgate.lib.database import LockingRepository, Row
from agentgate.lib.records import to_json
from agentgate.people.audit.repository import AuditStores

_SETTINGS = (
    "id",
    "site_id",
    "account_id",
    "url",
    "events",
    "format",
    "filter",
    "enabled",
    "secret",
    "replaced_secret",
    "replaced_until_ms",
    "created_ms",
)
# The order of Progress.
_PROGRESS = Progress.__struct_fields__
_COLUMNS = ", ".join(f"webhook.{name}" for name in _SETTINGS + _PROGRESS)
_DELIVERY = "id, site_id, webhook_id, kind, time_ms, items, delivered, attempts, status, duration_ms, error"


class WebhookStore(LockingRepository):
    """The webhooks of sites, and their newest deliveries."""

    async def lock_site(self, site_id: str) -> None:
        """Keep other units of work from changing the site's webhooks until this one is done."""
        await self._session.lock("webhooks", site_id)

    async def add_webhook(self, webhook: StoredWebhook) -> None:
        """Keep a new webhook."""
        names = _SETTINGS + _PROGRESS
        places = ", ".join(f"${number}" for number in range(1, len(names) + 1))
        values = (
            webhook.id,
            webhook.site_id,
            webhook.account_id,
            webhook.url,
            to_json(webhook.events).decode(),
            webhook.format.value,
            to_json(webhook.filter).decode(),
            int(webhook.enabled),
            webhook.secret,
            webhook.replaced_secret,
            webhook.replaced_until_ms,
            webhook.created_ms,
        )
        await self._session.run(
            f"INSERT INTO webhook ({', '.join(names)}) VALUES ({places})",  # noqa: S608
            *values,
            *msgspec.structs.astuple(webhook.progress),
        )

    async def find_webhook(self, site_id: str, webhook_id: str) -> StoredWebhook | None:
        """Return a site's webhook; None when the site has none of this ID, whoever else may."""
        row = await self._session.one(
            f"SELECT {_COLUMNS} FROM webhook WHERE site_id = $1 AND id = $2",  # noqa: S608
            site_id,
            webhook_id,
        )
        return _webhook(row) if row else None

    async def list_webhooks(self, site_id: str) -> list[StoredWebhook]:
        """Return a site's webhooks, oldest first."""
        rows = await self._session.all(
            f"SELECT {_COLUMNS} FROM webhook WHERE site_id = $1 ORDER BY created_ms, id",  # noqa: S608
            site_id,
        )
        return [_webhook(row) for row in rows]

    async def save_webhook(self, webhook: StoredWebhook) -> None:
        """Keep what people decide about a webhook: address, events, secrets, enabled or not. Not its progress."""
        await self._session.run(
            """UPDATE webhook SET account_id = $2, url = $3, events = $4, format = $5, filter = $6, enabled = $7,
                secret = $8, replaced_secret = $9, replaced_until_ms = $10 WHERE id = $1""",
            webhook.id,
            webhook.account_id,
            webhook.url,
            to_json(webhook.events).decode(),
            webhook.format.value,
            to_json(webhook.filter).decode(),
            int(webhook.enabled),
            webhook.secret,
            webhook.replaced_secret,
            webhook.replaced_until_ms,
        )

    async def disable_webhook(self, webhook_id: str) -> None:
        """Make no more deliveries until somebody enables the webhook."""
        await self._session.run("UPDATE webhook SET enabled = 0 WHERE id = $1", webhook_id)

    async def save_progress(self, webhook_id: str, progress: Progress) -> bool:
        """Keep a webhook's progress under the next revision; False when somebody else changed it since it was read."""
        changed = await self._session.run(
            """UPDATE webhook SET revision = $2 + 1, position = $3, batch_id = $4, batch_until = $5, health_told = $6,
                health_id = $7, health_next = $8, health_body = $9, attempts = $10, next_attempt_ms = $11,
                failing_since_ms = $12, last_delivery_ms = $13, last_error = $14
                WHERE id = $1 AND revision = $2""",
            webhook_id,
            *msgspec.structs.astuple(progress),
        )
        return changed == 1

    async def delete_webhook(self, site_id: str, webhook_id: str) -> None:
        """Forget a webhook and its deliveries."""
        await self._session.run(
            "DELETE FROM webhook_delivery WHERE site_id = $1 AND webhook_id = $2", site_id, webhook_id
        )
        await self._session.run("DELETE FROM webhook WHERE site_id = $1 AND id = $2", site_id, webhook_id)

    async def list_live(self, *, due_ms: int | None = None) -> list[LiveWebhook]:
        """Return the webhooks that may push: enabled, of an active account that still has the site.

        With a moment, only those whose next attempt is due then.
        """
        due = "" if due_ms is None else "AND webhook.next_attempt_ms <= $1"
        rows = await self._session.all(
            f"""SELECT {_COLUMNS}, site.site_key, site.number FROM webhook
                JOIN site ON site.id = webhook.site_id AND site.account_id = webhook.account_id
                JOIN account ON account.id = webhook.account_id AND account.status = 'active'
                WHERE webhook.enabled = 1 {due} ORDER BY webhook.next_attempt_ms, webhook.id""",  # noqa: S608
            *(() if due_ms is None else (due_ms,)),
        )
        return [LiveWebhook(webhook=_webhook(row[:-2]), site_key=row[-2], site=row[-1]) for row in rows]

    async def save_delivery(self, delivery: Delivery, *, keep: int) -> None:
        """Keep a delivery, in place of its earlier attempts; forget the oldest of the webhook beyond `keep`."""
        await self._session.run(
            f"""INSERT INTO webhook_delivery ({_DELIVERY}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
                ON CONFLICT (id) DO UPDATE SET time_ms = excluded.time_ms, items = excluded.items,
                    delivered = excluded.delivered, attempts = excluded.attempts, status = excluded.status,
                    duration_ms = excluded.duration_ms, error = excluded.error""",  # noqa: S608
            *_delivery_values(delivery),
        )
        await self._session.run(
            """DELETE FROM webhook_delivery WHERE webhook_id = $1 AND id IN (SELECT id FROM webhook_delivery
                WHERE webhook_id = $1 ORDER BY time_ms DESC, id DESC LIMIT 1000 OFFSET $2)""",
            delivery.webhook_id,
            keep,
        )

    async def list_deliveries(self, webhook_id: str, limit: int) -> list[Delivery]:
        """Return a webhook's newest deliveries, newest first."""
        rows = await self._session.all(
            f"""SELECT {_DELIVERY} FROM webhook_delivery WHERE webhook_id = $1
                ORDER BY time_ms DESC, id DESC LIMIT $2""",  # noqa: S608
            webhook_id,
            limit,
        )
        return [_delivery(row) for row in rows]


def _webhook(row: Row) -> StoredWebhook:
    webhook_id, site_id, account_id, url, events, format_, filter_, enabled = row[:8]
    secret, replaced_secret, replaced_until_ms, created_ms = row[8:12]
    return StoredWebhook(
        id=webhook_id,
        site_id=site_id,
        account_id=account_id,
        url=url,
        events=msgspec.json.decode(events, type=tuple[WebhookEvent, ...]),
        format=WebhookFormat(format_),
        filter=msgspec.json.decode(filter_, type=WebhookFilter),
        enabled=bool(enabled),
        secret=secret,
        replaced_secret=replaced_secret,
        replaced_until_ms=replaced_until_ms,
        created_ms=created_ms,
        progress=Progress(**dict(zip(_PROGRESS, row[12:], strict=True))),
    )


def _delivery_values(delivery: Delivery) -> tuple[int | str | None, ...]:
    return (
        delivery.id,
        delivery.site_id,
        delivery.webhook_id,
        delivery.kind.value,
        delivery.time_ms,
        delivery.items,
        int(delivery.delivered),
        delivery.attempts,
        delivery.status,
        delivery.duration_ms,
        delivery.error,
    )


def _delivery(row: Row) -> Delivery:
    delivery_id, site_id, webhook_id, kind, time_ms, items, delivered, attempts, status, duration_ms, error = row
    return Delivery(
        id=delivery_id,
        site_id=site_id,
        webhook_id=webhook_id,
        kind=DeliveryKind(kind),
        time_ms=time_ms,
        items=items,
        delivered=bool(delivered),
        attempts=attempts,
        status=status,
        duration_ms=duration_ms,
        error=error,
    )


class WebhookStores(AuditStores, Protocol):
    """The ports that a unit of work on webhooks uses."""

    @property
    def webhooks(self) -> WebhookStore: ...
