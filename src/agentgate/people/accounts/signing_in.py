"""Start of a session after a user has proved their identity. With two-factor authentication, a code must follow."""

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET, Struct

from agentgate.http.call import Actor, Call
from agentgate.http.replies import Reply
from agentgate.lib.enums import AccountStatus, ActorKind, ConsolePermission, UserStatus
from agentgate.lib.errors import Refused
from agentgate.lib.moment import Moment
from agentgate.lib.records import optional, to_wire
from agentgate.lib.secrets import digest
from agentgate.people.accounts.records import (
    PERMISSIONS,
    ActiveAccount,
    Membership,
    OpenInvitation,
    Session,
    SessionAccount,
    SessionUser,
)
from agentgate.people.accounts.repository import AccountStores
from agentgate.people.audit.actions import Action
from agentgate.people.audit.trail import Subject, record
from agentgate.people.identity.known_devices import BY_LINK_MS
from agentgate.people.identity.records import SessionStage, StoredUser, UserSession
from agentgate.people.identity.sessions import ACCOUNT_COOKIE, UserSessions


def choose_membership(memberships: Sequence[Membership], wanted_id: str | None = None) -> Membership | None:
    """Return the wanted account if the user is still in it, else another: active before suspended, oldest first."""
    wanted = next((each for each in memberships if each.account.id == wanted_id), None)
    if wanted is not None:
        return wanted
    active = next((each for each in memberships if each.account.status is AccountStatus.ACTIVE), None)
    return active or next(iter(memberships), None)


def reachable(memberships: Sequence[Membership], issuer: str) -> list[Membership]:
    """Return the accounts that a session opens.

    An identity provider opens only the accounts that chose it: it must not confirm who enters other accounts. A
    password opens all accounts but the ones that allow an identity provider only.
    """
    return [
        each for each in memberships if (each.account.oidc_issuer == issuer if issuer else not each.account.oidc_only)
    ]


def refuse_issuer_session(session: UserSession) -> None:
    """Reject a session by an identity provider: the change would affect the user in all of their accounts."""
    if session.issuer:
        raise Refused("forbidden", "You signed in with an identity provider. Sign in with your password for this.")


def choose_account_id(memberships: Sequence[Membership], wanted_id: str | None = None) -> str | None:
    """Return the ID of the account that is chosen likewise; None for a user without an account."""
    chosen = choose_membership(memberships, wanted_id)
    return None if chosen is None else chosen.account.id


def session_record(
    sessions: UserSessions,
    session: UserSession,
    user: StoredUser,
    memberships: Sequence[Membership],
    invitations: Sequence[OpenInvitation],
) -> Session:
    """Put the record together. For a user without an account, it omits `account`."""
    active = choose_membership(memberships, session.account_id)
    return Session(
        user=SessionUser(id=user.id, email=user.email, mfa_enabled=user.has_mfa, name=optional(user.name)),
        accounts=[to_wire(account, SessionAccount, role=member.role) for member, account in memberships],
        account=UNSET if active is None else _active_account(active),
        invitations=list(invitations) or UNSET,
        csrf_token=sessions.csrf_token(session),
        expires_at=sessions.expires_at(session),
    )


def _active_account(membership: Membership) -> ActiveAccount:
    member, account = membership
    granted = PERMISSIONS[member.role]
    permissions = [permission for permission in ConsolePermission if permission in granted]
    return to_wire(account, ActiveAccount, role=member.role, permissions=permissions)


# The trail's name for a user who tried to sign in with an unknown address. The address itself is not recorded.
UNKNOWN_USER = "unknown"


class SignInProof(Struct, frozen=True, kw_only=True):
    """The proof of an identity: a password, with a code or without, or an identity provider."""

    has_code: bool = False
    issuer: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether no code has to follow."""
        return self.has_code or bool(self.issuer)


PASSWORD = SignInProof()


class StartedSession(Struct, frozen=True, kw_only=True):
    """A new session with the secret of its cookie, and what its record needs."""

    secret: str
    session: UserSession
    user: StoredUser
    memberships: Sequence[Membership]
    invitations: Sequence[OpenInvitation]

    def reply(self, call: Call, sessions: UserSessions, *, by_link: bool = False) -> Reply[Session]:
        """Return the session, or the request for a code, and set the cookies."""
        email, cookie = self.user.email, sessions.cookie(call, self.secret)
        if self.session.issuer:
            body = session_record(sessions, self.session, self.user, self.memberships, ())
            # Not a known device: another's identity provider must not give attempts at this user's password.
            return Reply(body=body, headers=(cookie,))
        if self.session.stage is SessionStage.FULL:
            body = session_record(sessions, self.session, self.user, self.memberships, self.invitations)
            return Reply(body=body, headers=(cookie, sessions.devices.cookie(call, email)))
        headers = (cookie, sessions.devices.cookie(call, email, lasts_ms=BY_LINK_MS)) if by_link else (cookie,)
        return Reply(body=Session(mfa_required=True), headers=headers)


async def lock_user(stores: AccountStores, user_id: str) -> StoredUser:
    """Return the user as they are now, locked until this unit of work is done; reject a suspended one."""
    await stores.users.lock_user(user_id)
    user = await stores.users.find_user(user_id)
    if user is None:
        raise Refused("session_expired")
    if user.status is UserStatus.SUSPENDED:
        raise Refused("user_suspended")
    return user


async def start_session(
    stores: AccountStores,
    call: Call,
    sessions: UserSessions,
    user: StoredUser,
    *,
    account_id: str | None = None,
    proof: SignInProof = PASSWORD,
) -> StartedSession:
    """Start a session. With two-factor authentication on and a password alone, it still lacks the code."""
    every = await stores.members.list_memberships(user.id)
    memberships = reachable(every, proof.issuer)
    if every and not memberships:
        raise Refused("no_account" if proof.issuer else "oidc_required")
    chosen_id = choose_account_id(memberships, account_id)
    stage = SessionStage.FULL if proof.is_whole or not user.has_mfa else SessionStage.PASSWORD
    earlier = call.request.cookie(ACCOUNT_COOKIE)
    if earlier is not None:
        # The cookie is about to be replaced: a session that its owner has no way back to is of use to thieves only.
        await stores.user_sessions.end_session(digest(earlier), call.now)
    secret, session = await sessions.start(stores, call, user, account_id=chosen_id, stage=stage, issuer=proof.issuer)
    if stage is SessionStage.FULL:
        await stores.users.note_sign_in(user.id, call.now)
    invitations = [] if proof.issuer else await list_open_invitations(stores, call, user)
    return StartedSession(secret=secret, session=session, user=user, memberships=memberships, invitations=invitations)


async def list_open_invitations(stores: AccountStores, call: Call, user: StoredUser) -> list[OpenInvitation]:
    """Return what the user may accept."""
    found = await stores.invitations.list_open(user.email, call.now)
    return [
        to_wire(invitation, OpenInvitation, account_name=name, expires_at=Moment(invitation.expires_ms))
        for invitation, name in found
    ]


async def record_of_user(
    stores: AccountStores,
    call: Call,
    action: Action,
    user: StoredUser,
    *,
    account_id: str | None,
    detail: dict[str, Any] | None = None,
) -> None:
    """Leave a trace of what a user did to themselves, in the account that they work in."""
    acting = call.acting_as(Actor(kind=ActorKind.USER, name=user.email, user_id=user.id, account_id=account_id))
    await record(stores, acting, action, Subject(account_id=account_id, target=user.id), detail)


async def record_failure(stores: AccountStores, call: Call, user: StoredUser | None, method: str) -> None:
    """Record a failed sign-in. An unknown address runs the same statements."""
    user_id = user.id if user else None
    account_id = choose_account_id(await stores.members.list_memberships(user_id or ""))
    name = user.email if user else UNKNOWN_USER
    acting = call.acting_as(Actor(kind=ActorKind.USER, name=name, user_id=user_id, account_id=account_id))
    subject = Subject(account_id=account_id, target=user_id)
    await record(stores, acting, Action.SIGNIN_FAILURE, subject, {"method": method})
