"""Passwords: forgotten, set anew with a link, changed."""

from msgspec import UnsetType

from agentgate.http.call import Call
from agentgate.http.replies import Reply
from agentgate.lib.database import Store
from agentgate.lib.errors import Refused
from agentgate.people.accounts.active_account import choose_place
from agentgate.people.accounts.guards import UserCall
from agentgate.people.accounts.password_check import PasswordCheck
from agentgate.people.accounts.password_reset import PasswordReset, may_reset
from agentgate.people.accounts.records import Session
from agentgate.people.accounts.repositories import AccountStores
from agentgate.people.accounts.sign_in_records import ForgotInput, PasswordChange, Received, ResetInput
from agentgate.people.accounts.signing_in import StartedSession, lock_user, record_of_user, start_session
from agentgate.people.audit.actions import Action
from agentgate.people.identity.links import peek_link, spend_link
from agentgate.people.identity.sessions import UserSessions
from agentgate.people.identity.user_records import LinkKind, SessionStage
from agentgate.people.identity.users import canonical_email
from agentgate.people.outbox.messages import Messenger, password_changed_message


async def forgot_password(call: Call, body: ForgotInput, password_reset: PasswordReset) -> Received:
    """Have a reset link e-mailed, if an account uses the address. The answer is the same for every address."""
    token = None if isinstance(body.token, UnsetType) else body.token
    await password_reset.ask(call, canonical_email(body.email), token=token)
    return Received()


async def reset_password(
    call: Call,
    body: ResetInput,
    store: Store[AccountStores],
    *,
    password_check: PasswordCheck,
    sessions: UserSessions,
    messenger: Messenger,
) -> Reply[Session]:
    """Set a new password with a reset link; ends the user's other sessions and signs in.

    With two-factor authentication on, a code is still needed: the answer is `{mfaRequired: true}`.
    """
    link = await peek_link(store.read, call, LinkKind.RESET, body.token)
    user = await store.read.users.find_user(link.user_id)
    if user is None:
        raise Refused("invalid_link")
    password_hash = await password_check.new_hash(body.password, email=user.email)

    async def work(stores: AccountStores) -> StartedSession:
        spent = await spend_link(stores, call, LinkKind.RESET, body.token)
        current = await lock_user(stores, spent.user_id)
        if not may_reset(current):
            raise Refused("invalid_link")
        await stores.users.save_password(current.id, password_hash)
        await stores.user_sessions.end_sessions(current.id, call.now)
        started = await start_session(stores, call, sessions, current)
        await _tell(stores, call, started, messenger)
        return started

    # Who has the mailbox is no stranger: without this, somebody who knows the password could keep the owner out.
    return (await store.change(work)).reply(call, sessions, by_link=True)


async def change_password(
    call: UserCall,
    body: PasswordChange,
    store: Store[AccountStores],
    *,
    password_check: PasswordCheck,
    sessions: UserSessions,
    messenger: Messenger,
) -> Reply[None]:
    """Change the password; ends the user's other sessions. Cookie and CSRF token change with it."""
    user = call.user
    new_hash = await password_check.new_hash(body.new_password, email=user.email)
    attempt = password_check.attempt(call, user.email, session=call.session)
    if not await password_check.is_right(attempt, user.password_hash, body.current_password):
        raise Refused("invalid_password")

    async def work(stores: AccountStores) -> str:
        current = await lock_user(stores, user.id)
        if current.password_hash != user.password_hash:
            # Changed while we were looking: what was typed is an old password by now.
            raise Refused("invalid_password")
        await stores.users.save_password(user.id, new_hash)
        secret, session = await sessions.replace(
            stores, call, call.session, account_id=call.session.account_id, stage=SessionStage.FULL
        )
        await stores.user_sessions.end_sessions(user.id, call.now, but=session.secret_digest)
        await record_of_user(
            stores, call, Action.USER_PASSWORD, current, account_id=session.account_id, detail={"method": "change"}
        )
        await messenger.send(stores, call, password_changed_message(user.email))
        return secret

    return Reply(body=None, headers=(sessions.cookie(call, await store.change(work)),))


async def _tell(stores: AccountStores, call: Call, started: StartedSession, messenger: Messenger) -> None:
    place = choose_place(started.places, None)
    account_id = place[1].id if place else None
    user = started.user
    await record_of_user(stores, call, Action.USER_PASSWORD, user, account_id=account_id, detail={"method": "reset"})
    await messenger.send(stores, call, password_changed_message(user.email))
