"""What operators change on an account: its name, its limits, whether it asks two-factor authentication."""

from msgspec import UnsetType
from msgspec.structs import replace

from agentgate.http.call import Call
from agentgate.lib.enums import AccountStatus
from agentgate.lib.errors import Refused
from agentgate.lib.records import given
from agentgate.people.accounts.lifecycle import change_mfa_policy, get_account, rename_account
from agentgate.people.accounts.records import Limits, StoredAccount
from agentgate.people.accounts.repository import AccountStores
from agentgate.people.audit.actions import Action
from agentgate.people.audit.diff import diff
from agentgate.people.audit.trail import Subject, record
from agentgate.protection.customers.records import CustomerPatch, LimitsPatch


async def change_customer(stores: AccountStores, call: Call, account_id: str, patch: CustomerPatch) -> None:
    """Change what is given and keep the rest; each kind of change has its own audit entry."""
    if not isinstance(patch.name, UnsetType):
        await rename_account(stores, call, account_id, patch.name)
    if not isinstance(patch.limits, UnsetType):
        await change_limits(stores, call, account_id, patch.limits)
    if not isinstance(patch.require_mfa, UnsetType):
        await change_mfa_policy(stores, call, account_id, require_mfa=patch.require_mfa)


async def change_limits(stores: AccountStores, call: Call, account_id: str, patch: LimitsPatch) -> None:
    """Change limits. What an account has beyond a lowered one stays; it can only not have more."""
    account = await get_account(stores, account_id)
    after = replace(account.limits, **given(patch))
    changes = diff(account.limits, after, Limits.__struct_fields__)
    if not changes:
        return
    await stores.accounts.save_account(replace(account, limits=after))
    await record(stores, call, Action.ACCOUNT_LIMITS, Subject(account_id=account.id, target=account.id), changes)


def check_not_deleted(account: StoredAccount) -> None:
    """Refuse to give a deleted account anything new."""
    if account.status is AccountStatus.DELETED:
        raise Refused("invalid_state", "The customer is deleted; reactivate it first.")
