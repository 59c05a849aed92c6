"""What webhooks ask of the durable store, and of the store of events."""

from typing import Protocol

from agentgate.events.queries.ports import SiteNumber
from agentgate.events.queries.records import Decision
from agentgate.events.webhooks.records import Delivery, LiveWebhook, Progress, StoredWebhook
from agentgate.people.audit.ports import AuditStores


class WebhookStore(Protocol):
    """The webhooks of sites, and their newest deliveries."""

    async def lock_site(self, site_id: str) -> None:
        """Keep other units of work from changing the site's webhooks until this one is done."""
        ...

    async def add_webhook(self, webhook: StoredWebhook) -> None:
        """Keep a new webhook."""
        ...

    async def find_webhook(self, site_id: str, webhook_id: str) -> StoredWebhook | None:
        """Return a site's webhook; None when the site has none of this ID, whoever else may."""
        ...

    async def list_webhooks(self, site_id: str) -> list[StoredWebhook]:
        """Return a site's webhooks, oldest first."""
        ...

    async def save_webhook(self, webhook: StoredWebhook) -> None:
        """Keep what people decide about a webhook: address, events, secrets, enabled or not. Not its progress."""
        ...

    async def disable_webhook(self, webhook_id: str) -> None:
        """Make no more deliveries until somebody enables the webhook."""
        ...

    async def save_progress(self, webhook_id: str, progress: Progress) -> bool:
        """Keep a webhook's progress under the next revision; False when somebody else changed it since it was read."""
        ...

    async def delete_webhook(self, site_id: str, webhook_id: str) -> None:
        """Forget a webhook and its deliveries."""
        ...

    async def list_live(self, *, due_ms: int | None = None) -> list[LiveWebhook]:
        """Return the webhooks that may push: enabled, of an active account that still has the site.

        With a moment, only those whose next attempt is due then.
        """
        ...

    async def save_delivery(self, delivery: Delivery, *, keep: int) -> None:
        """Keep a delivery, in place of its earlier attempts; forget the oldest of the webhook beyond `keep`."""
        ...

    async def list_deliveries(self, webhook_id: str, limit: int) -> list[Delivery]:
        """Return a webhook's newest deliveries, newest first."""
        ...


class WebhookStores(AuditStores, Protocol):
    """The ports that a unit of work on webhooks uses."""

    @property
    def webhooks(self) -> WebhookStore: ...


class DecisionFeed(Protocol):
    """Decisions in the order of their IDs."""

    async def list_after(self, site: SiteNumber, *, after: int, until: int, limit: int) -> list[Decision]:
        """Return a site's first kept decisions with after < ID <= until, oldest first."""
        ...
