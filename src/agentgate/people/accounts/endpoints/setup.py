"""The first owner: the operator creates a link, and the first owner chooses an email address and a password."""

from msgspec import UnsetType

from agentgate.http.call import Call
from agentgate.http.replies import Reply
from agentgate.lib.database import Store
from agentgate.lib.enums import AccountRole
from agentgate.lib.moment import Moment
from agentgate.lib.names import check_name
from agentgate.people.accounts.proofs import SignInProofs
from agentgate.people.accounts.records import Session, SetupInput, SetupLink
from agentgate.people.accounts.setup_links import (
    SetupStores,
    find_or_create_first_account,
    issue_setup_link,
    peek_setup_link,
    spend_setup_link,
)
from agentgate.people.accounts.signing_in import StartedSession, lock_user, record_of_user, start_session
from agentgate.people.audit.actions import Action
from agentgate.people.identity.links import LinkUrls, end_links
from agentgate.people.identity.records import LinkKind
from agentgate.people.identity.sessions import UserSessions
from agentgate.people.identity.users import canonical_email, find_or_create_user


async def create_setup_link(call: Call, stores: SetupStores, urls: LinkUrls) -> SetupLink:
    """Create the link with which the first owner creates an account.

    It works once within 7 days, and only while no user has a password. The account gets the sites that were created
    before, unless they are in several accounts.
    """
    issued = await issue_setup_link(stores, call)
    url = urls.setup_url(issued.secret, operator_call=call)
    return SetupLink(setup_url=url, expires_at=Moment(issued.link.expires_ms))


async def accept_setup(
    call: Call, body: SetupInput, store: Store[SetupStores], proofs: SignInProofs, sessions: UserSessions
) -> Reply[Session]:
    """Create the first owner with a setup link, and sign in."""
    name = None if isinstance(body.name, UnsetType) else check_name(body.name)
    email = canonical_email(body.email)
    await peek_setup_link(store.read, call, body.token)
    password_hash = await proofs.new_hash(body.password, email=email)

    async def work(stores: SetupStores) -> StartedSession:
        await spend_setup_link(stores, call, body.token)
        account = await find_or_create_first_account(stores, call, name or email)
        found = await find_or_create_user(stores, call, email, name=name)
        user = await lock_user(stores, found.id)
        await stores.users.save_password(user.id, password_hash)
        for kind in LinkKind:
            await end_links(stores, call, kind, user.id)
        await stores.members.add_membership(account.id, user.id, AccountRole.OWNER, call.now)
        await record_of_user(stores, call, Action.MEMBER_JOIN, user, account_id=account.id)
        return await start_session(stores, call, sessions, user, account_id=account.id)

    return (await store.change(work)).reply(call, sessions)
