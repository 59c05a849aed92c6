"""API tokens over HTTP."""

from agentgate.lib.database import Store
from agentgate.lib.enums import ConsolePermission
from agentgate.people.accounts import api_tokens
from agentgate.people.accounts.guards import MemberCall
from agentgate.people.accounts.members import lock_acting_role
from agentgate.people.accounts.records import ApiTokenInput, ApiTokenList, ApiTokenSecret
from agentgate.people.accounts.repositories import AccountStores


async def list_tokens(call: MemberCall, store: Store[AccountStores]) -> ApiTokenList:
    """List the account's API tokens, newest first."""
    return ApiTokenList(items=await store.read.api_tokens.list_tokens(call.account.id))


async def create_token(call: MemberCall, body: ApiTokenInput, store: Store[AccountStores]) -> ApiTokenSecret:
    """Create an API token.

    The secret is in this answer and never again.
    """
    token = api_tokens.new_token(call, body, call.permissions)

    async def work(stores: AccountStores) -> ApiTokenSecret:
        await lock_acting_role(stores, call.account.id, call.user_id, ConsolePermission.TOKENS_WRITE)
        return await api_tokens.create_token(stores, call, call.account.id, token)

    return await store.change(work)


async def revoke_token(call: MemberCall, store: Store[AccountStores]) -> None:
    """Revoke an API token now."""
    await store.change(lambda stores: api_tokens.revoke_token(stores, call, call.account.id, call.params["id"]))
