"""Operators signing in and out."""

from msgspec import UnsetType

from agentgate.http.call import Call
from agentgate.http.replies import Reply, set_cookie
from agentgate.lib.enums import OperatorVia
from agentgate.people.identity.guards import ADMIN_COOKIE
from agentgate.people.identity.operators import DEFAULT_OPERATOR, Operators
from agentgate.people.identity.records import LoginRequest, OperatorSession, SessionInfo

COOKIE_PATH = "/v1/admin"


async def log_in(call: Call, body: LoginRequest, operators: Operators) -> Reply[SessionInfo]:
    """Sign in as an operator; sets the cookie `ag_admin`."""
    await operators.check_key(call, body.key)
    name = DEFAULT_OPERATOR if isinstance(body.operator, UnsetType) else body.operator
    secret, session = await operators.start_session(call, name)
    cookie = set_cookie(ADMIN_COOKIE, secret, path=COOKIE_PATH, same_site="Strict", secure=call.request.secure)
    return Reply(body=_session_info(operators, session), headers=(cookie,))


async def log_out(call: Call, operators: Operators) -> Reply[None]:
    """End the session and clear its cookie."""
    secret = call.request.cookie(ADMIN_COOKIE)
    if secret is not None:
        await operators.end_session(call, secret)
    cookie = set_cookie(ADMIN_COOKIE, "", path=COOKIE_PATH, same_site="Strict", secure=call.request.secure, max_age_s=0)
    return Reply(body=None, headers=(cookie,))


async def read_session(call: Call, operators: Operators) -> SessionInfo:
    """Read who is signed in, and the session's CSRF token."""
    secret = call.request.cookie(ADMIN_COOKIE)
    if call.request.header("x-admin-key") is not None or secret is None:
        return SessionInfo(operator=call.actor.name, via=OperatorVia.KEY)
    return _session_info(operators, await operators.find_session(call, secret))


def _session_info(operators: Operators, session: OperatorSession) -> SessionInfo:
    return SessionInfo(
        operator=session.operator,
        via=OperatorVia.SESSION,
        csrf_token=operators.csrf_token(session),
        expires_at=operators.expires_at(session),
    )
