"""The caller: a signed-in user, or a member or API token of an account with the permission that a route needs."""

import re
from dataclasses import dataclass, fields
from typing import Any

from agentgate.http.bearer_secret import bearer_secret_of
from agentgate.http.call import Actor, Call
from agentgate.http.endpoint import Guard
from agentgate.http.guards import check_browser_origin, check_same_origin, declares
from agentgate.lib.database import Store
from agentgate.lib.enums import AccountRole, AccountStatus, ActorKind, ConsolePermission, UserStatus
from agentgate.lib.errors import Refused
from agentgate.lib.secrets import API_TOKEN_PREFIX, digest
from agentgate.people.accounts.records import PERMISSIONS, ApiToken, StoredAccount
from agentgate.people.accounts.repository import AccountStores
from agentgate.people.accounts.signing_in import choose_membership, reachable, refuse_issuer_session
from agentgate.people.identity.guards import SAFE_METHODS, refuse_bearer
from agentgate.people.identity.records import SessionStage, StoredUser, UserSession
from agentgate.people.identity.sessions import ACCOUNT_COOKIE, TOUCH_MS, UserSessions

SESSION_SECURITY = (("accountSession", "csrf"),)
MEMBER_SECURITY = (*SESSION_SECURITY, ("apiToken",))
SESSION_REFUSES = ("unauthorized", "session_expired", "mfa_required", "csrf", "cross_origin", "user_suspended")
TOKEN_REFUSES = ("invalid_token",)
MEMBER_REFUSES = ("oidc_required", "forbidden", "account_suspended", "no_account", "mfa_setup_required")

# An actor without an account sees the objects of every account. A user who is in no account must see no objects.
NOWHERE = ""

_API_TOKEN = re.compile(re.escape(API_TOKEN_PREFIX) + r"[A-Za-z0-9_-]{43}\Z", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class SessionCall(Call):
    """A call with a live session, whose sign-in may still lack its code."""

    session: UserSession


@dataclass(frozen=True, kw_only=True)
class UserCall(SessionCall):
    """A call of a signed-in user."""

    user: StoredUser


@dataclass(frozen=True, kw_only=True)
class MemberCall(Call):
    """A call within one account. A user has a role and an ID there; an API token has neither."""

    account: StoredAccount
    role: AccountRole | None
    user_id: str | None
    permissions: frozenset[ConsolePermission]
    # The identity provider that signed the user in, if one did.
    issuer: str = ""


@declares(
    refuses=("token_not_allowed", "unauthorized", "session_expired", "csrf", "cross_origin", "user_suspended"),
    security=SESSION_SECURITY,
)
async def begun_session(call: Call, sessions: UserSessions, store: Store[AccountStores]) -> SessionCall:
    """Allow any session, even one that still lacks its code: only to continue the sign-in, or to cancel it."""
    refuse_bearer(call.request)
    session = await _find_session(call, sessions, store)
    check_same_origin(call.request)
    # A pre-session has not received its CSRF token yet. The only change it can make is to end itself.
    if session.stage is SessionStage.FULL:
        _check_csrf(call, sessions, session)
    return SessionCall(**_known(call), session=session)


@declares(refuses=("token_not_allowed", *SESSION_REFUSES), security=SESSION_SECURITY)
async def signed_in(call: Call, sessions: UserSessions, store: Store[AccountStores]) -> UserCall:
    """Allow users who are signed in; changes need the session's CSRF token."""
    refuse_bearer(call.request)
    return await _signed_in(call, sessions, store)


@declares(refuses=("token_not_allowed", "forbidden", *SESSION_REFUSES), security=SESSION_SECURITY)
async def signed_in_by_password(call: Call, sessions: UserSessions, store: Store[AccountStores]) -> UserCall:
    """Allow users who are signed in with their password."""
    signed = await signed_in(call, sessions, store)
    refuse_issuer_session(signed.session)
    return signed


@declares(refuses=("token_not_allowed", *SESSION_REFUSES), security=SESSION_SECURITY)
async def signed_in_form(call: Call, sessions: UserSessions, store: Store[AccountStores]) -> UserCall:
    """Allow signed-in users who send a form. It cannot carry a header, so its handler checks the token in it."""
    refuse_bearer(call.request)
    check_browser_origin(call.request)
    return await _signed_in(call, sessions, store, in_form=True)


def member(permission: ConsolePermission) -> Guard:
    """Return a guard that allows members whose role, and API tokens whose scopes, have the permission."""

    @declares(refuses=(*SESSION_REFUSES, *TOKEN_REFUSES, *MEMBER_REFUSES), security=MEMBER_SECURITY)
    async def guard(call: Call, sessions: UserSessions, store: Store[AccountStores]) -> MemberCall:
        secret = bearer_secret_of(call.request)
        if secret is not None:
            return await _token_call(call, store, secret, permission)
        return await _session_call(call, await _signed_in(call, sessions, store), store, permission)

    return guard


async def _signed_in(
    call: Call, sessions: UserSessions, store: Store[AccountStores], *, in_form: bool = False
) -> UserCall:
    session = await _find_session(call, sessions, store)
    if session.stage is not SessionStage.FULL:
        raise Refused("mfa_required")
    check_same_origin(call.request)
    if not in_form:
        _check_csrf(call, sessions, session)
    user = await store.read.users.find_user(session.user_id)
    if user is None:
        raise Refused("session_expired")
    if user.status is UserStatus.SUSPENDED:
        raise Refused("user_suspended")
    acting = call.acting_as(user_actor(user, session.account_id))
    return UserCall(**_known(acting), session=session, user=user)


async def _session_call(
    call: Call, signed: UserCall, store: Store[AccountStores], permission: ConsolePermission
) -> MemberCall:
    session, user = signed.session, signed.user
    every = await store.read.members.list_memberships(user.id)
    chosen = choose_membership(reachable(every, session.issuer), session.account_id)
    account_id = chosen.account.id if chosen else None
    if account_id != session.account_id:
        # The account is gone or the user left it: from now on the session works elsewhere, or nowhere.
        await store.change(lambda stores: stores.user_sessions.save_account(session.secret_digest, account_id))
    if chosen is None and every and not session.issuer:
        raise Refused("oidc_required")
    if chosen is None:
        raise Refused("no_account")
    member, account = chosen
    if account.status is AccountStatus.SUSPENDED:
        raise Refused("account_suspended")
    # The second factor of a user of an identity provider is that provider's task.
    if account.require_mfa and not user.has_mfa and not session.issuer:
        raise Refused("mfa_setup_required")
    permissions = PERMISSIONS[member.role]
    if permission not in permissions:
        raise Refused("forbidden", f"Your role {member.role} lacks the permission {permission}. Ask an owner for it.")
    acting = call.acting_as(user_actor(user, account.id))
    return MemberCall(
        **_known(acting),
        account=account,
        role=member.role,
        user_id=user.id,
        permissions=permissions,
        issuer=session.issuer,
    )


async def _token_call(
    call: Call, store: Store[AccountStores], secret: str, permission: ConsolePermission
) -> MemberCall:
    token, account = await _find_token(call, store, secret)
    check_same_origin(call.request)
    if account.status is AccountStatus.SUSPENDED:
        raise Refused("account_suspended")
    permissions = frozenset(ConsolePermission(scope) for scope in token.scopes)
    if permission not in permissions:
        raise Refused("forbidden", f"The API token lacks the permission {permission}. Use a token that has it.")
    await _note_use(call, store, token)
    acting = call.acting_as(Actor(kind=ActorKind.TOKEN, name=token.id, account_id=account.id))
    return MemberCall(**_known(acting), account=account, role=None, user_id=None, permissions=permissions)


async def _find_token(call: Call, store: Store[AccountStores], secret: str) -> tuple[ApiToken, StoredAccount]:
    if not _API_TOKEN.match(secret):
        raise Refused("invalid_token")
    found = await store.read.api_tokens.find_token_by_secret(digest(secret))
    if found is None or not found[1].is_live(call.now):
        raise Refused("invalid_token")
    account_id, token = found
    account = await store.read.accounts.find_account(account_id)
    if account is None or account.status is AccountStatus.DELETED:
        raise Refused("invalid_token")
    return token, account


async def _note_use(call: Call, store: Store[AccountStores], token: ApiToken) -> None:
    last_ms = token.last_used_at
    if not isinstance(last_ms, int) or call.now - last_ms >= TOUCH_MS:
        await store.change(lambda stores: stores.api_tokens.note_use(token.id, call.now))


async def _find_session(call: Call, sessions: UserSessions, store: Store[AccountStores]) -> UserSession:
    secret = call.request.cookie(ACCOUNT_COOKIE)
    if secret is None:
        raise Refused("unauthorized", "Sign in at /v1/account/login.")
    try:
        return await sessions.find(store, call, secret)
    except Refused as refused:
        if refused.code == "session_expired" and await _is_of_suspended(store, secret):
            # Suspending a user ends all of the user's sessions, so report this as the reason.
            raise Refused("user_suspended") from None
        raise


async def _is_of_suspended(store: Store[AccountStores], secret: str) -> bool:
    session = await store.read.user_sessions.find_session(digest(secret))
    user = await store.read.users.find_user(session.user_id) if session else None
    return user is not None and user.status is UserStatus.SUSPENDED


def _check_csrf(call: Call, sessions: UserSessions, session: UserSession) -> None:
    if call.request.method in SAFE_METHODS:
        return
    token = call.request.header("x-csrf-token")
    if token is None or not sessions.is_csrf_token(session, token):
        raise Refused("csrf", "X-CSRF-Token must be the csrfToken of GET /v1/account/session.")


def user_actor(user: StoredUser, account_id: str | None) -> Actor:
    """Return the user as the audit trail names them."""
    return Actor(kind=ActorKind.USER, name=user.email, user_id=user.id, account_id=account_id or NOWHERE)


def _known(call: Call) -> dict[str, Any]:
    return {field.name: getattr(call, field.name) for field in fields(Call)}
