"""Webhooks in SQL."""

from typing import Protocol

from agentgate.events.webhooks.records import Delivery, LiveWebhook, Progress, StoredWebhook
from agentgate.lib.database import LockingRepository, RecordTable, Row
from agentgate.lib.tasks.off_loop import consumed, off_loop
from agentgate.people.audit.repository import AuditStores

# Both are columns of one table.
_WEBHOOK = RecordTable("webhook", StoredWebhook, json=("events", "filter"), absent=("progress",))
_PROGRESS = RecordTable("webhook", Progress)
_DELIVERIES = RecordTable("webhook_delivery", Delivery)
_NAMES = _WEBHOOK.names + _PROGRESS.names
_PLACES = ", ".join(f"${place}" for place in range(1, len(_NAMES) + 1))
_COLUMNS = f"{_WEBHOOK.qualified}, {_PROGRESS.qualified}"
# What people decide about a webhook, and what deliveries change of it; the first column of each finds the row.
_EDITED = ", ".join(f"{name} = ${place}" for place, name in enumerate(_WEBHOOK.names, 1) if place > 1)
_PROGRESSED = ", ".join(f"{name} = ${place}" for place, name in enumerate(_PROGRESS.names, 2) if name != "revision")


class WebhookStore(LockingRepository):
    """The webhooks of sites, and their newest deliveries."""

    async def lock_site(self, site_id: str) -> None:
        """Keep other units of work from changing the site's webhooks until this one is done."""
        await self._session.lock("webhooks", site_id)

    async def add_webhook(self, webhook: StoredWebhook) -> None:
        await self._session.run(
            f"INSERT INTO webhook ({', '.join(_NAMES)}) VALUES ({_PLACES})",  # noqa: S608
            *_WEBHOOK.values(webhook),
            *_PROGRESS.values(webhook.progress),
        )

    async def find_webhook(self, site_id: str, webhook_id: str) -> StoredWebhook | None:
        """Return a site's webhook; None if the site has none with this ID, even if another site has."""
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
        """Save a webhook's settings: address, events, secrets, enabled or not. Not its progress."""
        await self._session.run(f"UPDATE webhook SET {_EDITED} WHERE id = $1", *_WEBHOOK.values(webhook))  # noqa: S608

    async def disable_webhook(self, webhook_id: str) -> None:
        """Stop deliveries until a user enables the webhook."""
        await self._session.run("UPDATE webhook SET enabled = 0 WHERE id = $1", webhook_id)

    async def save_progress(self, webhook_id: str, progress: Progress) -> bool:
        """Save a webhook's progress under the next revision; return False if it has changed since it was read."""
        changed = await self._session.run(
            f"UPDATE webhook SET revision = $2 + 1, {_PROGRESSED} WHERE id = $1 AND revision = $2",  # noqa: S608
            webhook_id,
            *_PROGRESS.values(progress),
        )
        return changed == 1

    async def delete_webhook(self, site_id: str, webhook_id: str) -> None:
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
        return await off_loop(
            len(rows),
            lambda: [LiveWebhook(webhook=_webhook(row[:-2]), site_key=row[-2], site=row[-1]) for row in consumed(rows)],
        )

    async def save_delivery(self, delivery: Delivery, *, keep: int) -> None:
        """Save a delivery over its earlier attempts; delete the oldest deliveries of the webhook beyond `keep`."""
        await _DELIVERIES.save(self._session, delivery, "id")
        await self._session.run(
            """DELETE FROM webhook_delivery WHERE webhook_id = $1 AND id IN (SELECT id FROM webhook_delivery
                WHERE webhook_id = $1 ORDER BY time_ms DESC, id DESC LIMIT 1000 OFFSET $2)""",
            delivery.webhook_id,
            keep,
        )

    async def list_deliveries(self, webhook_id: str, limit: int) -> list[Delivery]:
        """Return a webhook's newest deliveries, newest first."""
        newest = "webhook_id = $1 ORDER BY time_ms DESC, id DESC LIMIT $2"
        return await _DELIVERIES.find_all(self._session, newest, webhook_id, limit)


def _webhook(row: Row) -> StoredWebhook:
    settings, progress = row[: len(_WEBHOOK.names)], row[len(_WEBHOOK.names) :]
    return _WEBHOOK.read(settings, progress=_PROGRESS.read(progress))


class WebhookStores(AuditStores, Protocol):
    """The repositories that a unit of work on webhooks uses."""

    webhooks: WebhookStore
