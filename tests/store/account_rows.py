"""Rows for the store tests of accounts: short ways to create an account, a user, a membership, a site."""

from typing import Any

from agentgate.events.webhooks.records import (
    EVERYTHING,
    Delivery,
    DeliveryKind,
    Progress,
    StoredWebhook,
    WebhookEvent,
    WebhookFormat,
)
from agentgate.lib.enums import AccountRole, AccountStatus, ApiTokenScope, Mode, OutboxStatus, UserStatus, WidgetMode
from agentgate.lib.moment import Moment
from agentgate.people.accounts.records import ApiToken, Limits, StoredAccount
from agentgate.people.identity.records import LinkKind, StoredLink, StoredPasskey, StoredUser
from agentgate.people.outbox.records import StoredMessage
from agentgate.server.stores.unit_of_work import SqlStore, SqlStores
from agentgate.sites.credentials.records import Credential
from agentgate.sites.records import Site
from tests.support.service import NOON_MS

NOW_MS = NOON_MS


def account(account_id: str, **changes: Any) -> StoredAccount:
    values: dict[str, Any] = {
        "id": account_id,
        "name": account_id.title(),
        "status": AccountStatus.ACTIVE,
        "protected": False,
        "limits": Limits(),
        "created_at": Moment(NOW_MS),
    }
    return StoredAccount(**{**values, **changes})


def user(user_id: str, **changes: Any) -> StoredUser:
    values: dict[str, Any] = {
        "id": user_id,
        "email": f"{user_id}@example.com",
        "name": None,
        "status": UserStatus.ACTIVE,
        "password_hash": "hash",
        "mfa_secret": None,
        "mfa_enabled_ms": None,
        "mfa_pending_secret": None,
        "mfa_pending_ms": None,
        "mfa_last_step": 0,
        "created_ms": NOW_MS,
        "last_sign_in_ms": None,
    }
    return StoredUser(**{**values, **changes})


def site(site_id: str, account_id: str, *, mode: Mode = Mode.MONITOR) -> Site:
    return Site(
        id=site_id,
        customer_id=account_id,
        site_key=f"site_{site_id}",
        name=site_id,
        allowed_origins=[],
        mode=mode,
        widget_mode=WidgetMode.MANAGED,
        actions={},
        routes=[],
        form_method_override=True,
        clearance_without_script=False,
        created_at=Moment(NOW_MS),
        updated_at=Moment(NOW_MS),
    )


def credential(credential_id: str, site_id: str) -> Credential:
    return Credential(id=credential_id, site_id=site_id, name="Backend", created_at=Moment(NOW_MS))


def token(token_id: str, **changes: Any) -> ApiToken:
    values: dict[str, Any] = {
        "id": token_id,
        "name": "Pipeline",
        "scopes": [ApiTokenScope.SITES_READ, ApiTokenScope.MEMBERS_READ],
        "created_at": Moment(NOW_MS),
        "created_by": "ann@example.com",
    }
    return ApiToken(**{**values, **changes})


def webhook(webhook_id: str, site_id: str, account_id: str) -> StoredWebhook:
    return StoredWebhook(
        id=webhook_id,
        site_id=site_id,
        account_id=account_id,
        url="https://hooks.invalid/",
        events=(WebhookEvent.DECISIONS,),
        format=WebhookFormat.JSON,
        filter=EVERYTHING,
        enabled=True,
        secret=b"sealed",
        created_ms=NOW_MS,
        progress=Progress(position=0, next_attempt_ms=NOW_MS),
    )


def delivery(delivery_id: str, site_id: str, webhook_id: str) -> Delivery:
    return Delivery(
        id=delivery_id,
        site_id=site_id,
        webhook_id=webhook_id,
        kind=DeliveryKind.DECISIONS,
        time_ms=NOW_MS,
        items=1,
        delivered=True,
        attempts=1,
        status=200,
        duration_ms=1,
        error=None,
    )


def message(message_id: str, **changes: Any) -> StoredMessage:
    values: dict[str, Any] = {
        "id": message_id,
        "recipient": "ann@example.com",
        "kind": "invite",
        "subject": "Your invitation",
        "body": b"sealed",
        "link_digest": None,
        "status": OutboxStatus.PENDING,
        "attempts": 0,
        "next_attempt_ms": NOW_MS,
        "created_ms": NOW_MS,
    }
    return StoredMessage(**{**values, **changes})


def passkey(user_id: str) -> StoredPasskey:
    """Return a passkey of a user."""
    return StoredPasskey(
        id=f"pk of {user_id}",
        user_id=user_id,
        credential_id=user_id.encode(),
        public_key=b"key",
        origin="https://gate.example",
        name="Key",
        sign_count=0,
        created_ms=NOW_MS,
    )


def link(secret_digest: bytes, user_id: str, **changes: Any) -> StoredLink:
    values: dict[str, Any] = {
        "secret_digest": secret_digest,
        "kind": LinkKind.INVITE,
        "user_id": user_id,
        "account_id": None,
        "created_ms": NOW_MS,
        "expires_ms": NOW_MS + 1_000,
    }
    return StoredLink(**{**values, **changes})


async def add_accounts(store: SqlStore, *accounts: StoredAccount) -> None:
    async def work(stores: SqlStores) -> None:
        for added in accounts:
            await stores.accounts.add_account(added)

    await store.change(work)


async def add_member(
    store: SqlStore, account_id: str, member: StoredUser, *, role: AccountRole = AccountRole.MEMBER, joined_ms: int = 0
) -> None:
    """Make a user, unless there is one of this ID already, a member."""

    async def work(stores: SqlStores) -> None:
        await stores.users.add_user(member)
        await stores.members.add_membership(account_id, member.id, role, joined_ms or NOW_MS)

    await store.change(work)
