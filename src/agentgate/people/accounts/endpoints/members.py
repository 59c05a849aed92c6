"""The members of the account that the caller works in. Links go out by mail; no answer shows one."""

from msgspec import UNSET

from agentgate.lib.clock import HOUR_MS
from agentgate.lib.database import Store
from agentgate.lib.enums import ConsolePermission
from agentgate.lib.errors import Refused
from agentgate.lib.limiter import Limiter, Window
from agentgate.lib.moment import Moment
from agentgate.people.accounts import members
from agentgate.people.accounts.guards import MemberCall
from agentgate.people.accounts.members import lock_acting_role, member_record
from agentgate.people.accounts.records import (
    Member,
    MemberInput,
    MemberInviteResult,
    MemberList,
    RoleInput,
    StoredAccount,
    StoredMembership,
)
from agentgate.people.accounts.repositories import AccountStores
from agentgate.people.identity.links import IssuedLink, LinkUrls
from agentgate.people.outbox.messages import MailMessage, Messenger, added_message, invite_message

# Each of these sends a mail to an address of the caller's choice, so that none becomes a nuisance to a stranger.
INVITES = Window("invite", 200, HOUR_MS)
INVITES_TO_ONE = Window("invite-again", 5, HOUR_MS)
TOO_MANY = "Too many invitations were sent; try again later."


async def list_members(call: MemberCall, store: Store[AccountStores]) -> MemberList:
    """List the members, longest-standing first."""
    found = await store.read.members.list_members(call.account.id)
    return MemberList(items=[member_record(membership) for membership in found])


async def invite_member(
    call: MemberCall,
    body: MemberInput,
    *,
    store: Store[AccountStores],
    messenger: Messenger,
    urls: LinkUrls,
    limiter: Limiter,
) -> MemberInviteResult:
    """Invite somebody by e-mail.

    Somebody who has a password is a member at once; anybody else is sent a link to set one. Only owners invite owners.
    """
    await limiter.require(INVITES, call.account.id, TOO_MANY)

    async def work(stores: AccountStores) -> tuple[StoredMembership, IssuedLink | None]:
        role = await lock_acting_role(stores, call.account.id, call.user_id, ConsolePermission.MEMBERS_WRITE)
        members.check_may_touch(role, body.role)
        added, issued = await members.invite_member(stores, call, call.account, body.email, body.role)
        await messenger.send(stores, call, _message(urls, call.account, added, issued))
        return added, issued

    added, issued = await store.change(work)
    return MemberInviteResult(
        member=member_record(added), expires_at=UNSET if issued is None else Moment(issued.link.expires_ms)
    )


async def change_member(call: MemberCall, body: RoleInput, store: Store[AccountStores]) -> Member:
    """Change a member's role.

    Only owners change owners or make them. An account keeps at least one.
    """

    async def work(stores: AccountStores) -> StoredMembership:
        role = await lock_acting_role(stores, call.account.id, call.user_id, ConsolePermission.MEMBERS_WRITE)
        return await members.change_role(stores, call, call.account, call.params["userId"], body.role, actor_role=role)

    return member_record(await store.change(work))


async def remove_member(call: MemberCall, store: Store[AccountStores]) -> None:
    """Remove a member.

    Removing others needs `members:write`; anybody may leave. Only owners remove owners. An account keeps at least one.
    """
    user_id = call.params["userId"]
    needed = ConsolePermission.MEMBERS_READ if user_id == call.user_id else ConsolePermission.MEMBERS_WRITE
    if needed not in call.permissions:
        raise Refused("forbidden", f"You lack the permission {needed}; without it you can remove only yourself.")

    async def work(stores: AccountStores) -> None:
        role = await lock_acting_role(stores, call.account.id, call.user_id, needed)
        await members.remove_member(stores, call, call.account, user_id, actor_role=role)

    await store.change(work)


async def resend_invite(
    call: MemberCall, store: Store[AccountStores], messenger: Messenger, urls: LinkUrls, limiter: Limiter
) -> MemberInviteResult:
    """Send a fresh invite link to a member who has no password yet."""
    await limiter.require(INVITES_TO_ONE, f"{call.account.id}:{call.params['userId']}", TOO_MANY)

    async def work(stores: AccountStores) -> tuple[StoredMembership, IssuedLink]:
        await lock_acting_role(stores, call.account.id, call.user_id, ConsolePermission.MEMBERS_WRITE)
        found, issued = await members.resend_invite(stores, call, call.account, call.params["userId"])
        await messenger.send(stores, call, _message(urls, call.account, found, issued))
        return found, issued

    found, issued = await store.change(work)
    return MemberInviteResult(member=member_record(found), expires_at=Moment(issued.link.expires_ms))


def _message(
    urls: LinkUrls, account: StoredAccount, member: StoredMembership, issued: IssuedLink | None
) -> MailMessage:
    if issued is None:
        return added_message(member.email, account_name=account.name, url=urls.console_url())
    return invite_message(
        member.email,
        account_name=account.name,
        url=urls.invite_url(issued.secret),
        link_digest=issued.link.secret_digest,
    )
