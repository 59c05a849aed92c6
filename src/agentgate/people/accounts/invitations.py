"""Invitations that customers send. Until one is accepted, nothing shows whether its address is known to the service.

An invitation is addressed by its own ID, has no user, and reads no user. Acceptance makes the membership. Every change
locks the account first.
"""

from msgspec.structs import replace

from agentgate.http.call import Call
from agentgate.lib.enums import AccountRole, MemberStatus
from agentgate.lib.errors import Refused
from agentgate.lib.ids import new_user_id
from agentgate.lib.moment import Moment
from agentgate.lib.secrets import digest, new_secret
from agentgate.people.accounts.records import Member, StoredAccount, StoredInvitation
from agentgate.people.accounts.repository import AccountStores
from agentgate.people.audit.actions import Action
from agentgate.people.audit.trail import Subject, record
from agentgate.people.identity.links import INVITE_MS, IssuedLink

SIGN_IN_FIRST = (
    "You have a password already. Sign in with it, then accept the invitation on the page with your accounts."
)


async def invite(
    stores: AccountStores, call: Call, account: StoredAccount, email: str, role: AccountRole
) -> tuple[Member, IssuedLink]:
    """Invite a canonical address; return the invitation as a member, and its link."""
    secret = new_secret()
    # The ID has the form of a user's ID, because lists of members show it as one.
    invitation = StoredInvitation(
        id=new_user_id(),
        account_id=account.id,
        email=email,
        role=role,
        secret_digest=digest(secret),
        created_ms=call.now,
        expires_ms=call.now + INVITE_MS,
    )
    await stores.invitations.add_invitation(invitation)
    await _record(stores, call, Action.MEMBER_INVITE, invitation, role=role.value)
    return as_member(invitation), IssuedLink(secret, invitation)


async def resend(stores: AccountStores, call: Call, invitation: StoredInvitation) -> tuple[Member, IssuedLink]:
    """Give the invitation a fresh link; the earlier one ends."""
    secret = new_secret()
    renewed = replace(invitation, secret_digest=digest(secret), expires_ms=call.now + INVITE_MS)
    await stores.invitations.save_link(renewed.id, renewed.secret_digest, renewed.expires_ms)
    await stores.outbox.clear_body_of_link(invitation.secret_digest)
    await _record(stores, call, Action.MEMBER_RESEND, invitation)
    return as_member(renewed), IssuedLink(secret, renewed)


async def change_role(stores: AccountStores, call: Call, invitation: StoredInvitation, role: AccountRole) -> Member:
    if role == invitation.role:
        return as_member(invitation)
    await stores.invitations.save_role(invitation.id, role)
    change = {"from": invitation.role.value, "to": role.value}
    await _record(stores, call, Action.MEMBER_ROLE, invitation, role=change)
    return as_member(replace(invitation, role=role))


async def withdraw(stores: AccountStores, call: Call, invitation: StoredInvitation) -> None:
    """Delete the invitation, with its link."""
    await end(stores, invitation)
    await _record(stores, call, Action.MEMBER_REMOVE, invitation, role=invitation.role.value)


async def end(stores: AccountStores, invitation: StoredInvitation, *, used_ms: int | None = None) -> None:
    """Delete the invitation and the text of its message, without an audit entry."""
    await stores.invitations.delete_invitation(invitation.id)
    await stores.outbox.clear_body_of_link(invitation.secret_digest, used_ms=used_ms)


async def find_by_link(stores: AccountStores, call: Call, secret: str) -> StoredInvitation | None:
    """Return the invitation of a link that still works, without using it; None when there is none."""
    return await stores.invitations.find_by_secret(digest(secret), call.now)


async def accept(stores: AccountStores, call: Call, invitation: StoredInvitation, user_id: str) -> None:
    """Make the user a member; reject an invitation that has since been accepted, withdrawn or replaced.

    The caller has proved that the user has the invitation's address, and leaves the audit entry.
    """
    await stores.accounts.lock_account(invitation.account_id)
    current = await stores.invitations.find_invitation(invitation.account_id, invitation.id)
    if current is None or current.secret_digest != invitation.secret_digest:
        raise Refused("invalid_link")
    await end(stores, current, used_ms=call.now)
    await stores.members.add_membership(current.account_id, user_id, current.role, call.now)


def as_member(invitation: StoredInvitation) -> Member:
    """Return the invitation as lists of members show it, with only the data that the inviting person typed."""
    return Member(
        user_id=invitation.id,
        email=invitation.email,
        role=invitation.role,
        status=MemberStatus.INVITED,
        mfa_enabled=False,
        joined_at=Moment(invitation.created_ms),
    )


async def _record(
    stores: AccountStores, call: Call, action: Action, invitation: StoredInvitation, **detail: object
) -> None:
    subject = Subject(account_id=invitation.account_id, target=invitation.id)
    await record(stores, call, action, subject, {"email": invitation.email, **detail})
