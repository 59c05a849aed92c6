"""Invite links: looked at, and accepted by setting the first password."""

from msgspec import UnsetType

from agentgate.http.call import Call
from agentgate.http.replies import Reply
from agentgate.lib.database import Store
from agentgate.lib.errors import Refused
from agentgate.lib.moment import Moment
from agentgate.lib.names import check_name
from agentgate.people.accounts.active_account import Place
from agentgate.people.accounts.password_check import PasswordCheck
from agentgate.people.accounts.records import Session
from agentgate.people.accounts.repositories import AccountStores
from agentgate.people.accounts.sign_in_records import AcceptInput, InviteInfo
from agentgate.people.accounts.signing_in import StartedSession, lock_user, record_of_user, start_session
from agentgate.people.audit.actions import Action
from agentgate.people.identity.links import peek_link, spend_link
from agentgate.people.identity.sessions import UserSessions
from agentgate.people.identity.user_records import LinkKind, StoredLink


async def read_invite(call: Call, store: Store[AccountStores]) -> InviteInfo:
    """Read who an invite link is for, without using it."""
    link = await peek_link(store.read, call, LinkKind.INVITE, call.params["token"])
    membership, account = await _invited_to(store.read, link)
    return InviteInfo(
        email=membership.email,
        account_name=account.name,
        role=membership.role,
        expires_at=Moment(link.expires_ms),
    )


async def accept_invite(
    call: Call,
    body: AcceptInput,
    store: Store[AccountStores],
    password_check: PasswordCheck,
    sessions: UserSessions,
) -> Reply[Session]:
    """Set the first password with an invite link, and sign in."""
    name = None if isinstance(body.name, UnsetType) else check_name(body.name)
    link = await peek_link(store.read, call, LinkKind.INVITE, body.token)
    membership, _ = await _invited_to(store.read, link)
    password_hash = await password_check.new_hash(body.password, email=membership.email)

    async def work(stores: AccountStores) -> StartedSession:
        spent = await spend_link(stores, call, LinkKind.INVITE, body.token)
        invited = await lock_user(stores, spent.user_id)
        if invited.password_hash is not None:
            # Who has a password signs in with it. A link that sets another would be a way around it.
            raise Refused("invalid_link")
        _, account = await _invited_to(stores, spent)
        await stores.users.save_password(invited.id, password_hash)
        if name is not None:
            await stores.users.save_name(invited.id, name)
        await record_of_user(stores, call, Action.MEMBER_JOIN, invited, account_id=account.id)
        user = await lock_user(stores, invited.id)
        return await start_session(stores, call, sessions, user, account_id=account.id)

    return (await store.change(work)).reply(call, sessions)


async def _invited_to(stores: AccountStores, link: StoredLink) -> Place:
    """Return the place that an invitation is to; refuse when it was taken back, or the account is gone."""
    places = await stores.members.list_memberships(link.user_id)
    place = next((place for place in places if place[1].id == link.account_id), None)
    if place is None:
        raise Refused("invalid_link")
    return place
