"""Users signing in and out."""

from msgspec import UnsetType

from agentgate.http.call import Call
from agentgate.http.replies import Reply
from agentgate.lib.database import Store
from agentgate.lib.errors import Refused
from agentgate.people.accounts.code_check import CodeCheck, one_of
from agentgate.people.accounts.guards import SessionCall, UserCall
from agentgate.people.accounts.password_check import PasswordCheck
from agentgate.people.accounts.records import Session
from agentgate.people.accounts.repositories import AccountStores
from agentgate.people.accounts.session_view import session_record
from agentgate.people.accounts.sign_in_records import CodeInput, Login
from agentgate.people.accounts.signing_in import (
    StartedSession,
    lock_user,
    record_failure,
    record_of_user,
    start_session,
)
from agentgate.people.audit.actions import Action
from agentgate.people.identity.sessions import CODE_ATTEMPTS, UserSessions
from agentgate.people.identity.user_records import SessionStage, StoredUser
from agentgate.people.identity.users import canonical_email


async def log_in(
    call: Call, body: Login, store: Store[AccountStores], password_check: PasswordCheck, sessions: UserSessions
) -> Reply[Session]:
    """Sign in; sets the cookie `ag_account`, and one that makes the browser a known device.

    With two-factor authentication on, the answer is `{mfaRequired: true}` and the cookie is good for five minutes, to
    send a code to `/v1/account/login/mfa`.
    """
    email = canonical_email(body.email)
    user = await store.read.users.find_user_by_email(email)
    password_hash = user.password_hash if user else None
    attempt = password_check.attempt(call, email)
    token = None if isinstance(body.token, UnsetType) else body.token
    right = await password_check.is_right(attempt, password_hash, body.password, token=token)
    if user is None or password_hash is None or not right:
        await store.change(lambda stores: record_failure(stores, call, user, "password"))
        raise Refused("invalid_credentials")
    user_id, rehashed = user.id, await password_check.rehash(password_hash, body.password)

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
        await password_check.forget(attempt)
    return started.reply(call, sessions)


async def finish_log_in(
    call: SessionCall, body: CodeInput, store: Store[AccountStores], code_check: CodeCheck, sessions: UserSessions
) -> Reply[Session]:
    """Finish signing in with a code or a recovery code."""
    begun = call.session
    if begun.stage is not SessionStage.PASSWORD:
        raise Refused("invalid_state", "This session is signed in; no code is needed.")
    code, _ = one_of(body)
    method = "recovery_code" if code is None else "code"
    user = await _find_user(call, store)
    attempt = code_check.attempt(call, user.email)
    await code_check.count_attempt(attempt, body)
    await _count_attempt(call, store)

    async def work(stores: AccountStores) -> StartedSession:
        current = await lock_user(stores, begun.user_id)
        if not current.has_mfa or not await stores.user_sessions.end_session(begun.secret_digest, call.now):
            # Two-factor authentication was reset, or another request has just finished this sign-in.
            raise Refused("session_expired")
        await code_check.spend(stores, call, current, body)
        started = await start_session(stores, call, sessions, current, account_id=begun.account_id, has_code=True)
        await _record_success(stores, call, started, method)
        return started

    try:
        started = await store.change(work)
    except Refused as refused:
        if refused.code == "invalid_code":
            await code_check.note_failure(attempt)
            await store.change(lambda stores: record_failure(stores, call, user, method))
        raise
    await code_check.forget(attempt)
    return started.reply(call, sessions)


async def log_out(call: SessionCall, store: Store[AccountStores], sessions: UserSessions) -> Reply[None]:
    """End the session and clear its cookie."""
    await store.change(lambda stores: stores.user_sessions.end_session(call.session.secret_digest, call.now))
    return Reply(body=None, headers=(sessions.cleared_cookie(call),))


async def read_session(call: UserCall, store: Store[AccountStores], sessions: UserSessions) -> Session:
    """Read who is signed in, their accounts, what they may do in the active one, and the CSRF token."""
    places = await store.read.members.list_memberships(call.user.id)
    return session_record(sessions, call.session, call.user, places)


async def _find_user(call: SessionCall, store: Store[AccountStores]) -> StoredUser:
    """Return whose code is awaited."""
    user = await store.read.users.find_user(call.session.user_id)
    if user is None:
        raise Refused("session_expired")
    return user


async def _count_attempt(call: SessionCall, store: Store[AccountStores]) -> None:
    """Use up one of the pre-session's attempts."""
    digest = call.session.secret_digest
    if not await store.change(lambda stores: stores.user_sessions.count_code_attempt(digest, CODE_ATTEMPTS)):
        raise Refused("session_expired", "Too many codes were tried; sign in again.")


async def _record_success(stores: AccountStores, call: Call, started: StartedSession, method: str) -> None:
    await record_of_user(
        stores,
        call,
        Action.SIGNIN_SUCCESS,
        started.user,
        account_id=started.session.account_id,
        detail={"method": method},
    )
