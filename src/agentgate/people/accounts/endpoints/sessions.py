"""The user's own sessions: listed and ended."""

from agentgate.http.replies import Reply
from agentgate.lib.database import Store
from agentgate.lib.errors import Refused
from agentgate.lib.moment import Moment
from agentgate.people.accounts.guards import UserCall
from agentgate.people.accounts.repositories import AccountStores
from agentgate.people.accounts.sign_in_records import SessionItem, SessionList
from agentgate.people.identity.sessions import UserSessions, is_live
from agentgate.people.identity.user_records import SessionStage, UserSession


async def list_sessions(call: UserCall, store: Store[AccountStores]) -> SessionList:
    """List the user's sessions, newest first."""
    return SessionList(items=[_item(call, session) for session in await _live_sessions(store.read, call)])


async def end_session(call: UserCall, store: Store[AccountStores], sessions: UserSessions) -> Reply[None]:
    """End one of the user's sessions; the current one too, which signs out."""

    async def work(stores: AccountStores) -> UserSession:
        found = [each for each in await _live_sessions(stores, call) if each.id == call.params["id"]]
        if not found or not await stores.user_sessions.end_session(found[0].secret_digest, call.now):
            raise Refused("not_found", "You have no session with this ID.")
        return found[0]

    ended = await store.change(work)
    is_current = ended.secret_digest == call.session.secret_digest
    return Reply(body=None, headers=(sessions.cleared_cookie(call),) if is_current else ())


async def end_other_sessions(call: UserCall, store: Store[AccountStores]) -> None:
    """End every session of the user but the current one."""
    current = call.session.secret_digest
    await store.change(lambda stores: stores.user_sessions.end_sessions(call.user.id, call.now, but=current))


async def _live_sessions(stores: AccountStores, call: UserCall) -> list[UserSession]:
    # Half a sign-in is no session yet.
    return [
        session
        for session in await stores.user_sessions.list_sessions(call.user.id)
        if session.stage is SessionStage.FULL and is_live(session, call.now)
    ]


def _item(call: UserCall, session: UserSession) -> SessionItem:
    return SessionItem(
        id=session.id,
        current=session.id == call.session.id,
        browser=session.browser,
        address_id=session.address_id,
        created_at=Moment(session.created_ms),
        last_used_at=Moment(session.last_used_ms),
    )
