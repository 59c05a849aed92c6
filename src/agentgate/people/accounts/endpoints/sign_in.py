"""Users signing in and out: with a password and a code, with an invite link, with a reset link."""

from msgspec import Struct, UnsetType

from agentgate.http.call import Call
from agentgate.http.replies import Reply
from agentgate.lib.database import Store
from agentgate.lib.errors import Refused
from agentgate.lib.moment import Moment
from agentgate.lib.names import check_name
from agentgate.lib.records import to_wire
from agentgate.people.accounts import invitations
from agentgate.people.accounts.guards import SessionCall, UserCall
from agentgate.people.accounts.invitations import SIGN_IN_FIRST
from agentgate.people.accounts.password_reset import PasswordReset, may_reset
from agentgate.people.accounts.proofs import SignInProofs, method_of, one_of
from agentgate.people.accounts.records import (
    AcceptInput,
    CodeInput,
    ForgotInput,
    InviteInfo,
    Login,
    PasswordChange,
    Received,
    ResetInput,
    Session,
    StoredInvitation,
)
from agentgate.people.accounts.repository import AccountStores
from agentgate.people.accounts.signing_in import (
    SignInProof,
    StartedSession,
    choose_account_id,
    list_open_invitations,
    lock_user,
    reachable,
    record_failure,
    record_of_user,
    session_record,
    start_session,
)
from agentgate.people.audit.actions import Action
from agentgate.people.identity.links import end_links, peek_link, spend_link
from agentgate.people.identity.records import LinkKind, SessionStage, StoredUser
from agentgate.people.identity.sessions import CODE_ATTEMPTS, UserSessions
from agentgate.people.identity.users import canonical_email, find_or_create_user
from agentgate.people.outbox.messages import Messenger, password_changed_message


async def log_in(
    call: Call, body: Login, store: Store[AccountStores], proofs: SignInProofs, sessions: UserSessions
) -> Reply[Session]:
    """Sign in; sets the cookie `ag_account` and a cookie that makes the browser a known device.

    With two-factor authentication, the response is `{mfaRequired: true}`. Send a code to `/v1/account/login/mfa` within
    five minutes.
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
    """Finish signing in with a code, a recovery code or a passkey."""
    begun = call.session
    if begun.stage is not SessionStage.PASSWORD:
        raise Refused("invalid_state", "This session is already signed in. No code is needed.")
    method = method_of(one_of(body))
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
        started = await start_session(
            stores, call, sessions, current, account_id=begun.account_id, proof=SignInProof(has_code=True)
        )
        await _record_success(stores, call, started, method)
        return started

    try:
        await proofs.take_signed_challenge(store, call, begun, body)
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
    """Read the signed-in user, their accounts, their permissions in the active account and the CSRF token."""
    memberships = reachable(await store.read.members.list_memberships(call.user.id), call.session.issuer)
    to_accept = [] if call.session.issuer else await list_open_invitations(store.read, call, call.user)
    return session_record(sessions, call.session, call.user, memberships, to_accept)


async def _count_attempt(call: SessionCall, store: Store[AccountStores]) -> None:
    """Use up one of the pre-session's attempts."""
    digest = call.session.secret_digest
    if not await store.change(lambda stores: stores.user_sessions.count_code_attempt(digest, CODE_ATTEMPTS)):
        raise Refused("session_expired", "Too many wrong codes. Sign in again.")


async def _record_success(stores: AccountStores, call: Call, started: StartedSession, method: str) -> None:
    account_id, detail = started.session.account_id, {"method": method}
    await record_of_user(stores, call, Action.SIGNIN_SUCCESS, started.user, account_id=account_id, detail=detail)


async def read_invite(call: Call, store: Store[AccountStores]) -> InviteInfo:
    """Read the recipient of an invite link without using it."""
    return (await _peek_invite(store.read, call, call.params["token"])).info


async def accept_invite(
    call: Call, body: AcceptInput, store: Store[AccountStores], proofs: SignInProofs, sessions: UserSessions
) -> Reply[Session]:
    """Set the first password with an invite link, and sign in.

    A user with a password signs in and accepts the invitation with `/v1/account/invitations/{id}/accept`.
    """
    name = None if isinstance(body.name, UnsetType) else check_name(body.name)
    peeked = await _peek_invite(store.read, call, body.token)
    if peeked.info.has_password:
        # A link that sets another password would be a way around the one that the user has.
        raise Refused("already_active", SIGN_IN_FIRST)
    password_hash = await proofs.new_hash(body.password, email=peeked.info.email)

    async def work(stores: AccountStores) -> StartedSession:
        user, account_id = await _spend_invite(stores, call, body.token)
        await stores.users.save_password(user.id, password_hash)
        if name is not None:
            await stores.users.save_name(user.id, name)
        await record_of_user(stores, call, Action.MEMBER_JOIN, user, account_id=account_id)
        user = await lock_user(stores, user.id)
        return await start_session(stores, call, sessions, user, account_id=account_id)

    return (await store.change(work)).reply(call, sessions)


class PeekedInvite(Struct, frozen=True, kw_only=True):
    """An invite link that still works: a customer's invitation, or the link to a membership that an operator gave."""

    info: InviteInfo
    account_id: str
    invitation: StoredInvitation | None = None


async def _peek_invite(stores: AccountStores, call: Call, secret: str) -> PeekedInvite:
    """Return what an invite link is for, without using it; reject a used, withdrawn or expired one."""
    invitation = await invitations.find_by_link(stores, call, secret)
    if invitation is not None:
        account = await stores.accounts.find_account(invitation.account_id)
        user = await stores.users.find_user_by_email(invitation.email)
        if account is None:
            raise Refused("invalid_link")
        info = InviteInfo(
            email=invitation.email,
            account_name=account.name,
            role=invitation.role,
            expires_at=Moment(invitation.expires_ms),
            has_password=user is not None and user.password_hash is not None,
        )
        return PeekedInvite(info=info, account_id=account.id, invitation=invitation)
    link = await peek_link(stores, call, LinkKind.INVITE, secret)
    memberships = await stores.members.list_memberships(link.user_id)
    found = next((each for each in memberships if each.account.id == link.account_id), None)
    if found is None:
        raise Refused("invalid_link")
    member, account = found
    # Setting a password ends these links, so this user has no password.
    info = to_wire(
        member, InviteInfo, account_name=account.name, expires_at=Moment(link.expires_ms), has_password=False
    )
    return PeekedInvite(info=info, account_id=account.id)


async def _spend_invite(stores: AccountStores, call: Call, secret: str) -> tuple[StoredUser, str]:
    """Use an invite link up; return its user, locked and without a password, and the account that it was for."""
    peeked = await _peek_invite(stores, call, secret)
    if peeked.invitation is None:
        spent = await spend_link(stores, call, LinkKind.INVITE, secret)
        user = await lock_user(stores, spent.user_id)
        if user.password_hash is not None:
            raise Refused("invalid_link")
        return user, peeked.account_id
    # First the account, then the user, as everywhere else.
    await stores.accounts.lock_account(peeked.account_id)
    email = peeked.invitation.email
    # A new user keeps the ID under which the invitation was listed.
    found = await find_or_create_user(stores, call, email, user_id=peeked.invitation.id)
    await invitations.accept(stores, call, peeked.invitation, found.id)
    user = await lock_user(stores, found.id)
    if user.password_hash is not None:
        raise Refused("already_active", SIGN_IN_FIRST)
    for kind in LinkKind:
        await end_links(stores, call, kind, user.id)
    return user, peeked.account_id


async def forgot_password(call: Call, body: ForgotInput, password_reset: PasswordReset) -> Received:
    """Send a password reset link if a user has the address. The response is the same for every address."""
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

    With two-factor authentication, the response is `{mfaRequired: true}` and a code is required.
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

    # `by_link` makes this browser a known device, because its user owns the mailbox. Otherwise, an attacker who knows
    # the password could lock the owner out.
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
    """Change the password; ends the user's other sessions. Changes cookie and CSRF token."""
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
        await messenger.send(stores, call.now, password_changed_message(user.email))
        return secret

    return Reply(body=None, headers=(sessions.cookie(call, await store.change(work)),))


async def _announce_reset(stores: AccountStores, call: Call, started: StartedSession, messenger: Messenger) -> None:
    account_id = choose_account_id(started.memberships)
    user = started.user
    await record_of_user(stores, call, Action.USER_PASSWORD, user, account_id=account_id, detail={"method": "reset"})
    await messenger.send(stores, call.now, password_changed_message(user.email))
