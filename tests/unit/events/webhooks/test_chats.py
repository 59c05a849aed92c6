"""Messages for Slack, Discord, Matrix and ntfy, checked by receivers that apply each vendor's documented limits."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from agentgate.events.webhooks.payloads import health_message
from agentgate.events.webhooks.records import WebhookFormat
from agentgate.lib.settings.schema import Settings
from tests.api.admin.operating import refusal
from tests.support.http_receiver import Answering, Received, receiver
from tests.support.service import running_service

SITE = "/v1/admin/sites/site_shop"


def slack(request: Received) -> Answering:
    """Incoming webhooks: JSON with `text`; `<`, `>` and `&` are escaped."""
    body = sent_json(request)
    if set(body) != {"text"} or not body["text"] or "<" in body["text"]:
        return Answering(status=400, body=b"invalid_payload")
    return Answering(body=b"ok")


def discord(request: Received) -> Answering:
    """Execute webhook: `content` of at most 2,000 characters; mentions are off."""
    body = sent_json(request)
    fits = 0 < len(body["content"]) <= 2000 and body["allowed_mentions"] == {"parse": []}
    return Answering(status=204 if fits else 400)


def matrix(request: Received) -> Answering:
    """Hookshot's generic webhook: `text`, `html`, `username`, all strings."""
    body = sent_json(request)
    fits = set(body) <= {"text", "html", "username"} and all(isinstance(value, str) for value in body.values())
    return Answering(status=200 if fits and "<!" not in body["html"] else 400, body=b'{"ok":true}')


def ntfy(request: Received) -> Answering:
    """Publish: the body is the message, UTF-8, at most 4,096 bytes; longer ones become attachments."""
    fits = len(request.body.decode()) > 0 and len(request.body) <= 4096
    return Answering(status=200 if fits else 413)


STAND_INS = {"slack": slack, "discord": discord, "matrix": matrix, "ntfy": ntfy}
HEALTH = {
    "type": "health",
    "siteKey": "site_shop",
    "status": "critical",
    "previous": "ok",
    "checks": [{"check": "x", "severity": "critical", "message": "<!channel> @everyone " + "ä" * 5000, "detail": {}}],
}


def sent_json(request: Received) -> Any:
    assert request.headers["content-type"].startswith("application/json")
    return json.loads(request.body)


@pytest.mark.parametrize(("name", "stand_in"), STAND_INS.items())
def test_each_vendor_accepts_the_test_message(
    settings: Settings, name: str, stand_in: Callable[[Received], Answering]
) -> None:
    given = replace(settings, webhook_private_hosts=("localhost",))
    with receiver() as server, running_service(given) as service:
        server.answer = stand_in
        service.operator.post("/v1/admin/sites", json={"siteKey": "site_shop", "name": "Shop"})
        hook = {"url": server.url(), "events": ["decisions"], "format": name}
        assert refusal(service.operator.post(f"{SITE}/webhooks", json=hook)) == (400, "invalid_request")
        made = service.operator.post(f"{SITE}/webhooks", json={**hook, "events": ["health"]}).json()["webhook"]
        patched = service.operator.patch(f"{SITE}/webhooks/{made['id']}", json={"events": ["decisions", "health"]})
        assert refusal(patched) == (400, "invalid_request")
        tested = service.operator.post(f"{SITE}/webhooks/{made['id']}/test").json()
        assert tested["delivered"], tested
        assert "site_shop" in server.received[0].body.decode()


@pytest.mark.parametrize(("name", "stand_in"), STAND_INS.items())
def test_each_vendor_accepts_a_long_health_message_without_mentions(
    name: str, stand_in: Callable[[Received], Answering]
) -> None:
    message = health_message(WebhookFormat(name), "id", json.dumps(HEALTH).encode())
    request = Received("POST", "/", {"content-type": message.media_type}, message.body)
    assert stand_in(request).status < 300
    assert b"health changed from ok to critical" in message.body
