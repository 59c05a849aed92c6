"""Operators signing in and out."""

from msgspec import UnsetType

from agentgate.http.call import Call
from agentgate.http.replies import Reply, set_cookie
from agentgate.lib.database import Store
from agentgate.lib.enums import OperatorVia
from agentgate.lib.errors import Refused
from agentgate.lib.records import to_wire
from agentgate.lib.secrets import digest
from agentgate.people.audit.actions import Action
from agentgate.people.audit.trail import Subject, record
from agentgate.people.identity.guards import ADMIN_COOKIE
from agentgate.people.identity.operators import DEFAULT_OPERATOR, Operators
from agentgate.people.identity.records import (
    LoginRequest,
    OperatorSession,
    OperatorSessionItem,
    OperatorSessionList,
    SessionInfo,
)
from agentgate.people.identity.repository import IdentityStores

COOKIE_PATH = "/v1/admin"


async def log_in(call: Call, body: LoginRequest, operators: Operators) -> Reply[SessionInfo]:
    """Sign in as an operator; sets the cookie `ag_admin`."""
    await operators.check_key(call, body.key)
    name = DEFAULT_OPERATOR if isinstance(body.operator, UnsetType) else body.operator
    secret, session = await operators.start_session(call, name)
    cookie = set_cookie(ADMIN_COOKIE, secret, path=COOKIE_PATH, same_site="Strict", secure=call.request.secure)
    return Reply(body=_session_info(operators, session), headers=(cookie,))


async def log_out(call: Call, stores: IdentityStores) -> Reply[None]:
    """End the session and clear its cookie."""
    secret = call.request.cookie(ADMIN_COOKIE)
    if secret is not None:
        await stores.operator_sessions.end_session(digest(secret), call.now)
    return Reply(body=None, headers=(_cleared_cookie(call),))


async def read_session(call: Call, operators: Operators) -> SessionInfo:
    """Read the signed-in operator and the session's CSRF token."""
    secret = call.request.cookie(ADMIN_COOKIE)
    if call.request.header("x-admin-key") is not None or secret is None:
        return SessionInfo(operator=call.actor.name, via=OperatorVia.KEY)
    return _session_info(operators, await operators.find_session(call, secret))


async def list_sessions(call: Call, store: Store[IdentityStores], operators: Operators) -> OperatorSessionList:
    """List the active sessions of all operators, newest first."""
    current, found = _current_digest(call), await operators.list_sessions(store.read, call)
    return OperatorSessionList(
        items=[to_wire(each, OperatorSessionItem, current=each.secret_digest == current) for each in found]
    )


async def end_session(call: Call, stores: IdentityStores, operators: Operators) -> Reply[None]:
    """End an operator's session."""
    found = [each for each in await operators.list_sessions(stores, call) if each.id == call.params["id"]]
    if not found:
        raise Refused("not_found", "There is no active operator session with this ID.")
    ended = found[0]
    await stores.operator_sessions.end_session(ended.secret_digest, call.now)
    await record(stores, call, Action.OPERATOR_SESSION_END, Subject(target=ended.id), {"operator": ended.operator})
    is_current = ended.secret_digest == _current_digest(call)
    return Reply(body=None, headers=(_cleared_cookie(call),) if is_current else ())


async def end_other_sessions(call: Call, stores: IdentityStores, operators: Operators) -> None:
    """End every operator session except the caller's own; with the key, every session."""
    current = _current_digest(call)
    others = [each for each in await operators.list_sessions(stores, call) if each.secret_digest != current]
    for session in others:
        await stores.operator_sessions.end_session(session.secret_digest, call.now)
    await record(stores, call, Action.OPERATOR_SESSIONS_END, Subject(), {"ended": len(others)})


def _current_digest(call: Call) -> bytes | None:
    """Return the digest of the session that the caller came with; None of who came with the key."""
    secret = call.request.cookie(ADMIN_COOKIE)
    return None if call.request.header("x-admin-key") is not None or secret is None else digest(secret)


def _cleared_cookie(call: Call) -> tuple[str, str]:
    return set_cookie(ADMIN_COOKIE, "", path=COOKIE_PATH, same_site="Strict", secure=call.request.secure, max_age_s=0)


def _session_info(operators: Operators, session: OperatorSession) -> SessionInfo:
    return SessionInfo(
        operator=session.operator,
        via=OperatorVia.SESSION,
        csrf_token=operators.csrf_token(session),
        expires_at=operators.expires_at(session),
    )
