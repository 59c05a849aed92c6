"""Users whom an identity provider has confirmed: found by its subject, or admitted by verified address or group."""

from agentgate.http.call import Actor, Call
from agentgate.lib.database import Store
from agentgate.lib.enums import AccountRole, ActorKind
from agentgate.lib.errors import Refused
from agentgate.people.accounts import invitations
from agentgate.people.accounts.members import check_room
from agentgate.people.accounts.records import StoredInvitation
from agentgate.people.accounts.repository import AccountStores
from agentgate.people.accounts.signing_in import (
    SignInProof,
    StartedSession,
    lock_user,
    reachable,
    record_of_user,
    start_session,
)
from agentgate.people.audit.actions import Action
from agentgate.people.audit.trail import Subject, record
from agentgate.people.identity.oidc import ProvenPerson
from agentgate.people.identity.records import StoredUser
from agentgate.people.identity.sessions import UserSessions
from agentgate.people.identity.users import canonical_email, find_or_create_user

UNVERIFIED = "The identity provider did not send a verified email address."
NOT_INVITED = "No account that uses this identity provider has invited you, or admits one of your groups."


async def sign_in(
    call: Call, store: Store[AccountStores], sessions: UserSessions, identity: ProvenPerson
) -> StartedSession:
    """Start a session of the person in the accounts that chose this identity provider."""
    # Committed first: a user who has left a group loses the account also if no other account remains.
    await store.change(lambda stores: _leave_groups(stores, call, identity))

    async def work(stores: AccountStores) -> StartedSession:
        user = await _admitted(stores, call, identity)
        started = await start_session(stores, call, sessions, user, proof=SignInProof(issuer=identity.issuer))
        detail = {"method": "oidc", "issuer": identity.issuer, "subject": identity.subject}
        account_id = started.session.account_id
        await record_of_user(stores, call, Action.SIGNIN_SUCCESS, user, account_id=account_id, detail=detail)
        return started

    return await store.change(work)


async def _admitted(stores: AccountStores, call: Call, identity: ProvenPerson) -> StoredUser:
    """Return the user, locked, a member of each account that admits them."""
    user_id = await stores.oidc_identities.find_user_id(identity.issuer_url, identity.subject)
    known = None if user_id is None else await stores.users.find_user(user_id)
    email = known.email if known else _email(identity)
    found = known or await stores.users.find_user_by_email(email)
    # An invitation is to an address, which the provider may have given to another person since this one was bound.
    offers = await _offers(stores, call, identity, email) if _confirms(identity, email) else []
    groups = await stores.accounts.list_by_group(identity.issuer, identity.groups)
    memberships = [] if found is None else await stores.members.list_memberships(found.id)
    if not (offers or groups or reachable(memberships, identity.issuer)):
        raise Refused("no_account", NOT_INVITED)

    # First the accounts, then the user, as everywhere else.
    for account_id in sorted({*groups, *(offer.account_id for offer in offers)}):
        await stores.accounts.lock_account(account_id)
    new_id = offers[0].id if offers else None
    user = found or await find_or_create_user(stores, call, email, user_id=new_id)
    for offer in offers:
        await invitations.accept(stores, call, offer, user.id)
        await record_of_user(stores, call, Action.MEMBER_JOIN, user, account_id=offer.account_id)
    for account_id in groups:
        await _join_by_group(stores, call, account_id, user, identity)
    user = await lock_user(stores, user.id)
    if known is None and not await stores.oidc_identities.add_identity(
        identity.issuer_url, identity.subject, user.id, call.now
    ):
        # The provider has given the address to another person. An owner can remove the member and invite them again.
        raise Refused("oidc_failed", "This email address belongs to another person at the identity provider.")
    return user


async def _offers(stores: AccountStores, call: Call, identity: ProvenPerson, email: str) -> list[StoredInvitation]:
    """Return the open invitations to the address by accounts that chose this identity provider."""
    found = []
    for invitation, _ in await stores.invitations.list_open(email, call.now):
        account = await stores.accounts.find_account(invitation.account_id)
        if account is not None and account.oidc_issuer == identity.issuer:
            found.append(invitation)
    return found


async def _join_by_group(
    stores: AccountStores, call: Call, account_id: str, user: StoredUser, identity: ProvenPerson
) -> None:
    account = await stores.accounts.find_account(account_id)
    if account is None or await stores.members.find_membership(account_id, user.id) is not None:
        return
    await check_room(stores, call, account)
    await stores.members.add_membership(account_id, user.id, account.oidc_role, call.now, by_group=True)
    detail = {"issuer": identity.issuer, "group": account.oidc_group, "role": account.oidc_role.value}
    await record_of_user(stores, call, Action.MEMBER_JOIN, user, account_id=account_id, detail=detail)


async def _leave_groups(stores: AccountStores, call: Call, identity: ProvenPerson) -> None:
    """Remove the person from accounts that they joined by a group which they are no longer in."""
    user_id = await stores.oidc_identities.find_user_id(identity.issuer_url, identity.subject)
    if user_id is None:
        return
    joined = await stores.members.list_joined_by_group(user_id)
    for member, account in await stores.members.list_memberships(user_id):
        is_left = account.oidc_issuer == identity.issuer and account.oidc_group not in identity.groups
        if account.id not in joined or not is_left:
            continue
        await stores.accounts.lock_account(account.id)
        if member.role is AccountRole.OWNER:
            # Made an owner since: no longer the group's decision.
            continue
        await stores.members.remove_membership(account.id, user_id)
        await stores.user_sessions.move_sessions(user_id, account.id, None)
        acting = call.acting_as(Actor(kind=ActorKind.USER, name=member.email, user_id=user_id, account_id=account.id))
        detail = {"email": member.email, "role": member.role.value, "group": account.oidc_group}
        await record(stores, acting, Action.MEMBER_REMOVE, Subject(account_id=account.id, target=user_id), detail)


def _confirms(identity: ProvenPerson, email: str) -> bool:
    try:
        return canonical_email(identity.email) == email
    except Refused:
        return False


def _email(identity: ProvenPerson) -> str:
    try:
        return canonical_email(identity.email)
    except Refused:
        raise Refused("oidc_failed", UNVERIFIED) from None
