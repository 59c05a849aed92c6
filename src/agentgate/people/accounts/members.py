"""Members of an account and their roles. Even in races, an account keeps an owner, and only owners change owners.

Members and invitations are listed, changed and removed alike. A member's ID is the user's; an invitation has its own.
"""

from msgspec.structs import replace

from agentgate.http.call import Call
from agentgate.lib.enums import AccountRole, AccountStatus, ConsolePermission
from agentgate.lib.errors import Refused
from agentgate.people.accounts import invitations
from agentgate.people.accounts.records import PERMISSIONS, Member, StoredAccount
from agentgate.people.accounts.repository import AccountStores
from agentgate.people.accounts.signing_in import choose_account_id
from agentgate.people.audit.actions import Action
from agentgate.people.audit.trail import Subject, record
from agentgate.people.identity.links import IssuedLink, end_links, issue_link
from agentgate.people.identity.records import LinkKind
from agentgate.people.identity.users import canonical_email, find_or_create_user


async def list_members(stores: AccountStores, account_id: str) -> list[Member]:
    """Return the members, longest-standing first, then the invitations, oldest first."""
    invited = await stores.invitations.list_of_account(account_id)
    return [*await stores.members.list_members(account_id), *map(invitations.as_member, invited)]


async def invite_member(
    stores: AccountStores, call: Call, account: StoredAccount, email: str, role: AccountRole
) -> tuple[Member, IssuedLink]:
    """Invite an address, for a customer; return the invitation as a member, and its link.

    The caller learns only whether the address belongs to a member, which the list of members shows anyway.
    """
    email = canonical_email(email)
    current = await lock_live_account(stores, account.id)
    members = await stores.members.list_members(account.id)
    if any(member.email == email for member in members):
        raise Refused("already_member", "This address belongs to a member of the account already.")
    if await stores.invitations.find_by_email(account.id, email) is not None:
        raise Refused("already_member", "This address already has an invitation. Send the invitation again instead.")
    await check_room(stores, call, current)
    return await invitations.invite(stores, call, account, email, role)


async def add_member(
    stores: AccountStores, call: Call, account: StoredAccount, email: str, role: AccountRole
) -> tuple[Member, IssuedLink | None]:
    """Add a member at once, for an operator. A person who has no password yet also gets a link to set one."""
    email = canonical_email(email)
    # Limits and status may have changed since the caller looked.
    current = await lock_live_account(stores, account.id)
    user = await find_or_create_user(stores, call, email)
    if await stores.members.find_membership(account.id, user.id) is not None:
        raise Refused("already_member", "This address belongs to a member of the account already.")
    invitation = await stores.invitations.find_by_email(account.id, email)
    if invitation is not None:
        await invitations.end(stores, invitation)
    await check_room(stores, call, current)
    await stores.members.add_membership(account.id, user.id, role, call.now)
    issued = None
    if user.password_hash is None:
        issued = await issue_link(stores, call, LinkKind.INVITE, user.id, account_id=account.id)
    added = await get_membership(stores, account.id, user.id)
    await record(
        stores, call, Action.MEMBER_INVITE, _subject(account, added), {"email": added.email, "role": role.value}
    )
    return added, issued


async def change_role(
    stores: AccountStores,
    call: Call,
    account: StoredAccount,
    user_id: str,
    role: AccountRole,
    *,
    actor_role: AccountRole | None,
) -> Member:
    """Give a member another role; `actor_role` is None for an operator. The present role leaves no trace."""
    await stores.accounts.lock_account(account.id)
    check_may_touch(actor_role, role)
    invitation = await stores.invitations.find_invitation(account.id, user_id)
    if invitation is not None:
        check_may_touch(actor_role, invitation.role)
        return await invitations.change_role(stores, call, invitation, role)
    member = await get_membership(stores, account.id, user_id)
    check_may_touch(actor_role, member.role)
    if member.role == role:
        return member
    await _check_not_last_owner(stores, account.id, member)
    await stores.members.save_role(account.id, user_id, role)
    detail = {"email": member.email, "role": {"from": member.role.value, "to": role.value}}
    await record(stores, call, Action.MEMBER_ROLE, _subject(account, member), detail)
    return replace(member, role=role)


async def remove_member(
    stores: AccountStores, call: Call, account: StoredAccount, user_id: str, *, actor_role: AccountRole | None
) -> None:
    """Remove a member, whose sessions fall back to another account, or an invitation.

    `actor_role` is None for an operator.
    """
    await stores.accounts.lock_account(account.id)
    invitation = await stores.invitations.find_invitation(account.id, user_id)
    if invitation is not None:
        check_may_touch(actor_role, invitation.role)
        await invitations.withdraw(stores, call, invitation)
        return
    member = await get_membership(stores, account.id, user_id)
    check_may_touch(actor_role, member.role)
    await _check_not_last_owner(stores, account.id, member)
    await stores.members.remove_membership(account.id, user_id)
    await leave_account(stores, call, account.id, user_id)
    await record(
        stores,
        call,
        Action.MEMBER_REMOVE,
        _subject(account, member),
        {"email": member.email, "role": member.role.value},
    )


async def resend_invite(
    stores: AccountStores, call: Call, account: StoredAccount, user_id: str
) -> tuple[Member, IssuedLink]:
    """Make a fresh link for an invitation, or for a member who has no password yet; the earlier ones end."""
    await stores.accounts.lock_account(account.id)
    invitation = await stores.invitations.find_invitation(account.id, user_id)
    if invitation is not None:
        return await invitations.resend(stores, call, invitation)
    member = await get_membership(stores, account.id, user_id)
    user = await stores.users.find_user(user_id)
    if user is None or user.password_hash is not None:
        raise Refused("already_active", "This member has already set a password, so an invitation is not needed.")
    issued = await issue_link(stores, call, LinkKind.INVITE, user_id, account_id=account.id)
    await record(stores, call, Action.MEMBER_RESEND, _subject(account, member), {"email": member.email})
    return member, issued


async def lock_live_account(stores: AccountStores, account_id: str) -> StoredAccount:
    """Return an account as it is now, locked until this unit of work is done; reject an unknown or deleted one."""
    await stores.accounts.lock_account(account_id)
    account = await stores.accounts.find_account(account_id)
    if account is None or account.status == AccountStatus.DELETED:
        raise Refused("not_found", "There is no account with this ID.")
    return account


async def get_membership(stores: AccountStores, account_id: str, user_id: str) -> Member:
    """Return a member; reject an unknown user and another account's alike."""
    member = await stores.members.find_membership(account_id, user_id)
    if member is None:
        raise Refused("not_found", "The account has no member with this ID.")
    return member


async def lock_acting_role(
    stores: AccountStores, account_id: str, user_id: str | None, permission: ConsolePermission
) -> AccountRole:
    """Lock the account and return the caller's current role; reject a caller who has lost the permission.

    The guard checked it before the account was locked: since then, another owner may have demoted or removed the
    caller.
    """
    await stores.accounts.lock_account(account_id)
    member = await stores.members.find_membership(account_id, user_id) if user_id is not None else None
    if member is None or permission not in PERMISSIONS[member.role]:
        raise Refused("forbidden", f"You lack the permission {permission}.")
    return member.role


def check_may_touch(actor_role: AccountRole | None, role: AccountRole) -> None:
    """Allow only owners and operators (None) to create, change or remove an owner."""
    if role == AccountRole.OWNER and actor_role not in {None, AccountRole.OWNER}:
        raise Refused(
            "forbidden", f"Only an owner may add, change or remove owners; it takes {ConsolePermission.ACCOUNT_DELETE}."
        )


async def leave_account(stores: AccountStores, call: Call, account_id: str, user_id: str) -> None:
    """Move a former member's sessions to another of their accounts, and end their invite links for this one."""
    memberships = await stores.members.list_memberships(user_id)
    other_id = choose_account_id([each for each in memberships if each.account.id != account_id])
    await stores.user_sessions.move_sessions(user_id, account_id, other_id)
    await end_links(stores, call, LinkKind.INVITE, user_id, account_id=account_id)
    # A person who is invited again may have another identity with the same address.
    await stores.oidc_identities.delete_identities(user_id)


async def check_room(stores: AccountStores, call: Call, account: StoredAccount) -> None:
    usage = await stores.accounts.read_usage(account.id, call.now)
    if usage.members >= account.limits.members:
        raise Refused(
            "member_limit", f"The account has {usage.members} of {account.limits.members} members. Remove one first."
        )


async def _check_not_last_owner(stores: AccountStores, account_id: str, member: Member) -> None:
    if member.role == AccountRole.OWNER and await stores.members.count_owners(account_id) <= 1:
        raise Refused("last_owner", "This member is the account's only owner. Promote another member to owner first.")


def _subject(account: StoredAccount, member: Member) -> Subject:
    return Subject(account_id=account.id, target=member.user_id)
