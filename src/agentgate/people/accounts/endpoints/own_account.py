"""The account that the caller works in: read, changed, handed over, deleted."""

from msgspec import UNSET, UnsetType

from agentgate.lib.database import Store
from agentgate.lib.enums import AccountRole, ConsolePermission
from agentgate.lib.errors import Refused
from agentgate.people.accounts import lifecycle
from agentgate.people.accounts.guards import MemberCall
from agentgate.people.accounts.members import lock_acting_role
from agentgate.people.accounts.records import (
    AccountChange,
    ConfirmInput,
    DeletedAccount,
    OwnAccount,
    StoredAccount,
    TransferInput,
)
from agentgate.people.accounts.repositories import AccountStores


async def read_own_account(call: MemberCall, store: Store[AccountStores]) -> OwnAccount:
    """Read the account: its state, limits and usage."""
    return await _own_account(store.read, call, call.account, call.role)


async def change_own_account(call: MemberCall, body: AccountChange, store: Store[AccountStores]) -> OwnAccount:
    """Rename the account, or ask two-factor authentication of all members."""

    async def work(stores: AccountStores) -> OwnAccount:
        role = await lock_acting_role(stores, call.account.id, call.user_id, ConsolePermission.ACCOUNT_WRITE)
        account = await lifecycle.get_account(stores, call.account.id)
        if not isinstance(body.name, UnsetType):
            account = await lifecycle.rename_account(stores, call, account.id, body.name)
        if not isinstance(body.require_mfa, UnsetType):
            if body.require_mfa:
                await _check_has_mfa(stores, call)
            account = await lifecycle.change_mfa_policy(stores, call, account.id, require_mfa=body.require_mfa)
        return await _own_account(stores, call, account, role)

    return await store.change(work)


async def delete_own_account(call: MemberCall, body: ConfirmInput, store: Store[AccountStores]) -> DeletedAccount:
    """Delete the account.

    `confirm` is the account's name. No site may be in `enforce` mode. Credentials and API tokens end at once, the data
    is purged 30 days later.
    """

    async def work(stores: AccountStores) -> DeletedAccount:
        await lock_acting_role(stores, call.account.id, call.user_id, ConsolePermission.ACCOUNT_DELETE)
        return await lifecycle.delete_account(stores, call, call.account.id, body.confirm)

    return await store.change(work)


async def transfer_own_account(call: MemberCall, body: TransferInput, store: Store[AccountStores]) -> OwnAccount:
    """Make another member owner; the caller becomes admin."""

    async def work(stores: AccountStores) -> OwnAccount:
        await lock_acting_role(stores, call.account.id, call.user_id, ConsolePermission.ACCOUNT_DELETE)
        assert call.user_id is not None, "only a user passes the lines above"
        account = await lifecycle.transfer_ownership(
            stores, call, call.account.id, from_user_id=call.user_id, to_user_id=body.user_id
        )
        return await _own_account(stores, call, account, AccountRole.ADMIN)

    return await store.change(work)


async def _check_has_mfa(stores: AccountStores, call: MemberCall) -> None:
    # Whoever turns this on without having it would lock themselves out with the next request.
    user = await stores.users.find_user(call.user_id) if call.user_id is not None else None
    if user is None or not user.has_mfa:
        raise Refused("mfa_not_enabled", "Turn two-factor authentication on for yourself before asking it of others.")


async def _own_account(
    stores: AccountStores, call: MemberCall, account: StoredAccount, role: AccountRole | None
) -> OwnAccount:
    return OwnAccount(
        id=account.id,
        name=account.name,
        status=account.status,
        limits=account.limits,
        usage=await stores.accounts.read_usage(account.id, call.now),
        require_mfa=account.require_mfa,
        created_at=account.created_at,
        role=UNSET if role is None else role,
    )
