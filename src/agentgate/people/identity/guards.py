"""The caller: an operator, by session cookie or by key. Never an API token, which is for the console only."""

from agentgate.http.bearer_secret import bearer_secret_of
from agentgate.http.call import Actor, Call
from agentgate.http.guards import check_same_origin, declares
from agentgate.http.request import Request
from agentgate.lib.enums import ActorKind
from agentgate.lib.errors import Refused
from agentgate.people.identity.operators import DEFAULT_OPERATOR, Operators

ADMIN_COOKIE = "ag_admin"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

OPERATOR_SECURITY = (("adminKey",), ("adminSession", "csrf"))


@declares(
    refuses=("token_not_allowed", "unauthorized", "session_expired", "csrf", "cross_origin", "rate_limited"),
    security=OPERATOR_SECURITY,
)
async def operator(call: Call, operators: Operators) -> Call:
    """Allow operators: with `X-Admin-Key`, or with a session and, on changes, its CSRF token."""
    refuse_bearer(call.request)
    key = call.request.header("x-admin-key")
    if key is not None:
        await operators.check_key(call, key)
        check_same_origin(call.request)
        return call.acting_as(Actor(kind=ActorKind.OPERATOR, name=DEFAULT_OPERATOR))
    secret = call.request.cookie(ADMIN_COOKIE)
    if secret is None:
        raise Refused("unauthorized", "Sign in at /v1/admin/login, or send the operator credential in X-Admin-Key.")
    session = await operators.find_session(call, secret)
    check_same_origin(call.request)
    if call.request.method not in SAFE_METHODS:
        token = call.request.header("x-csrf-token")
        if token is None or not operators.is_csrf_token(session, token):
            raise Refused("csrf", "X-CSRF-Token must be the csrfToken of GET /v1/admin/session.")
    return call.acting_as(Actor(kind=ActorKind.OPERATOR, name=session.operator))


@declares(refuses=("token_not_allowed", "cross_origin"))
async def not_cross_origin(call: Call) -> Call:
    """Allow all calls except with API tokens or from another site's page."""
    refuse_bearer(call.request)
    check_same_origin(call.request)
    return call


def refuse_bearer(request: Request) -> None:
    """Reject a call with a bearer secret: API tokens work in the console API only."""
    if bearer_secret_of(request) is not None:
        raise Refused("token_not_allowed")
