"""Users signing in and out: with a password and a code, with an invite link, with a reset link."""

from msgspec import UnsetType

from agentgate.http.call import Call
from agentgate.http.replies import Reply
from agentgate.lib.database import Store
from agentgate.lib.errors import Refused
from agentgate.lib.moment import Moment
from agentgate.lib.names import check_name
from agentgate.lib.records import shown
from agentgate.people.accounts.guards import SessionCall, UserCall
from agentgate.people.accounts.password_reset import PasswordReset, may_reset
from agentgate.people.accounts.proofs import SignInProofs, one_of
from agentgate.people.accounts.records import (
    AcceptInput,
    CodeInput,
    ForgotInput,
    InviteInfo,
    Login,
    Membership,
    PasswordChange,
    Received,
    ResetInput,
    Session,
)
from agentgate.people.accounts.repository import AccountStores
from agentgate.people.accounts.signing_in import (
    StartedSession,
    choose_account_id,
    lock_user,
    record_failure,
    record_of_user,
    session_record,
    start_session,
)
from agentgate.people.audit.actions import Action
from agentgate.people.identity.links import peek_link, spend_link
from agentgate.people.identity.records import LinkKind, SessionStage, StoredLink
from agentgate.people.identity.sessions import CODE_ATTEMPTS, UserSessions
from agentgate.people.identity.users import canonical_email
from agentgate.people.outbox.messages import Messenger, password_changed_message


async def log_in(
    call: Call, body: Login, store: Store[AccountStores], proofs: SignInProofs, sessions: UserSessions
) -> Reply[Session]:
    """Sign in; sets the cookie `ag_account`, and one that makes the browser a known device.

    With two-factor authentication on, the answer is `{mfaRequired: true}` and the cookie is good for five minutes, to
    send a code to `/v1/account/login/mfa`.
    """
    email = canonical_email(body.email)
    user = await store.read.users.find_user_by_email(email)
    password_hash = user.password_hash if user else None
    attempt = proofs.limits.attempt(call, email)
    token = body.token or None
    right = await proofs.is_password(attempt, password_hash, body.password, token=token)
    if user is None or password_hash is None or not right:
        await store.change(lambda stores: record_failure(stores, call, user, "password"))
        raise Refused("invalid_credentials")
    user_id, rehashed = user.id, await proofs.rehash(password_hash, body.password)

    async def work(stores: AccountStores) -> StartedSession:
        current = await lock_user(stores, user_id)
        if current.password_hash != password_hash:
            # Changed while we were looking: what was typed is an old password by now.
            raise Refused("invalid_credentials")
        if rehashed is not None:
            await stores.users.save_password(user_id, rehashed)
        started = await start_session(stores, call, sessions, current)
        if started.session.stage is SessionStage.FULL:
            await _record_success(stores, call, started, "password")
        return started

    started = await store.change(work)
    if started.session.stage is SessionStage.FULL:
        await proofs.limits.forget(attempt)
    return started.reply(call, sessions)


async def finish_log_in(
    call: SessionCall, body: CodeInput, store: Store[AccountStores], proofs: SignInProofs, sessions: UserSessions
) -> Reply[Session]:
    """Finish signing in with a code or a recovery code."""
    begun = call.session
    if begun.stage is not SessionStage.PASSWORD:
        raise Refused("invalid_state", "This session is signed in; no code is needed.")
    code, _ = one_of(body)
    method = "recovery_code" if code is None else "code"
    user = await store.read.users.find_user(begun.user_id)
    if user is None:
        raise Refused("session_expired")
    attempt = proofs.limits.attempt(call, user.email)
    await proofs.count_code(attempt, body)
    await _count_attempt(call, store)

    async def work(stores: AccountStores) -> StartedSession:
        current = await lock_user(stores, begun.user_id)
        if not current.has_mfa or not await stores.user_sessions.end_session(begun.secret_digest, call.now):
            # Two-factor authentication was reset, or another request has just finished this sign-in.
            raise Refused("session_expired")
        await proofs.spend_code(stores, call, current, body)
        started = await start_session(stores, call, sessions, current, account_id=begun.account_id, has_code=True)
        await _record_success(stores, call, started, method)
        return started

    try:
        started = await store.change(work)
    except Refused as refused:
        if refused.code == "invalid_code":
            await proofs.note_wrong_code(attempt)
            await store.change(lambda stores: record_failure(stores, call, user, method))
        raise
    await proofs.limits.forget(attempt)
    return started.reply(call, sessions)


async def log_out(call: SessionCall, stores: AccountStores, sessions: UserSessions) -> Reply[None]:
    """End the session and clear its cookie."""
    await stores.user_sessions.end_session(call.session.secret_digest, call.now)
    return Reply(body=None, headers=(sessions.cleared_cookie(call),))


async def read_session(call: UserCall, store: Store[AccountStores], sessions: UserSessions) -> Session:
    """Read who is signed in, their accounts, what they may do in the active one, and the CSRF token."""
    memberships = await store.read.members.list_memberships(call.user.id)
    return session_record(sessions, call.session, call.user, memberships)


async def _count_attempt(call: SessionCall, store: Store[AccountStores]) -> None:
    """Use up one of the pre-session's attempts."""
    digest = call.session.secret_digest
    if not await store.change(lambda stores: stores.user_sessions.count_code_attempt(digest, CODE_ATTEMPTS)):
        raise Refused("session_expired", "Too many codes were tried; sign in again.")


async def _record_success(stores: AccountStores, call: Call, started: StartedSession, method: str) -> None:
    account_id, detail = started.session.account_id, {"method": method}
    await record_of_user(stores, call, Action.SIGNIN_SUCCESS, started.user, account_id=account_id, detail=detail)


async def read_invite(call: Call, store: Store[AccountStores]) -> InviteInfo:
    """Read who an invite link is for, without using it."""
    link = await peek_link(store.read, call, LinkKind.INVITE, call.params["token"])
    member, account = await _invited_to(store.read, link)
    return shown(member, InviteInfo, account_name=account.name, expires_at=Moment(link.expires_ms))


async def accept_invite(
    call: Call, body: AcceptInput, store: Store[AccountStores], proofs: SignInProofs, sessions: UserSessions
) -> Reply[Session]:
    """Set the first password with an invite link, and sign in."""
    name = None if isinstance(body.name, UnsetType) else check_name(body.name)
    link = await peek_link(store.read, call, LinkKind.INVITE, body.token)
    member, _ = await _invited_to(store.read, link)
    password_hash = await proofs.new_hash(body.password, email=member.email)

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


async def _invited_to(stores: AccountStores, link: StoredLink) -> Membership:
    """Return the membership that an invitation is for; refuse when it was taken back, or the account is gone."""
    memberships = await stores.members.list_memberships(link.user_id)
    invited_to = next((each for each in memberships if each.account.id == link.account_id), None)
    if invited_to is None:
        raise Refused("invalid_link")
    return invited_to


async def forgot_password(call: Call, body: ForgotInput, password_reset: PasswordReset) -> Received:
    """Have a reset link e-mailed, if an account uses the address. The answer is the same for every address."""
    token = body.token or None
    await password_reset.ask(call, canonical_email(body.email), token=token)
    return Received()


async def reset_password(
    call: Call,
    body: ResetInput,
    store: Store[AccountStores],
    *,
    proofs: SignInProofs,
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
    password_hash = await proofs.new_hash(body.password, email=user.email)

    async def work(stores: AccountStores) -> StartedSession:
        spent = await spend_link(stores, call, LinkKind.RESET, body.token)
        current = await lock_user(stores, spent.user_id)
        if not may_reset(current):
            raise Refused("invalid_link")
        await stores.users.save_password(current.id, password_hash)
        await stores.user_sessions.end_sessions(current.id, call.now)
        started = await start_session(stores, call, sessions, current)
        await _announce_reset(stores, call, started, messenger)
        return started

    # Who has the mailbox is no stranger: without this, somebody who knows the password could keep the owner out.
    return (await store.change(work)).reply(call, sessions, by_link=True)


async def change_password(
    call: UserCall,
    body: PasswordChange,
    store: Store[AccountStores],
    *,
    proofs: SignInProofs,
    sessions: UserSessions,
    messenger: Messenger,
) -> Reply[None]:
    """Change the password; ends the user's other sessions. Cookie and CSRF token change with it."""
    user = call.user
    new_hash = await proofs.new_hash(body.new_password, email=user.email)
    attempt = proofs.limits.attempt(call, user.email, session=call.session)
    if not await proofs.is_password(attempt, user.password_hash, body.current_password):
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


async def _announce_reset(stores: AccountStores, call: Call, started: StartedSession, messenger: Messenger) -> None:
    account_id = choose_account_id(started.memberships)
    user = started.user
    await record_of_user(stores, call, Action.USER_PASSWORD, user, account_id=account_id, detail={"method": "reset"})
    await messenger.send(stores, call, password_changed_message(user.email))
