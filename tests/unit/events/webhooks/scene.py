"""What tests of pushing do: make webhooks and decisions, let time pass, and look at what arrived."""

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from agentgate.events.decision_ids import DecisionIds, write_id
from agentgate.events.records import Event
from agentgate.events.webhooks import editing
from agentgate.events.webhooks.deliver import Push
from agentgate.events.webhooks.records import StoredWebhook, Webhook, WebhookEvent, WebhookInput, WebhookPatch
from agentgate.http.call import SYSTEM, SiteCall
from agentgate.http.outbound.client import Outbound
from agentgate.http.request import Request
from agentgate.lib.clock import FixedClock
from agentgate.lib.enums import DecisionKind, Mode, Outcome
from agentgate.lib.keyring import Sealer
from agentgate.lib.moment import Moment
from agentgate.lib.telemetry.metrics import MetricRegistry
from agentgate.server.stores.open import Stores
from agentgate.sites.rules.explanations import with_explanation
from tests.support.http_receiver import Answering, Received, Receiver

SEALER = Sealer(b"s" * 32)


@dataclass
class Scene:
    """A site and its surroundings."""

    stores: Stores
    clock: FixedClock
    server: Receiver
    site: int
    metrics: MetricRegistry = field(default_factory=lambda: MetricRegistry(version="1", worker="w"))

    def __post_init__(self) -> None:
        self.ids = DecisionIds(self.clock, 1)

    def push(self) -> Push:
        """Return a new deliverer, as a restarted process has one."""
        push = Push(
            self.stores.store,
            self.stores.feed,
            outbound=Outbound(frozenset({"localhost"}), connect_s=1, whole_s=0.5),
            sealer=SEALER,
            clock=self.clock,
            metrics=self.metrics,
        )
        push.explain = with_explanation
        return push

    async def create(self, *, tenant: int = 1, **changes: Any) -> tuple[str, str]:
        """Create a webhook of a tenant; return its ID and its secret."""
        body = WebhookInput(**{"url": self.server.url(), "events": [WebhookEvent.DECISIONS], **changes})
        call = self.call(f"acc_{tenant}", f"st_{tenant}")
        made = await self.stores.store.change(lambda stores: editing.create(stores, call, body, SEALER))
        return made.webhook.id, made.secret

    async def change(self, webhook_id: str, **changes: Any) -> Webhook:
        """Change a webhook."""
        body = WebhookPatch(**changes)
        return await self.stores.store.change(lambda stores: editing.change(stores, self.call(), webhook_id, body))

    async def stored(self, webhook_id: str) -> StoredWebhook:
        """Return a webhook as stored."""
        found = await self.stores.store.read.webhooks.find_webhook("st_1", webhook_id)
        assert found is not None
        return found

    async def shown(self, webhook_id: str) -> Webhook:
        """Return a webhook as people see it."""
        return editing.show(await self.stored(webhook_id), self.call())

    async def decide(self, count: int = 1, **changes: Any) -> list[str]:
        """Record decisions of the site; return their IDs, oldest first."""
        events = [replace(self._event(), **changes) for _ in range(count)]
        await self.stores.events.write(events)
        return [write_id(event.id) for event in events]

    async def deliver(self, seconds: float = 4) -> None:
        """Let time pass, and deliver what is due."""
        self.clock.advance(seconds=seconds)
        push = self.push()
        await push.push_due()
        await push.finish()

    def call(self, account_id: str = "acc_1", site_id: str = "st_1") -> SiteCall:
        """Return a call about a site."""
        return SiteCall(
            request=Request(method="", path="", query_string=b"", headers=[], address="", secure=False),
            request_id="",
            now=Moment(self.clock.now_ms()),
            params={},
            route="",
            caller=SYSTEM,
            site_id=site_id,
            site_key=f"site_key_{site_id}",
            account_id=account_id,
        )

    def _event(self) -> Event:
        return Event(
            id=self.ids.next(),
            site=self.site,
            visitor=7,
            kind=DecisionKind.REQUEST,
            mode=Mode.ENFORCE,
            outcome=Outcome.ALLOW,
            method="GET",
            route="/login",
            status=200,
            duration_us=12,
            labels=("net.datacenter",),
        )


def ids_of(request: Received) -> list[str]:
    """Return the IDs of the decisions in a delivery."""
    return [item["id"] for item in json.loads(request.body)["items"]]


def is_signed(request: Received, secret: str) -> bool:
    """Verify a delivery as a receiver would, from the description of the signature alone."""
    key = base64.b64decode(secret.split("_", 1)[1])
    signed = b".".join([request.headers["webhook-id"].encode(), request.headers["webhook-timestamp"].encode(), b""])
    expected = base64.b64encode(hmac.new(key, signed + request.body, hashlib.sha256).digest()).decode()
    versions = [part.split(",", 1) for part in request.headers["webhook-signature"].split(" ")]
    return any(version == "v1" and hmac.compare_digest(each, expected) for version, each in versions)


def saying(*statuses: int) -> Any:
    """Return a function that responds with each status in turn, and repeats the last one."""
    left = list(statuses)
    return lambda _request: Answering(status=left.pop(0) if len(left) > 1 else left[0])
