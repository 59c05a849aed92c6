"""Helpers that several tests of the operators' routes share: read an error, an audit trail, sent messages."""

from typing import Any

from agentgate.lib.keyring import Sealer
from agentgate.people.outbox.messages import Messenger
from agentgate.server.secret_files import root_secret
from tests.support.service import RunningService

CUSTOMERS = "/v1/admin/customers"
ACCOUNTS = "/v1/admin/accounts"
USERS = "/v1/admin/users"
ACCESS_REQUESTS = "/v1/admin/access-requests"


def refusal(reply: Any) -> tuple[int, str]:
    """Return status and code."""
    return reply.status_code, reply.json()["error"]


def trail(service: RunningService, account_id: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Return action, actor and detail of an account's events, newest first."""
    items = service.operator.get(f"{CUSTOMERS}/{account_id}/audit").json()["items"]
    return [(item["action"], item["actor"], item["detail"]) for item in items]


def messages(service: RunningService) -> list[tuple[str, str, str]]:
    """Return recipient, kind and text of every message, newest first."""
    messenger = Messenger(Sealer(root_secret(service.application.settings)))
    stored = service.run(service.application.stores.store.read.outbox.list_messages(500))
    return [(message.recipient, message.kind, messenger.read_text(message)) for message in stored]


def accept(service: RunningService, invite_url: str) -> Any:
    """Accept an invitation with its link; return the response."""
    body = {"token": invite_url.partition("#")[2], "password": "nine green umbrellas sing"}
    return service.new_public_client().post("/v1/account/invite/accept", json=body)
