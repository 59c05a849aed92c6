"""Who may send a form of the account pages."""

from agentgate.http.call import Call
from agentgate.http.guards import declares
from agentgate.http.origin import check_browser_origin
from agentgate.lib.database import Store
from agentgate.people.accounts.guards import SessionCall, begun_session
from agentgate.people.accounts.repository import AccountStores
from agentgate.people.identity.guards import refuse_bearer
from agentgate.people.identity.sessions import UserSessions


@declares(refuses=("token_not_allowed", "cross_origin"))
async def form_of_this_page(call: Call) -> Call:
    """Let in who sends a form from a page of this service."""
    refuse_bearer(call.request)
    check_browser_origin(call.request)
    return call


@declares(refuses=("token_not_allowed", "unauthorized", "session_expired", "csrf", "cross_origin", "user_suspended"))
async def begun_form(call: Call, sessions: UserSessions, store: Store[AccountStores]) -> SessionCall:
    """Let in who has given the password and now sends the code."""
    check_browser_origin(call.request)
    return await begun_session(call, sessions, store)
