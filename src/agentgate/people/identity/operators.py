"""Operators: the credential, its limits, and sessions. How CSRF tokens are made is in `sessions`."""

import asyncio

from agentgate.http.address import source_of
from agentgate.http.call import Actor, Call
from agentgate.lib import limits
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
from agentgate.people.identity.records import OperatorSession, SessionStage
from agentgate.people.identity.repository import IdentityStores
from agentgate.people.identity.sessions import (
    CSRF_PURPOSE,
    IDLE_MS,
    LIFETIME_MS,
    TOUCH_MS,
    browser_name,
    csrf_token,
    is_csrf_token,
)

DEFAULT_OPERATOR = "operator"
# An operator's session lasts as long as a customer's.
SESSION_MS = LIFETIME_MS[SessionStage.FULL]

PER_SOURCE = Window("operator-source", limits.LOGIN_FAILURES_PER_SOURCE, limits.LOGIN_WINDOW_MINUTES * MINUTE_MS)
# The delay of the response to a wrong key from an address that has sent too many. Each delayed call holds a connection,
# so their number is limited. Responses beyond the limit have no delay, because no number of attempts can guess a key.
DELAY_S = 0.5
DELAYED_AT_ONCE = 32
# The input of a session's key tag. Its MAC shares the purpose of CSRF tokens, which live as long.
_KEY_TAG = b"operator key"


class Operators:
    """Knows the operator credential and the sessions made with it."""

    def __init__(self, admin_key: str, *, store: Store[IdentityStores], keyring: Keyring, limiter: Limiter) -> None:
        self._key_digest = digest(admin_key)
        self._store = store
        self._keyring = keyring
        self._limiter = limiter
        self._delayed = 0

    async def check_key(self, call: Call, key: str) -> None:
        """Return if the key is right, whatever happened before: attackers cannot lock the operator out.

        Wrong keys are counted by source, and after too many the response is delayed. A key has at least 24 characters,
        so its length prevents guessing; the delay limits the cost of guesses.
        """
        if same(digest(key), self._key_digest):
            return
        if await self._limiter.count(PER_SOURCE, source_of(call.request.address)):
            raise Refused("unauthorized", "The operator credential is wrong.")
        await self._delay()
        raise self._limiter.refusal(
            PER_SOURCE, "Too many wrong operator credentials. The correct credential still works."
        )

    async def _delay(self) -> None:
        if self._delayed >= DELAYED_AT_ONCE:
            return
        self._delayed += 1
        try:
            await asyncio.sleep(DELAY_S)
        finally:
            self._delayed -= 1

    async def start_session(
        self, call: Call, operator: str, detail: dict[str, str] | None = None
    ) -> tuple[str, OperatorSession]:
        """Start a session; return the secret for the cookie, and the session."""
        secret = new_secret()
        session = OperatorSession(
            secret_digest=digest(secret),
            id=new_session_id(),
            operator=operator,
            created_ms=call.now,
            last_used_ms=call.now,
            key_tag=self._keyring.mac(CSRF_PURPOSE, _KEY_TAG, self._key_digest),
            browser=browser_name(call.request.header("user-agent") or ""),
            address_id=call.address_id("") or "",
        )
        signed_in = call.acting_as(Actor(kind=ActorKind.OPERATOR, name=operator))

        async def work(stores: IdentityStores) -> None:
            await stores.operator_sessions.add_session(session)
            await record(stores, signed_in, Action.SIGNIN_SUCCESS, Subject(target=session.id), detail)

        await self._store.change(work)
        return secret, session

    async def find_session(self, call: Call, secret: str) -> OperatorSession:
        """Return the live session of a cookie, or raise unauthorized or session_expired."""
        session = await self._store.read.operator_sessions.find_session(digest(secret))
        if session is None:
            raise Refused("unauthorized")
        if not self._is_live(session, call.now):
            raise Refused("session_expired")
        if call.now - session.last_used_ms >= TOUCH_MS:
            await self._store.change(
                lambda stores: stores.operator_sessions.touch_session(session.secret_digest, call.now)
            )
        return session

    async def list_sessions(self, stores: IdentityStores, call: Call) -> list[OperatorSession]:
        """Return the live sessions of all operators, newest first."""
        since_ms = call.now - SESSION_MS
        found = await stores.operator_sessions.list_sessions(since_ms)
        return [session for session in found if self._is_live(session, call.now)]

    def _is_live(self, session: OperatorSession, now_ms: int) -> bool:
        """Return whether a session is neither ended nor expired nor idle, and was made with the current key.

        Every use checks this, so that a changed key needs no notice to other workers and stores.
        """
        return (
            session.ended_ms is None
            and now_ms < session.created_ms + SESSION_MS
            and now_ms - session.last_used_ms < IDLE_MS
            and session.key_tag is not None
            and self._keyring.is_mac(session.key_tag, CSRF_PURPOSE, _KEY_TAG, self._key_digest)
        )

    def csrf_token(self, session: OperatorSession) -> str:
        return csrf_token(self._keyring, session.secret_digest)

    def is_csrf_token(self, session: OperatorSession, token: str) -> bool:
        return is_csrf_token(self._keyring, session.secret_digest, token)

    def expires_at(self, session: OperatorSession) -> Moment:
        """Return when the session ends if it is used until then."""
        return Moment(session.created_ms + SESSION_MS)
