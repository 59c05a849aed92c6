"""What operators do to a user, in whichever accounts that user is.

An entry about a user stands in the trail of each account of theirs that is not deleted, so that its owners read it;
for a user who belongs to none, the one entry is of no account.
"""

from typing import Any

from msgspec import UnsetType

from agentgate.http.call import Call
from agentgate.lib.enums import UserStatus
from agentgate.lib.errors import Refused
from agentgate.lib.moment import Moment
from agentgate.lib.records import optional, optional_moment
from agentgate.people.accounts.records import member_status
from agentgate.people.accounts.repository import AccountStores
from agentgate.people.accounts.signing_in import choose_place
from agentgate.people.audit.actions import Action
from agentgate.people.audit.trail import Subject, record
from agentgate.people.identity.links import IssuedLink, end_links, issue_link
from agentgate.people.identity.records import LinkKind, StoredUser
from agentgate.protection.customers.records import Account


async def suspend_user(stores: AccountStores, call: Call, user_id: str, reason: str | UnsetType) -> StoredUser:
    """Keep a user out of everything: sessions end, and so do reset links, which would outlive the suspension."""
    user = await _get_user(stores, user_id)
    if user.status is UserStatus.SUSPENDED:
        raise Refused("invalid_state", "The user is suspended already.")
    await stores.users.save_status(user.id, UserStatus.SUSPENDED)
    await stores.user_sessions.end_sessions(user.id, call.now)
    await end_links(stores, call, LinkKind.RESET, user.id)
    await _record(stores, call, Action.USER_SUSPEND, user, {} if isinstance(reason, UnsetType) else {"reason": reason})
    return user


async def reactivate_user(stores: AccountStores, call: Call, user_id: str) -> None:
    """Let a suspended user sign in again."""
    user = await _get_user(stores, user_id)
    if user.status is not UserStatus.SUSPENDED:
        raise Refused("invalid_state", "The user is not suspended.")
    await stores.users.save_status(user.id, UserStatus.ACTIVE)
    await _record(stores, call, Action.USER_REACTIVATE, user)


async def make_reset_link(stores: AccountStores, call: Call, user_id: str) -> tuple[StoredUser, IssuedLink]:
    """Make a link with which the user can set a new password; the earlier ones end."""
    user = await _get_user(stores, user_id)
    if user.status is UserStatus.SUSPENDED:
        raise Refused("invalid_state", "The user is suspended; reactivate them first.")
    if user.password_hash is None:
        raise Refused("invalid_state", "The user has no password to reset; resend the invitation instead.")
    link = await issue_link(stores, call, LinkKind.RESET, user.id)
    await _record(stores, call, Action.USER_RESET_LINK, user)
    return user, link


async def reset_mfa(stores: AccountStores, call: Call, user_id: str) -> StoredUser:
    """Turn a user's two-factor authentication off, for somebody who lost the device and the recovery codes."""
    user = await _get_user(stores, user_id)
    if not await stores.users.disable_mfa(user.id):
        raise Refused("mfa_not_enabled", "The user has not turned two-factor authentication on.")
    await _record(stores, call, Action.USER_MFA_RESET, user)
    return user


async def read_account(stores: AccountStores, user_id: str) -> Account:
    """Return a user with the account that a new session of theirs would work in."""
    user = await stores.users.find_user(user_id)
    if user is None:
        raise _unknown()
    place = choose_place(await stores.members.list_memberships(user.id), None)
    known: dict[str, Any] = {}
    if place is not None:
        membership, account = place
        known = {"role": membership.role, "customer_id": account.id, "customer_name": account.name}
    return Account(
        **known,
        user_id=user.id,
        email=user.email,
        status=member_status(user.status, has_password=user.password_hash is not None),
        mfa_enabled=user.has_mfa,
        created_at=Moment(user.created_ms),
        name=optional(user.name),
        last_sign_in_at=optional_moment(user.last_sign_in_ms),
    )


async def _get_user(stores: AccountStores, user_id: str) -> StoredUser:
    # Under the lock, so that of two operators who suspend at once only one finds the user active.
    await stores.users.lock_user(user_id)
    user = await stores.users.find_user(user_id)
    if user is None:
        raise _unknown()
    return user


def _unknown() -> Refused:
    return Refused("not_found", "There is no user with this ID.")


async def _record(
    stores: AccountStores, call: Call, action: Action, user: StoredUser, detail: dict[str, Any] | None = None
) -> None:
    places = await stores.members.list_memberships(user.id)
    account_ids: list[str | None] = [account.id for _, account in places]
    for account_id in account_ids or [None]:
        subject = Subject(account_id=account_id, target=user.id)
        await record(stores, call, action, subject, {"email": user.email, **(detail or {})})
