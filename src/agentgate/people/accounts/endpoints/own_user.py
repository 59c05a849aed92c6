"""What users do for themselves: second factor, sessions, accounts, and asking for a first account."""

import asyncio

from agentgate.http.address import source_of
from agentgate.http.call import Call
from agentgate.http.replies import Reply
from agentgate.lib import limits
from agentgate.lib.clock import HOUR_MS
from agentgate.lib.database import Store
from agentgate.lib.errors import Refused
from agentgate.lib.limiter import Limiter, Window
from agentgate.lib.names import check_name
from agentgate.lib.records import to_wire
from agentgate.people.accounts import invitations
from agentgate.people.accounts.access_requests import new_request
from agentgate.people.accounts.endpoints.passkeys import show
from agentgate.people.accounts.guards import UserCall
from agentgate.people.accounts.lifecycle import create_account
from agentgate.people.accounts.mfa_records import MfaDisableInput, MfaEnableInput, MfaSetup, MfaState, RecoveryCodes
from agentgate.people.accounts.proofs import SignInProofs, one_of
from agentgate.people.accounts.records import (
    AccessRequestInput,
    AccountInput,
    Received,
    Session,
    SessionItem,
    SessionList,
    SwitchInput,
)
from agentgate.people.accounts.repository import AccountStores
from agentgate.people.accounts.signing_in import (
    StartedSession,
    list_open_invitations,
    lock_user,
    reachable,
    record_of_user,
    refuse_issuer_session,
)
from agentgate.people.audit.actions import Action
from agentgate.people.identity.browser_check import REQUEST_ACCESS, BrowserCheck
from agentgate.people.identity.mfa import SecondFactor, is_pending
from agentgate.people.identity.records import SessionStage, UserSession
from agentgate.people.identity.sessions import UserSessions, is_live


async def read_mfa(call: UserCall, store: Store[AccountStores]) -> MfaState:
    """Read whether two-factor authentication is on, being set up, and required by an account of the user."""
    user = call.user
    return MfaState(
        enabled=user.has_mfa,
        authenticator=user.has_authenticator,
        passkeys=[show(each) for each in await store.read.users.list_passkeys(user.id)],
        pending=is_pending(user, call.now),
        required_by_account=await _is_required(store.read, user.id),
        recovery_codes_left=await store.read.users.count_recovery_codes(user.id),
    )


async def set_up_mfa(call: UserCall, stores: AccountStores, second_factor: SecondFactor) -> MfaSetup:
    """Start the setup: a secret for the authenticator app, to be confirmed with a code."""
    secret, url = await second_factor.begin_setup(stores, call, call.user)
    return MfaSetup(secret=secret, otpauth_url=url)


async def enable_mfa(
    call: UserCall, body: MfaEnableInput, stores: AccountStores, second_factor: SecondFactor
) -> RecoveryCodes:
    """Turn on two-factor authentication with a code; the response shows the recovery codes once."""
    codes = await second_factor.enable(stores, call, call.user, body.code)
    await record_of_user(stores, call, Action.USER_MFA_ON, call.user, account_id=call.session.account_id)
    return RecoveryCodes(recovery_codes=codes)


async def disable_mfa(
    call: UserCall,
    body: MfaDisableInput,
    store: Store[AccountStores],
    *,
    proofs: SignInProofs,
    second_factor: SecondFactor,
) -> None:
    """Turn off two-factor authentication with the password and a code, recovery code or passkey."""
    one_of(body)
    user = call.user
    await _check_may_disable(store.read, user.id, enabled=user.has_mfa)
    attempt = proofs.limits.attempt(call, user.email, session=call.session)
    if not await proofs.is_password(attempt, user.password_hash, body.password):
        raise Refused("invalid_password")
    await proofs.count_code(attempt, body)

    async def work(stores: AccountStores) -> None:
        current = await lock_user(stores, user.id)
        await _check_may_disable(stores, user.id, enabled=current.has_mfa)
        await proofs.spend_code(stores, call, current, body)
        await second_factor.disable(stores, call, current)
        await record_of_user(stores, call, Action.USER_MFA_OFF, current, account_id=call.session.account_id)

    try:
        await proofs.take_signed_challenge(store, call, call.session, body)
        await store.change(work)
    except Refused as refused:
        if refused.code == "invalid_code":
            await proofs.note_wrong_code(attempt)
        raise
    await proofs.limits.forget(attempt)


async def _check_may_disable(stores: AccountStores, user_id: str, *, enabled: bool) -> None:
    if not enabled:
        raise Refused("mfa_not_enabled")
    if await _is_required(stores, user_id):
        raise Refused("mfa_required_by_account")


async def _is_required(stores: AccountStores, user_id: str) -> bool:
    return any(account.require_mfa for _, account in await stores.members.list_memberships(user_id))


async def list_sessions(call: UserCall, store: Store[AccountStores]) -> SessionList:
    """List the user's sessions, newest first."""
    found = await _live_sessions(store.read, call)
    return SessionList(items=[to_wire(each, SessionItem, current=each.id == call.session.id) for each in found])


async def end_session(call: UserCall, stores: AccountStores, sessions: UserSessions) -> Reply[None]:
    """End one of the user's sessions; the current one too, which signs out."""
    found = [each for each in await _live_sessions(stores, call) if each.id == call.params["id"]]
    if not found or not await stores.user_sessions.end_session(found[0].secret_digest, call.now):
        raise Refused("not_found", "You have no session with this ID.")
    is_current = found[0].secret_digest == call.session.secret_digest
    return Reply(body=None, headers=(sessions.cleared_cookie(call),) if is_current else ())


async def end_other_sessions(call: UserCall, stores: AccountStores) -> None:
    """End every session of the user but the current one."""
    for session in await _live_sessions(stores, call):
        if session.id != call.session.id:
            await stores.user_sessions.end_session(session.secret_digest, call.now)


async def _live_sessions(stores: AccountStores, call: UserCall) -> list[UserSession]:
    # Half a sign-in is no session yet.
    return [
        session
        for session in await stores.user_sessions.list_sessions(call.user.id)
        if session.stage is SessionStage.FULL
        and is_live(session, call.now)
        # An identity provider must not see or end what it did not begin.
        and (not call.session.issuer or session.issuer == call.session.issuer)
    ]


async def switch_account(
    call: UserCall, body: SwitchInput, stores: AccountStores, sessions: UserSessions
) -> Reply[Session]:
    """Switch to another of the user's accounts. Changes cookie and CSRF token."""
    memberships = reachable(await stores.members.list_memberships(call.user.id), call.session.issuer)
    if not any(each.account.id == body.account_id for each in memberships):
        raise Refused("not_member")
    return await _go_to(stores, call, sessions, body.account_id)


async def found_account(
    call: UserCall, body: AccountInput, stores: AccountStores, sessions: UserSessions
) -> Reply[Session]:
    """Create another account, owned by the caller, and switch to it."""
    # Check the name before the limit: the response to a malformed name states that it is malformed.
    name = check_name(body.name)
    # The lock makes counting and creating one step: two requests at once cannot both be the third.
    await lock_user(stores, call.user.id)
    if await stores.members.count_owned_accounts(call.user.id) >= limits.ACCOUNTS_OWNED_PER_USER:
        raise Refused("account_limit")
    account = await create_account(stores, call, name, owner_id=call.user.id)
    return await _go_to(stores, call, sessions, account.id)


async def _go_to(stores: AccountStores, call: UserCall, sessions: UserSessions, account_id: str) -> Reply[Session]:
    secret, session = await sessions.replace(stores, call, call.session, account_id=account_id, stage=SessionStage.FULL)
    started = StartedSession(
        secret=secret,
        session=session,
        user=call.user,
        memberships=reachable(await stores.members.list_memberships(call.user.id), session.issuer),
        invitations=[] if session.issuer else await list_open_invitations(stores, call, call.user),
    )
    return started.reply(call, sessions)


async def accept_own_invitation(call: UserCall, stores: AccountStores, sessions: UserSessions) -> Reply[Session]:
    """Accept an invitation and switch to its account. Changes cookie and CSRF token."""
    return await accept_invitation(call, call.params["id"], stores, sessions)


async def accept_invitation(
    call: UserCall, invitation_id: str, stores: AccountStores, sessions: UserSessions
) -> Reply[Session]:
    """Make the caller a member by an invitation to their own address."""
    refuse_issuer_session(call.session)
    invitation = await stores.invitations.find_open(call.user.email, invitation_id, call.now)
    if invitation is None:
        raise Refused(
            "not_found", "You have no invitation with this ID. It may have expired, been withdrawn or been accepted."
        )
    await invitations.accept(stores, call, invitation, call.user.id)
    await record_of_user(stores, call, Action.MEMBER_JOIN, call.user, account_id=invitation.account_id)
    return await _go_to(stores, call, sessions, invitation.account_id)


PER_SOURCE = Window("access-source", 10, HOUR_MS)
OVER_ALL = Window("access-all", 300, HOUR_MS)
# Storing a request takes a little longer than finding a pending one. All responses are sent after the same time.
ANSWER_S = 0.1


async def request_access(
    call: Call, body: AccessRequestInput, store: Store[AccountStores], browser_check: BrowserCheck, limiter: Limiter
) -> Received:
    """Request an account. The response is the same for every address."""
    loop = asyncio.get_running_loop()
    answer_s = loop.time() + ANSWER_S
    request = new_request(call, body)
    await limiter.require(PER_SOURCE, source_of(call.request.address))
    token = body.token or None
    if not await browser_check.passes(token, call, action=REQUEST_ACCESS):
        raise Refused("browser_check_failed")
    # Counted behind the check: programs that do not pass it must not use up what is there for people.
    await limiter.require(OVER_ALL, "")
    # Asking again while a request is pending changes nothing. Whether the address is known makes no difference: what is
    # stored, and how long that takes, must not tell.
    await store.change(lambda stores: stores.access_requests.add_request(request))
    await asyncio.sleep(answer_s - loop.time())
    return Received()
