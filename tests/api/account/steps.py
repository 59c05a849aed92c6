"""What several account tests do: turn two-factor authentication on, read the trail and the outbox, make links."""

import json
import re
from typing import Any

import httpx
import pyotp

from agentgate.people.accounts.repository import AccountStores
from agentgate.people.identity.links import issue_link
from agentgate.people.identity.records import LinkKind
from tests.support.api_client import ApiClient
from tests.support.cast import EMAILS, PASSWORD, system_call
from tests.support.service import RunningService

ACCOUNT = "/v1/account"
NEW_PASSWORD = "eleven quiet lanterns sway"
LINK = re.compile(r"(\S+)/console/(?:reset|invite)#([A-Za-z0-9_-]{43})")


def refusal(reply: httpx.Response) -> tuple[int, str]:
    """Return status and code."""
    return reply.status_code, reply.json()["error"]


def log_in(client: ApiClient, email: str = EMAILS["alice"], password: str = PASSWORD, **options: Any) -> httpx.Response:
    """Send a sign-in."""
    return client.post(f"{ACCOUNT}/login", json={"email": email, "password": password}, **options)


def turn_mfa_on(service: RunningService, client: ApiClient) -> tuple[pyotp.TOTP, list[str]]:
    """Set two-factor authentication up; return the authenticator and the recovery codes. Its present code is used."""
    authenticator = pyotp.TOTP(client.post(f"{ACCOUNT}/mfa/setup").json()["secret"])
    reply = client.post(f"{ACCOUNT}/mfa/enable", json={"code": code_now(service, authenticator)})
    assert reply.status_code == 200, reply.text
    return authenticator, reply.json()["recoveryCodes"]


def code_now(service: RunningService, authenticator: pyotp.TOTP) -> str:
    """Return the code that the authenticator shows at the service's time."""
    return authenticator.at(service.clock.now_ms() // 1000)


def next_code(service: RunningService, authenticator: pyotp.TOTP) -> str:
    """Wait for the next code."""
    service.clock.advance(seconds=30)
    return code_now(service, authenticator)


def wrong_code(service: RunningService, authenticator: pyotp.TOTP) -> str:
    """Return a code that is not right now, nor a step earlier or later."""
    seconds = service.clock.now_ms() // 1000
    right = {authenticator.at(seconds + drift) for drift in (-30, 0, 30)}
    return next(code for code in ("000000", "000001", "000002", "000003") if code not in right)


def begin_with_mfa(service: RunningService, email: str) -> ApiClient:
    """Send the right password of a user with two-factor authentication; return a client with the pre-session."""
    client = service.new_public_client()
    reply = log_in(client, email)
    assert (reply.status_code, reply.json()) == (200, {"mfaRequired": True})
    return client


def trail(service: RunningService) -> list[tuple[str, str, str | None, str | None, dict[str, Any]]]:
    """Return actor, action, account, target and detail of all audit entries, oldest first."""
    rows = service.run(
        service.application.stores.databases["config"].all(
            "SELECT actor, action, account_id, target, detail FROM audit_entry ORDER BY id"
        )
    )
    return [(actor, action, account, target, json.loads(detail)) for actor, action, account, target, detail in rows]


def make_link(service: RunningService, kind: LinkKind, user_id: str, account_id: str | None = None) -> str:
    """Issue a link in the store; return its secret."""

    async def work(stores: AccountStores) -> str:
        return (await issue_link(stores, system_call(service), kind, user_id, account_id=account_id)).secret

    return service.run(service.application.stores.store.change(work))


def messages(service: RunningService) -> list[dict[str, Any]]:
    """Return what is in the outbox once all background work is done, newest first."""
    service.run(service.application.background.finish())
    items: list[dict[str, Any]] = service.operator.get("/v1/admin/outbox").json()["items"]
    return items


def link_in(message: dict[str, Any]) -> tuple[str, str]:
    """Return origin and secret of the link in a message."""
    match = LINK.search(message["body"])
    assert match is not None, message
    return match[1], match[2]
