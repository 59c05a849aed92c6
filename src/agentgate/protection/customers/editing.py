"""Accounts and users as operators see and change them: the page of an account, its limits, invitations, suspensions.

An entry about a user stands in the trail of each account of theirs that is not deleted, so that its owners read it;
for a user who belongs to none, the one entry is of no account.
"""

from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from agentgate.http.call import Call
from agentgate.lib.enums import AccountRole, AccountStatus, UserStatus
from agentgate.lib.errors import Refused
from agentgate.lib.limits import CUSTOMER_DETAIL_AUDIT_EVENTS
from agentgate.lib.moment import Moment
from agentgate.lib.names import check_name
from agentgate.lib.records import given, optional, optional_moment, shown
from agentgate.people.accounts.lifecycle import (
    PURGE_MS,
    Invited,
    change_mfa_policy,
    found_account,
    get_account,
    invite_newcomer,
    rename_account,
)
from agentgate.people.accounts.records import Limits, StoredAccount, member_status
from agentgate.people.accounts.repository import AccountStores
from agentgate.people.accounts.signing_in import choose_membership
from agentgate.people.audit.actions import Action
from agentgate.people.audit.diff import diff
from agentgate.people.audit.trail import Subject, record
from agentgate.people.identity.links import IssuedLink, LinkUrls, end_links, issue_link
from agentgate.people.identity.records import LinkKind, StoredUser
from agentgate.people.identity.users import canonical_email
from agentgate.people.outbox.messages import Messenger, added_message, invite_message
from agentgate.protection.customers.records import (
    Account,
    CustomerDetail,
    CustomerPatch,
    CustomerSite,
    InviteInput,
    InviteResult,
    LimitsPatch,
)
from agentgate.protection.customers.repository import CustomerStores
from agentgate.protection.sites.detail import list_summaries
from agentgate.protection.sites.repository import ActivityStore


class Invitations:
    """Tells people that they are invited. What goes out is put into the outbox within the unit of work."""

    def __init__(self, messenger: Messenger, urls: LinkUrls) -> None:
        self._messenger = messenger
        self._urls = urls

    async def send_link(
        self, stores: AccountStores, call: Call, account: StoredAccount, email: str, link: IssuedLink
    ) -> str:
        """Send an invite link; return it, for the operator."""
        url = self._urls.invite_url(link.secret, operator_call=call)
        message = invite_message(email, account_name=account.name, url=url, link_digest=link.link.secret_digest)
        await self._messenger.send(stores, call, message)
        return url

    async def send_notice(self, stores: AccountStores, call: Call, account: StoredAccount, email: str) -> None:
        """Tell somebody who can sign in already that they are in one more account."""
        url = self._urls.console_url(operator_call=call)
        await self._messenger.send(stores, call, added_message(email, account_name=account.name, url=url))

    async def send(self, stores: AccountStores, call: Call, invited: Invited) -> InviteResult:
        """Send a newcomer's invite link, and say so."""
        email = invited.member.email
        return InviteResult(
            customer_id=invited.account.id,
            user_id=invited.member.user_id,
            email=email,
            invite_url=await self.send_link(stores, call, invited.account, email, invited.link),
            expires_at=Moment(invited.link.link.expires_ms),
        )


async def invite(stores: AccountStores, call: Call, body: InviteInput) -> Invited:
    """Invite somebody into an existing account, or into a new one as its owner."""
    email = canonical_email(body.email)
    name = None if isinstance(body.name, UnsetType) else check_name(body.name)
    if isinstance(body.customer_id, UnsetType):
        if body.role not in {AccountRole.OWNER, UNSET}:
            raise Refused("invalid_request", "role must be owner, or left out: a new customer needs an owner.")
        chosen = name or email if isinstance(body.customer_name, UnsetType) else body.customer_name
        account_name = check_name(chosen, what="customerName")
        return await found_account(stores, call, account_name, email=email, name=name)
    if not isinstance(body.customer_name, UnsetType):
        raise Refused("invalid_request", "Give customerId or customerName, not both.")
    account = await stores.accounts.find_account(body.customer_id)
    if account is None or account.status is AccountStatus.DELETED:
        raise Refused("invalid_request", "customerId names no customer.")
    role = AccountRole.MEMBER if isinstance(body.role, UnsetType) else body.role
    return await invite_newcomer(stores, call, account, role, email=email, name=name)


async def read_detail(
    stores: CustomerStores, activity: ActivityStore, account_id: str, *, now: Moment
) -> CustomerDetail:
    """Return everything about one account, a deleted one included until it is purged."""
    summary = await stores.customers.find_customer(account_id)
    account = await stores.accounts.find_account(account_id)
    if summary is None or account is None:
        raise Refused("not_found", "There is no customer with this ID.")
    deleted_ms = account.deleted_ms
    return CustomerDetail(
        **{name: getattr(summary, name) for name in summary.__struct_fields__},
        member_list=await stores.members.list_members(account_id),
        site_list=[
            shown(each, CustomerSite) for each in await list_summaries(stores, activity, account_id=account_id, now=now)
        ],
        tokens=await stores.api_tokens.list_tokens(account_id),
        usage=await stores.accounts.read_usage(account_id, now),
        audit=await stores.audit.list_account_events(account_id, limit=CUSTOMER_DETAIL_AUDIT_EVENTS),
        require_mfa=account.require_mfa,
        suspended_reason=optional(account.suspended_reason),
        deleted_at=optional_moment(deleted_ms),
        purge_at=optional_moment(None if deleted_ms is None else deleted_ms + PURGE_MS),
    )


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


async def suspend_user(stores: AccountStores, call: Call, user_id: str, reason: str | UnsetType) -> StoredUser:
    """Keep a user out of everything: sessions end, and so do reset links, which would outlive the suspension."""
    user = await _get_user(stores, user_id)
    if user.status is UserStatus.SUSPENDED:
        raise Refused("invalid_state", "The user is suspended already.")
    await stores.users.save_status(user.id, UserStatus.SUSPENDED)
    await stores.user_sessions.end_sessions(user.id, call.now)
    await end_links(stores, call, LinkKind.RESET, user.id)
    await _record_of_user(
        stores, call, Action.USER_SUSPEND, user, {} if isinstance(reason, UnsetType) else {"reason": reason}
    )
    return user


async def reactivate_user(stores: AccountStores, call: Call, user_id: str) -> None:
    """Let a suspended user sign in again."""
    user = await _get_user(stores, user_id)
    if user.status is not UserStatus.SUSPENDED:
        raise Refused("invalid_state", "The user is not suspended.")
    await stores.users.save_status(user.id, UserStatus.ACTIVE)
    await _record_of_user(stores, call, Action.USER_REACTIVATE, user)


async def make_reset_link(stores: AccountStores, call: Call, user_id: str) -> tuple[StoredUser, IssuedLink]:
    """Make a link with which the user can set a new password; the earlier ones end."""
    user = await _get_user(stores, user_id)
    if user.status is UserStatus.SUSPENDED:
        raise Refused("invalid_state", "The user is suspended; reactivate them first.")
    if user.password_hash is None:
        raise Refused("invalid_state", "The user has no password to reset; resend the invitation instead.")
    link = await issue_link(stores, call, LinkKind.RESET, user.id)
    await _record_of_user(stores, call, Action.USER_RESET_LINK, user)
    return user, link


async def reset_mfa(stores: AccountStores, call: Call, user_id: str) -> StoredUser:
    """Turn a user's two-factor authentication off, for somebody who lost the device and the recovery codes."""
    user = await _get_user(stores, user_id)
    if not await stores.users.disable_mfa(user.id):
        raise Refused("mfa_not_enabled", "The user has not turned two-factor authentication on.")
    await _record_of_user(stores, call, Action.USER_MFA_RESET, user)
    return user


async def read_account(stores: AccountStores, user_id: str) -> Account:
    """Return a user with the account that a new session of theirs would work in."""
    user = await stores.users.find_user(user_id)
    if user is None:
        raise _unknown()
    chosen = choose_membership(await stores.members.list_memberships(user.id))
    known: dict[str, Any] = {}
    if chosen is not None:
        member, account = chosen
        known = {"role": member.role, "customer_id": account.id, "customer_name": account.name}
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


async def _record_of_user(
    stores: AccountStores, call: Call, action: Action, user: StoredUser, detail: dict[str, Any] | None = None
) -> None:
    places = await stores.members.list_memberships(user.id)
    account_ids: list[str | None] = [account.id for _, account in places]
    for account_id in account_ids or [None]:
        subject = Subject(account_id=account_id, target=user.id)
        await record(stores, call, action, subject, {"email": user.email, **(detail or {})})
