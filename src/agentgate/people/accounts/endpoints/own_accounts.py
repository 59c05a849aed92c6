"""The user's accounts: work in another one, or found another one."""

from agentgate.http.replies import Reply
from agentgate.lib import limits
from agentgate.lib.database import Store
from agentgate.lib.errors import Refused
from agentgate.lib.names import check_name
from agentgate.people.accounts.guards import UserCall
from agentgate.people.accounts.lifecycle import create_account
from agentgate.people.accounts.records import Session
from agentgate.people.accounts.repositories import AccountStores
from agentgate.people.accounts.sign_in_records import AccountInput, SwitchInput
from agentgate.people.accounts.signing_in import StartedSession, lock_user
from agentgate.people.identity.sessions import UserSessions
from agentgate.people.identity.user_records import SessionStage


async def switch_account(
    call: UserCall, body: SwitchInput, store: Store[AccountStores], sessions: UserSessions
) -> Reply[Session]:
    """Work in another of the user's accounts. Cookie and CSRF token change with it."""

    async def work(stores: AccountStores) -> StartedSession:
        places = await stores.members.list_memberships(call.user.id)
        if not any(account.id == body.account_id for _, account in places):
            raise Refused("not_member")
        return await _go_to(stores, call, sessions, body.account_id)

    return (await store.change(work)).reply(call, sessions)


async def found_account(
    call: UserCall, body: AccountInput, store: Store[AccountStores], sessions: UserSessions
) -> Reply[Session]:
    """Create another account, owned by the caller, and work in it."""
    # Before the limit: what is malformed is told so, whoever sends it.
    name = check_name(body.name)

    async def work(stores: AccountStores) -> StartedSession:
        # The lock makes counting and creating one step: two requests at once cannot both be the third.
        await lock_user(stores, call.user.id)
        if await stores.members.count_owned_accounts(call.user.id) >= limits.ACCOUNTS_OWNED_PER_USER:
            raise Refused("account_limit")
        account = await create_account(stores, call, name, owner_id=call.user.id)
        return await _go_to(stores, call, sessions, account.id)

    return (await store.change(work)).reply(call, sessions)


async def _go_to(stores: AccountStores, call: UserCall, sessions: UserSessions, account_id: str) -> StartedSession:
    secret, session = await sessions.replace(stores, call, call.session, account_id=account_id, stage=SessionStage.FULL)
    places = await stores.members.list_memberships(call.user.id)
    return StartedSession(secret=secret, session=session, user=call.user, places=places)
