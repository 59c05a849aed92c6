"""The bodies of deliveries: decisions, a change of health, a sample. They are signed and sent elsewhere."""

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

import msgspec
from msgspec import Struct

from agentgate.events.decision_ids import write_id
from agentgate.events.health_records import FailedCheck
from agentgate.events.queries.export import NDJSON, write_ndjson
from agentgate.events.queries.records import Decision
from agentgate.events.webhooks.records import DeliveryKind, LiveWebhook, StoredWebhook, WebhookFormat
from agentgate.http.replies import JSON
from agentgate.lib.enums import DecisionKind, Mode, Outcome
from agentgate.lib.ids import new_delivery_id
from agentgate.lib.moment import Moment
from agentgate.lib.records import Record, SiteKey, to_json


class WebhookMessage(Struct, frozen=True, kw_only=True):
    """One delivery: its ID, and what it carries."""

    id: str
    kind: DeliveryKind
    items: int
    body: bytes
    media_type: str = JSON


class DecisionsBody(Record, frozen=True, kw_only=True):
    """Decisions, oldest first; of `test`, one that was never made."""

    type: DeliveryKind
    site_key: SiteKey
    items: Sequence[Decision]


class HealthBody(Record, frozen=True, kw_only=True):
    """A change of a site's health. `checks` lists the checks that fail now."""

    type: DeliveryKind
    site_key: SiteKey
    status: str
    previous: str
    checks: Sequence[FailedCheck]


class _NotedHealth(Struct, frozen=True, rename="camel"):
    site_key: str
    status: str
    previous: str
    checks: list[dict[str, Any]]


def _slack(text: str) -> tuple[bytes, str]:
    # Slack reads <...> as links and mentions.
    return to_json({"text": escape(text, quote=False)}), JSON


def _discord(text: str) -> tuple[bytes, str]:
    return to_json({"content": text[:DISCORD_CHARACTERS], "allowed_mentions": {"parse": []}}), JSON


def _matrix(text: str) -> tuple[bytes, str]:
    return to_json({"text": text, "html": escape(text).replace("\n", "<br>"), "username": "AgentGate"}), JSON


def _ntfy(text: str) -> tuple[bytes, str]:
    return text.encode()[:NTFY_BYTES].decode(errors="ignore").encode(), "text/plain; charset=utf-8"


DISCORD_CHARACTERS = 2_000
# Longer messages become attachments.
NTFY_BYTES = 4_000
CHATS: Mapping[WebhookFormat, Callable[[str], tuple[bytes, str]]] = {
    WebhookFormat.SLACK: _slack,
    WebhookFormat.DISCORD: _discord,
    WebhookFormat.MATRIX: _matrix,
    WebhookFormat.NTFY: _ntfy,
}


def decisions_message(
    live: LiveWebhook, decisions: Sequence[Decision], explain: Callable[[Decision], Decision]
) -> WebhookMessage:
    """Return the delivery of the batch that is under way, each decision with its explanation."""
    batch_id = live.webhook.progress.batch_id
    assert batch_id is not None, "a batch is fixed before it is sent"
    return _message(
        live.webhook, DeliveryKind.DECISIONS, live.site_key, [explain(each) for each in decisions], delivery_id=batch_id
    )


def sample_message(webhook: StoredWebhook, site_key: str, now_ms: int) -> WebhookMessage:
    """Return a delivery that looks like one of decisions, with one that was never made."""
    sample = Decision(
        id=write_id(0),
        site_id=webhook.site_id,
        time=Moment(now_ms),
        kind=DecisionKind.REQUEST,
        route="*",
        method="GET",
        outcome=Outcome.ALLOW,
        mode=Mode.MONITOR,
        reasons=["test"],
        labels=[],
        status=200,
        duration_us=0,
    )
    return _message(webhook, DeliveryKind.TEST, site_key, [sample], delivery_id=new_delivery_id())


def health_message(format_: WebhookFormat, delivery_id: str, body: bytes) -> WebhookMessage:
    """Return the delivery of a change of health that was noted."""
    if format_ not in CHATS:
        return WebhookMessage(id=delivery_id, kind=DeliveryKind.HEALTH, items=1, body=body)
    health = msgspec.json.decode(body, type=_NotedHealth)
    changed = health.previous != health.status
    how = f"changed from {health.previous} to" if changed else "is"
    lines = [f"{health.site_key}: health {how} {health.status}"]
    lines += [check["message"] for check in health.checks]
    return _chat_message(format_, DeliveryKind.HEALTH, delivery_id, "\n".join(lines))


def _chat_message(format_: WebhookFormat, kind: DeliveryKind, delivery_id: str, text: str) -> WebhookMessage:
    body, media_type = CHATS[format_](text)
    return WebhookMessage(id=delivery_id, kind=kind, items=1, body=body, media_type=media_type)


def _message(
    webhook: StoredWebhook, kind: DeliveryKind, site_key: str, decisions: Sequence[Decision], *, delivery_id: str
) -> WebhookMessage:
    if webhook.format in CHATS:
        return _chat_message(webhook.format, kind, delivery_id, f"{site_key}: test message of AgentGate")
    if webhook.format is WebhookFormat.NDJSON:
        body = write_ndjson(decisions)
        return WebhookMessage(id=delivery_id, kind=kind, items=len(decisions), body=body, media_type=NDJSON)
    body = to_json(DecisionsBody(type=kind, site_key=site_key, items=decisions))
    return WebhookMessage(id=delivery_id, kind=kind, items=len(decisions), body=body)
