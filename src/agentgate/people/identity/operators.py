"""Operators: the credential, its limits, and sessions. How CSRF tokens are made is in `csrf`."""

from agentgate.http.address import source_of
from agentgate.http.call import Call
from agentgate.lib import limits
from agentgate.lib.actor import Actor
from agentgate.lib.clock import MINUTE_MS
from agentgate.lib.database import Store
from agentgate.lib.enums import ActorKind
from agentgate.lib.errors import Refused
from agentgate.lib.ids import new_session_id
from agentgate.lib.keyring import Keyring
from agentgate.lib.limiter import Limiter, Window
from agentgate.lib.moment import Moment
from agentgate.lib.secrets import digest, new_secret, same
from agentgate.people.audit.actions import Action
from agentgate.people.audit.trail import Subject, record
from agentgate.people.identity import csrf
from agentgate.people.identity.ports import OperatorStores
from agentgate.people.identity.records import OperatorSession
from agentgate.people.identity.sessions import IDLE_MS, LIFETIME_MS, TOUCH_MS
from agentgate.people.identity.user_records import SessionStage

DEFAULT_OPERATOR = "operator"
# An operator's session lasts as long as a customer's.
SESSION_MS = LIFETIME_MS[SessionStage.FULL]

PER_SOURCE = Window("operator-source", limits.LOGIN_FAILURES_PER_SOURCE, limits.LOGIN_WINDOW_MINUTES * MINUTE_MS)
ALL_SOURCES = Window("operator-all", limits.LOGINS_PER_MINUTE, MINUTE_MS)


class Operators:
    """Knows the operator credential and the sessions made with it."""

    def __init__(self, admin_key: str, *, store: Store[OperatorStores], keyring: Keyring, limiter: Limiter) -> None:
        self._key_digest = digest(admin_key)
        self._store = store
        self._keyring = keyring
        self._limiter = limiter

    async def check_key(self, call: Call, key: str) -> None:
        """Return when the key is right. Wrong ones are counted, by source and over all; too many refuse every key."""
        source = source_of(call.request.address)
        for window, subject in ((PER_SOURCE, source), (ALL_SOURCES, "")):
            if await self._limiter.is_over(window, subject):
                raise self._limiter.refusal(window, "Too many wrong operator credentials; try again later.")
        if same(digest(key), self._key_digest):
            return
        await self._limiter.count(PER_SOURCE, source)
        await self._limiter.count(ALL_SOURCES, "")
        raise Refused("unauthorized", "The operator credential is wrong.")

    async def start_session(self, call: Call, operator: str) -> tuple[str, OperatorSession]:
        """Start a session; return the secret for the cookie, and the session."""
        secret = new_secret()
        session = OperatorSession(
            secret_digest=digest(secret),
            id=new_session_id(),
            operator=operator,
            created_ms=call.now,
            last_used_ms=call.now,
        )
        signed_in = call.acting_as(Actor(kind=ActorKind.OPERATOR, name=operator))

        async def work(stores: OperatorStores) -> None:
            await stores.operator_sessions.add_session(session)
            await record(stores, signed_in, Action.SIGNIN_SUCCESS, Subject(target=session.id))

        await self._store.change(work)
        return secret, session

    async def find_session(self, call: Call, secret: str) -> OperatorSession:
        """Return the live session of a cookie, or refuse."""
        session = await self._store.read.operator_sessions.find_session(digest(secret))
        if session is None:
            raise Refused("unauthorized")
        idle_ms = call.now - session.last_used_ms
        if session.ended_ms is not None or call.now >= session.created_ms + SESSION_MS or idle_ms >= IDLE_MS:
            raise Refused("session_expired")
        if idle_ms >= TOUCH_MS:
            await self._store.change(
                lambda stores: stores.operator_sessions.touch_session(session.secret_digest, call.now)
            )
        return session

    async def end_session(self, call: Call, secret: str) -> None:
        """End the session of a cookie."""
        await self._store.change(lambda stores: stores.operator_sessions.end_session(digest(secret), call.now))

    def csrf_token(self, session: OperatorSession) -> str:
        """Return the token that every changing request of this session must carry."""
        return csrf.csrf_token(self._keyring, session.secret_digest)

    def is_csrf_token(self, session: OperatorSession, token: str) -> bool:
        """Say whether the token is this session's."""
        return csrf.is_csrf_token(self._keyring, session.secret_digest, token)

    def expires_at(self, session: OperatorSession) -> Moment:
        """Return when the session ends if it is used until then."""
        return Moment(session.created_ms + SESSION_MS)
