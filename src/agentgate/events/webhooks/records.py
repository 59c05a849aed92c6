"""A webhook as its owner sees it and as it is stored, how far it got, and what became of its deliveries."""

from enum import StrEnum
from typing import Annotated, ClassVar

from msgspec import UNSET, Meta, Struct, UnsetType

from agentgate.http.outbound.client import URL_CHARACTERS
from agentgate.lib.enums import DecisionKind, Outcome
from agentgate.lib.moment import Moment
from agentgate.lib.records import Input, Record, SiteKey

WebhookId = Annotated[str, Meta(pattern=r"^whk_[0-9a-f]{16}\Z")]
Url = Annotated[str, Meta(min_length=1, max_length=URL_CHARACTERS)]


class WebhookEvent(StrEnum):
    """The kind of webhook content."""

    DECISIONS = "decisions"
    HEALTH = "health"


class WebhookFormat(StrEnum):
    """Format of deliveries: JSON, one line per decision, or a message for a chat or notification service."""

    JSON = "json"
    NDJSON = "ndjson"
    SLACK = "slack"
    DISCORD = "discord"
    MATRIX = "matrix"
    NTFY = "ntfy"


class WebhookStatus(StrEnum):
    """State of deliveries: successful, failing with retries, or paused."""

    OK = "ok"
    FAILING = "failing"
    PAUSED = "paused"


class DeliveryKind(StrEnum):
    """The content of a delivery."""

    DECISIONS = "decisions"
    HEALTH = "health"
    TEST = "test"


WebhookEvents = Annotated[list[WebhookEvent], Meta(min_length=1, max_length=len(WebhookEvent))]


class WebhookFilter(Input, frozen=True, kw_only=True):
    """The pushed decisions: with one of these outcomes and one of these kinds. Default: all."""

    outcomes: Annotated[list[Outcome], Meta(max_length=len(Outcome))] | UnsetType = UNSET
    kinds: Annotated[list[DecisionKind], Meta(max_length=len(DecisionKind))] | UnsetType = UNSET


EVERYTHING = WebhookFilter()


class WebhookInput(Input, frozen=True, kw_only=True):
    """A new webhook."""

    refused_fields: ClassVar[dict[str, str]] = dict.fromkeys(
        ("id", "siteKey", "status", "createdAt", "lastDeliveryAt", "lastError", "secret"), "forbidden_field"
    )

    url: Url
    events: WebhookEvents
    format: WebhookFormat = WebhookFormat.JSON
    filter: WebhookFilter = EVERYTHING
    enabled: bool = True


class WebhookPatch(Input, frozen=True, kw_only=True):
    """Changes to a webhook; omitted fields are unchanged. `filter: {}` removes the filter."""

    refused_fields: ClassVar[dict[str, str]] = WebhookInput.refused_fields

    url: Url | UnsetType = UNSET
    events: WebhookEvents | UnsetType = UNSET
    format: WebhookFormat | UnsetType = UNSET
    filter: WebhookFilter | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET


class Webhook(Record, frozen=True, kw_only=True):
    """A webhook, without its secret."""

    id: WebhookId
    site_key: SiteKey
    url: str
    events: list[WebhookEvent]
    format: WebhookFormat
    filter: WebhookFilter | UnsetType = UNSET
    enabled: bool
    status: WebhookStatus
    created_at: Moment
    last_delivery_at: Moment | UnsetType = UNSET
    last_error: str | UnsetType = UNSET


class WebhookList(Record, frozen=True, kw_only=True):
    """A site's webhooks, oldest first."""

    items: list[Webhook]


class WebhookSecret(Record, frozen=True, kw_only=True):
    """A webhook and the secret that signs its deliveries, which is shown only once."""

    webhook: Webhook
    secret: str


class WebhookDelivery(Record, frozen=True, kw_only=True):
    """One delivery. `status` is the response status, absent without a response; `attempts` is the number of attempts so
    far."""

    id: str
    type: DeliveryKind
    time: Moment
    items: int
    delivered: bool
    attempts: int
    duration_ms: int
    status: int | UnsetType = UNSET
    error: str | UnsetType = UNSET


class WebhookDeliveryList(Record, frozen=True, kw_only=True):
    """A webhook's newest deliveries, newest first."""

    items: list[WebhookDelivery]


class Progress(Struct, frozen=True, kw_only=True):
    """How far a webhook got. It is replaced whole, and only by who has seen its latest `revision`."""

    revision: int = 0
    # The last decision that was delivered or skipped.
    position: int
    # The decisions under way: the delivery's ID and its last decision. Fixed before the first attempt, so that every
    # attempt carries the same decisions under the same ID.
    batch_id: str | None = None
    batch_until: int | None = None
    # The health that was last told (at first: seen), and the change that is under way.
    health_told: str | None = None
    health_id: str | None = None
    health_next: str | None = None
    health_body: bytes | None = None
    # Failures since the last success.
    attempts: int = 0
    next_attempt_ms: int
    failing_since_ms: int | None = None
    last_delivery_ms: int | None = None
    last_error: str | None = None


class StoredWebhook(Struct, frozen=True, kw_only=True):
    id: str
    site_id: str
    # The account that chose the address. If the site has moved to another account since, nothing is pushed.
    account_id: str
    url: str
    events: tuple[WebhookEvent, ...]
    format: WebhookFormat
    filter: WebhookFilter
    enabled: bool
    # Sealed; the replaced one signs too until its end.
    secret: bytes
    replaced_secret: bytes | None = None
    replaced_until_ms: int | None = None
    created_ms: int
    progress: Progress


class LiveWebhook(Struct, frozen=True, kw_only=True):
    """A webhook that may push, with what pushing needs to know of its site."""

    webhook: StoredWebhook
    site_key: str
    # The number under which events know the site.
    site: int


class Delivery(Struct, frozen=True, kw_only=True):
    """The state of a delivery after its latest attempt."""

    id: str
    site_id: str
    webhook_id: str
    kind: DeliveryKind
    time_ms: int
    items: int
    delivered: bool
    attempts: int
    status: int | None
    duration_ms: int
    error: str | None
