"""The Session record: who is signed in, where, and what they may do there."""

from collections.abc import Sequence

from msgspec import UNSET

from agentgate.lib.enums import ConsolePermission
from agentgate.lib.records import optional
from agentgate.people.accounts.active_account import Place, choose_place
from agentgate.people.accounts.records import ActiveAccount, Session, SessionAccount, SessionUser
from agentgate.people.accounts.roles import PERMISSIONS
from agentgate.people.identity.sessions import UserSessions
from agentgate.people.identity.user_records import StoredUser, UserSession


def session_record(sessions: UserSessions, session: UserSession, user: StoredUser, places: Sequence[Place]) -> Session:
    """Put the record together. Who is in no account has no `account`."""
    active = choose_place(places, session.account_id)
    return Session(
        user=SessionUser(id=user.id, email=user.email, mfa_enabled=user.has_mfa, name=optional(user.name)),
        accounts=[_account(place) for place in places],
        account=UNSET if active is None else _active_account(active),
        csrf_token=sessions.csrf_token(session),
        expires_at=sessions.expires_at(session),
    )


def _account(place: Place) -> SessionAccount:
    membership, account = place
    return SessionAccount(id=account.id, name=account.name, role=membership.role, status=account.status)


def _active_account(place: Place) -> ActiveAccount:
    membership, account = place
    granted = PERMISSIONS[membership.role]
    return ActiveAccount(
        id=account.id,
        name=account.name,
        role=membership.role,
        status=account.status,
        limits=account.limits,
        permissions=[permission for permission in ConsolePermission if permission in granted],
        require_mfa=account.require_mfa,
    )
