"""API tokens of an account: created with fewer permissions than their creator has, shown once, revoked permanently."""

from collections.abc import Collection

from msgspec import UnsetType

from agentgate.http.call import Call
from agentgate.lib.enums import ConsolePermission
from agentgate.lib.errors import Refused
from agentgate.lib.ids import new_api_token_id
from agentgate.lib.moment import Moment
from agentgate.lib.names import check_name
from agentgate.lib.secrets import API_TOKEN_PREFIX, digest, new_secret
from agentgate.people.accounts.members import lock_live_account
from agentgate.people.accounts.records import ApiToken, ApiTokenInput, ApiTokenSecret
from agentgate.people.accounts.repository import AccountStores
from agentgate.people.audit.actions import Action
from agentgate.people.audit.trail import Subject, record


def new_token(call: Call, body: ApiTokenInput, permissions: Collection[ConsolePermission]) -> ApiToken:
    """Return the token that an input describes, or reject one that its creator may not have."""
    name = check_name(body.name)
    if not body.scopes or len(set(body.scopes)) != len(body.scopes):
        raise Refused("invalid_request", "scopes must contain at least one scope, and each only once.")
    for scope in body.scopes:
        if ConsolePermission(scope.value) not in permissions:
            raise Refused("forbidden", f"scopes may only contain your own permissions. You lack: {scope}.")
    if isinstance(body.expires_at, Moment) and body.expires_at <= call.now:
        raise Refused("invalid_request", "expiresAt must be in the future. Omit it for a token that never expires.")
    return ApiToken(
        id=new_api_token_id(),
        name=name,
        scopes=body.scopes,
        created_at=call.now,
        created_by=call.actor.name,
        expires_at=body.expires_at,
    )


async def create_token(stores: AccountStores, call: Call, account_id: str, token: ApiToken) -> ApiTokenSecret:
    """Insert a token, within the limit of the account. Only this response contains the secret."""
    account = await lock_live_account(stores, account_id)
    usage = await stores.accounts.read_usage(account_id, call.now)
    if usage.tokens >= account.limits.tokens:
        raise Refused(
            "token_limit",
            f"The account has {usage.tokens} of {account.limits.tokens} active API tokens. Revoke one first.",
        )
    secret = new_secret(API_TOKEN_PREFIX)
    await stores.api_tokens.add_token(account_id, token, digest(secret))
    detail: dict[str, object] = {"name": token.name, "scopes": [scope.value for scope in token.scopes]}
    if not isinstance(token.expires_at, UnsetType):
        detail["expiresAt"] = token.expires_at.text()
    await record(stores, call, Action.TOKEN_CREATE, Subject(account_id=account_id, target=token.id), detail)
    return ApiTokenSecret(token=token, secret=secret)


async def revoke_token(stores: AccountStores, call: Call, account_id: str, token_id: str) -> None:
    """End a token now. Revoking it again changes nothing."""
    token = await stores.api_tokens.find_token(account_id, token_id)
    if token is None:
        raise Refused("not_found", "The account has no API token with this ID.")
    if await stores.api_tokens.revoke_token(account_id, token_id, call.now):
        subject = Subject(account_id=account_id, target=token_id)
        await record(stores, call, Action.TOKEN_REVOKE, subject, {"name": token.name})
