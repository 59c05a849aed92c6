"""Accounts: created with an owner, renamed, suspended, deleted, brought back, handed over. All of it is audited.

Every change locks the account first, so that two of them never act on what the other has just made untrue.
"""

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from agentgate.http.call import Call
from agentgate.lib import limits
from agentgate.lib.clock import DAY_MS
from agentgate.lib.enums import AccountRole, AccountStatus, MemberStatus, UserStatus
from agentgate.lib.errors import Refused
from agentgate.lib.ids import new_account_id
from agentgate.lib.moment import Moment
from agentgate.lib.names import check_name
from agentgate.lib.records import to_builtins, to_wire
from agentgate.people.accounts import invitations
from agentgate.people.accounts.members import add_member, get_membership
from agentgate.people.accounts.records import DeletedAccount, Limits, Member, OidcPolicy, StoredAccount
from agentgate.people.accounts.repository import AccountStores
from agentgate.people.audit.actions import Action
from agentgate.people.audit.trail import Subject, record
from agentgate.people.identity.links import IssuedLink, end_links
from agentgate.people.identity.records import LinkKind
from agentgate.people.identity.users import find_or_create_user

PURGE_MS = limits.DELETED_ACCOUNT_PURGE_DAYS * DAY_MS


async def create_account(stores: AccountStores, call: Call, name: str, *, owner_id: str | None = None) -> StoredAccount:
    """Create an account with the default limits and, where one is named, its first owner."""
    account = StoredAccount(
        id=new_account_id(),
        name=check_name(name),
        status=AccountStatus.ACTIVE,
        protected=False,
        limits=Limits(),
        created_at=call.now,
    )
    await stores.accounts.add_account(account)
    if owner_id is not None:
        await stores.members.add_membership(account.id, owner_id, AccountRole.OWNER, call.now)
    await record(stores, call, Action.ACCOUNT_CREATE, _subject(account), {"name": account.name})
    return account


async def get_account(stores: AccountStores, account_id: str) -> StoredAccount:
    """Return an account, locked until this unit of work is done; reject an unknown one."""
    await stores.accounts.lock_account(account_id)
    account = await stores.accounts.find_account(account_id)
    if account is None:
        raise Refused("not_found", "There is no account with this ID.")
    return account


async def rename_account(stores: AccountStores, call: Call, account_id: str, name: str) -> StoredAccount:
    """Give the account another name. Its present one leaves no trace."""
    name = check_name(name)
    account = await get_account(stores, account_id)
    if name == account.name:
        return account
    detail = {"name": {"from": account.name, "to": name}}
    return await _change(stores, call, Action.ACCOUNT_RENAME, detail, account, name=name)


async def change_mfa_policy(stores: AccountStores, call: Call, account_id: str, *, require_mfa: bool) -> StoredAccount:
    """Ask two-factor authentication of all members, or no longer."""
    account = await get_account(stores, account_id)
    if require_mfa == account.require_mfa:
        return account
    detail = {"requireMfa": {"from": account.require_mfa, "to": require_mfa}}
    return await _change(stores, call, Action.ACCOUNT_MFA_POLICY, detail, account, require_mfa=require_mfa)


async def change_oidc(stores: AccountStores, call: Call, account_id: str, policy: OidcPolicy) -> StoredAccount:
    """Choose the identity provider with which members may sign in, and whether it is the only way."""
    account = await get_account(stores, account_id)
    if policy == account.oidc:
        return account
    if policy.only and not policy.issuer:
        raise Refused("invalid_request", "only needs an issuer.")
    if policy.role is AccountRole.OWNER:
        raise Refused("invalid_request", "role must not be owner: a group cannot make owners.")
    detail = {"oidc": {"from": to_builtins(account.oidc), "to": to_builtins(policy)}}
    columns = {f"oidc_{name}": getattr(policy, name) for name in policy.__struct_fields__}
    return await _change(stores, call, Action.ACCOUNT_OIDC, detail, account, **columns)


async def suspend_account(stores: AccountStores, call: Call, account_id: str, reason: str) -> StoredAccount:
    """Close console and API to the members. AgentGate continues to protect the account's sites."""
    account = await get_account(stores, account_id)
    if account.status != AccountStatus.ACTIVE:
        raise Refused("invalid_state", f"The account is {account.status}. Only an active account can be suspended.")
    if account.protected:
        raise Refused("protected_account", "This account belongs to AgentGate itself and cannot be suspended.")
    suspended = {"status": AccountStatus.SUSPENDED, "suspended_reason": reason}
    return await _change(stores, call, Action.ACCOUNT_SUSPEND, {"reason": reason}, account, **suspended)


async def reactivate_account(stores: AccountStores, call: Call, account_id: str) -> StoredAccount:
    """Open a suspended account again, or restore a deleted one. Revoked items remain revoked."""
    account = await get_account(stores, account_id)
    if account.status == AccountStatus.ACTIVE:
        raise Refused("invalid_state", "The account is already active.")
    if account.deleted_ms is not None and call.now >= account.deleted_ms + PURGE_MS:
        # The purge may not have run yet, but the promise that the data is gone holds from this moment on.
        raise Refused("invalid_state", "The account was deleted too long ago to be restored.")
    await stores.configuration.bump_account(account_id)
    active = {"status": AccountStatus.ACTIVE, "suspended_reason": None, "deleted_ms": None}
    return await _change(stores, call, Action.ACCOUNT_REACTIVATE, {"from": account.status.value}, account, **active)


async def delete_account(stores: AccountStores, call: Call, account_id: str, confirm: str) -> DeletedAccount:
    """Delete an account: its secrets and the sessions in it end now, its data goes after the grace period."""
    account = await get_account(stores, account_id)
    await _check_deletion(stores, account, confirm)
    gone = {"status": AccountStatus.DELETED, "suspended_reason": None, "deleted_ms": call.now}
    deleted = await _change(stores, call, Action.ACCOUNT_DELETE, {"name": account.name}, account, **gone)
    await stores.accounts.revoke_everything(account.id, call.now)
    for member in await stores.members.list_members(account.id):
        await stores.user_sessions.end_sessions_in(account.id, member.user_id, call.now)
        await end_links(stores, call, LinkKind.INVITE, member.user_id, account_id=account.id)
    for invitation in await stores.invitations.list_of_account(account.id):
        await invitations.end(stores, invitation)
    await stores.configuration.bump_account(account_id)
    return to_wire(deleted, DeletedAccount, purge_at=Moment(call.now + PURGE_MS))


async def transfer_ownership(
    stores: AccountStores, call: Call, account_id: str, *, from_user_id: str, to_user_id: str
) -> StoredAccount:
    """Transfer the account to another member. The present owner becomes admin."""
    account = await get_account(stores, account_id)
    if from_user_id == to_user_id:
        raise Refused("invalid_request", "userId must be another member. You are already the owner.")
    target = await get_membership(stores, account_id, to_user_id)
    if target.status != MemberStatus.ACTIVE:
        # A new owner who cannot sign in would leave the account without an effective owner.
        raise Refused("not_found", "The account has no member with this ID who can sign in.")
    await stores.members.save_role(account_id, to_user_id, AccountRole.OWNER)
    await stores.members.save_role(account_id, from_user_id, AccountRole.ADMIN)
    detail = {"owner": {"from": from_user_id, "to": to_user_id}}
    await record(stores, call, Action.ACCOUNT_TRANSFER, _subject(account), detail)
    return account


async def _check_deletion(stores: AccountStores, account: StoredAccount, confirm: str) -> None:
    if confirm != account.name:
        raise Refused("confirm_mismatch", "confirm must match the account's name exactly.")
    if account.status != AccountStatus.ACTIVE:
        raise Refused("invalid_state", f"The account is {account.status}. Only an active account can be deleted.")
    if account.protected:
        raise Refused("protected_account", "This account belongs to AgentGate itself and cannot be deleted.")
    if await stores.accounts.has_enforcing_site(account.id):
        raise Refused("sites_enforcing")


async def _change(
    stores: AccountStores, call: Call, action: Action, detail: dict[str, Any], account: StoredAccount, **changes: Any
) -> StoredAccount:
    changed = replace(account, **changes)
    await stores.accounts.save_account(changed)
    await record(stores, call, action, _subject(account), detail)
    return changed


def _subject(account: StoredAccount) -> Subject:
    return Subject(account_id=account.id, target=account.id)


class Invited(Struct, frozen=True, kw_only=True):
    """A user who has no password yet, their membership, and the link with which they can set one."""

    account: StoredAccount
    member: Member
    link: IssuedLink


async def found_account(
    stores: AccountStores, call: Call, account_name: str, *, email: str, name: str | None
) -> Invited:
    """Create an account and invite its owner."""
    account = await create_account(stores, call, account_name)
    return await invite_newcomer(stores, call, account, AccountRole.OWNER, email=email, name=name)


async def invite_newcomer(
    stores: AccountStores, call: Call, account: StoredAccount, role: AccountRole, *, email: str, name: str | None
) -> Invited:
    """Add a user who has no password yet; reject a user who has one, because an invite link would not help them."""
    user = await find_or_create_user(stores, call, email, name=name)
    if user.status is UserStatus.SUSPENDED:
        raise Refused("invalid_state", "The address belongs to a suspended user. Reactivate the user first.")
    member, link = await add_member(stores, call, account, email, role)
    if link is None:
        raise Refused(
            "already_active",
            "The address belongs to a user who already has a password. Add them to an account as a member, or let"
            " them create another account themselves.",
        )
    return Invited(account=account, member=member, link=link)
