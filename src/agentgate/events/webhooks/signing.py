"""Secrets and signatures of deliveries, in the form of Standard Webhooks: `v1,` and base64 of an HMAC-SHA256."""

import base64
import hmac
import secrets

from agentgate.events.webhooks.records import StoredWebhook
from agentgate.lib.clock import SECOND_MS
from agentgate.lib.keyring import Sealer

PREFIX = "whsec_"
SECRET_BYTES = 32


def new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def seal_secret(sealer: Sealer, webhook_id: str, secret: str) -> bytes:
    return sealer.seal(secret.encode(), sealing_context(webhook_id))


def open_secrets(sealer: Sealer, webhook: StoredWebhook, now_ms: int) -> list[str]:
    """Return the secrets that sign now: the webhook's own, and for a while the one it replaced."""
    sealed = [webhook.secret]
    if webhook.replaced_secret is not None and now_ms < (webhook.replaced_until_ms or 0):
        sealed.append(webhook.replaced_secret)
    return [sealer.open(each, sealing_context(webhook.id)).decode() for each in sealed]


def signed_headers(delivery_id: str, body: bytes, *, keys: list[str], now_ms: int) -> dict[str, str]:
    """Return the three headers by which a receiver knows who sent a body, and when."""
    seconds = str(now_ms // SECOND_MS)
    content = f"{delivery_id}.{seconds}.".encode() + body
    signatures = " ".join(f"v1,{_sign(key, content)}" for key in keys)
    return {"webhook-id": delivery_id, "webhook-timestamp": seconds, "webhook-signature": signatures}


def _sign(secret: str, content: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(PREFIX))
    return base64.b64encode(hmac.digest(key, content, "sha256")).decode()


def sealing_context(webhook_id: str) -> str:
    """Return the context that binds sealed secrets to their webhook: no other sealed text opens in their place."""
    return f"webhook:{webhook_id}"
