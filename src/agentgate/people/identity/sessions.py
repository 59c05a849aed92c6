"""Sessions of users: started, found, rotated, and the cookie that carries them. Permissions are checked elsewhere."""

from types import MappingProxyType
from typing import NamedTuple

from agentgate.http.call import Call
from agentgate.http.replies import set_cookie
from agentgate.lib import base64url, limits
from agentgate.lib.clock import HOUR_MS, MINUTE_MS
from agentgate.lib.database import Store
from agentgate.lib.errors import Refused
from agentgate.lib.ids import new_session_id
from agentgate.lib.keyring import Keyring
from agentgate.lib.moment import Moment
from agentgate.lib.secrets import digest, new_secret
from agentgate.people.identity.known_devices import KnownDevices
from agentgate.people.identity.records import SessionStage, StoredUser, UserSession
from agentgate.people.identity.repository import IdentityStores

ACCOUNT_COOKIE = "ag_account"
COOKIE_PATH = "/v1"
# How many codes may be tried in one pre-session; for `count_code_attempt`.
CODE_ATTEMPTS = 5

LIFETIME_MS = MappingProxyType(
    {
        SessionStage.PASSWORD: limits.MFA_PRE_SESSION_MINUTES * MINUTE_MS,
        SessionStage.FULL: limits.CONSOLE_SESSION_HOURS * HOUR_MS,
    }
)
IDLE_MS = limits.CONSOLE_SESSION_IDLE_HOURS * HOUR_MS
# Writing the time of every use would make each read a write. A minute's error in a two-hour limit is nothing.
TOUCH_MS = MINUTE_MS

ADDRESS_ID_BYTES = 8
# The text that identifies a browser is within this length; the rest is ignored.
USER_AGENT_CHARACTERS = 512
# The first that fits counts: every browser claims to be those further down as well.
BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Vivaldi/", "Vivaldi"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("HeadlessChrome/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Chromium/", "Chrome"),
    ("Safari/", "Safari"),
    ("curl/", "curl"),
    ("python", "Python"),
    ("Python", "Python"),
)
SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("CrOS", "ChromeOS"),
    ("Macintosh", "macOS"),
    ("Linux", "Linux"),
)
UNKNOWN_BROWSER = "Unknown browser"


class Began(NamedTuple):
    """When a user signed in, and with which identity provider."""

    created_ms: int
    issuer: str


class UserSessions:
    """Knows how sessions of users are made, how long they last, and what goes with them."""

    def __init__(self, keyring: Keyring, devices: KnownDevices) -> None:
        self._keyring = keyring
        self.devices = devices

    async def start(
        self,
        stores: IdentityStores,
        call: Call,
        user: StoredUser,
        *,
        account_id: str | None,
        stage: SessionStage,
        issuer: str = "",
    ) -> tuple[str, UserSession]:
        """Start a session; return the secret for the cookie, and the session. Callers audit and note the sign-in."""
        return await self._add(stores, call, user.id, account_id=account_id, stage=stage, began=Began(call.now, issuer))

    async def replace(
        self, stores: IdentityStores, call: Call, session: UserSession, *, account_id: str | None, stage: SessionStage
    ) -> tuple[str, UserSession]:
        """End a session and continue in a new one under a new secret; raise session_expired if it has ended already.

        Within one stage the start time is unchanged, or switching accounts could keep a session alive indefinitely.
        """
        if not await stores.user_sessions.end_session(session.secret_digest, call.now):
            raise Refused("session_expired")
        created_ms = session.created_ms if session.stage is stage else call.now
        return await self._add(
            stores, call, session.user_id, account_id=account_id, stage=stage, began=Began(created_ms, session.issuer)
        )

    async def find(self, store: Store[IdentityStores], call: Call, secret: str) -> UserSession:
        """Return a cookie's live session, or raise unauthorized or session_expired. The caller checks its stage."""
        session = await store.read.user_sessions.find_session(digest(secret))
        if session is None:
            raise Refused("unauthorized")
        if not is_live(session, call.now):
            raise Refused("session_expired")
        if call.now - session.last_used_ms >= TOUCH_MS:
            await store.change(lambda stores: stores.user_sessions.touch_session(session.secret_digest, call.now))
        return session

    def csrf_token(self, session: UserSession) -> str:
        return csrf_token(self._keyring, session.secret_digest)

    def is_csrf_token(self, session: UserSession, token: str) -> bool:
        return is_csrf_token(self._keyring, session.secret_digest, token)

    def expires_at(self, session: UserSession) -> Moment:
        """Return when the session ends if it is used until then."""
        return Moment(session.created_ms + LIFETIME_MS[session.stage])

    def cookie(self, call: Call, secret: str) -> tuple[str, str]:
        """Return the header that gives the browser the session."""
        return set_cookie(ACCOUNT_COOKIE, secret, path=COOKIE_PATH, same_site="Lax", secure=call.request.secure)

    def cleared_cookie(self, call: Call) -> tuple[str, str]:
        """Return the header that takes the session from the browser."""
        return set_cookie(
            ACCOUNT_COOKIE, "", path=COOKIE_PATH, same_site="Lax", secure=call.request.secure, max_age_s=0
        )

    async def _add(
        self,
        stores: IdentityStores,
        call: Call,
        user_id: str,
        *,
        account_id: str | None,
        stage: SessionStage,
        began: Began,
    ) -> tuple[str, UserSession]:
        secret = new_secret()
        session = UserSession(
            secret_digest=digest(secret),
            id=new_session_id(),
            user_id=user_id,
            account_id=account_id,
            stage=stage,
            code_attempts=0,
            browser=browser_name(call.request.header("user-agent") or ""),
            address_id=self._address_id(user_id, call.request.address),
            created_ms=began.created_ms,
            last_used_ms=call.now,
            issuer=began.issuer,
        )
        await stores.user_sessions.add_session(session)
        return secret, session

    def _address_id(self, user_id: str, address: str) -> str:
        # The MAC includes the user, so that the IDs do not reveal that two users have the same address.
        tag = self._keyring.mac("visitor", b"session", user_id.encode(), address.encode())
        return tag[:ADDRESS_ID_BYTES].hex()


def is_live(session: UserSession, now_ms: int) -> bool:
    """Return whether a session is neither ended nor expired nor idle for too long."""
    lasts_ms = LIFETIME_MS[session.stage]
    return (
        session.ended_ms is None and now_ms < session.created_ms + lasts_ms and now_ms - session.last_used_ms < IDLE_MS
    )


def browser_name(user_agent: str) -> str:
    """Return a short name such as `Firefox on Linux`, of predefined words only: text from a client is never kept."""
    text = user_agent[:USER_AGENT_CHARACTERS]
    browser = next((name for mark, name in BROWSERS if mark in text), UNKNOWN_BROWSER)
    system = next((name for mark, name in SYSTEMS if mark in text), None)
    return browser if system is None else f"{browser} on {system}"


# CSRF tokens of operators and users are made from a session's stored digest, so that nothing more is kept.
CSRF_PURPOSE = "csrf"
CSRF_TAG_BYTES = 32


def csrf_token(keyring: Keyring, secret_digest: bytes) -> str:
    """Return the token that every changing request of this session must carry."""
    tag = keyring.mac(CSRF_PURPOSE, secret_digest)
    return base64url.encode(tag)


def is_csrf_token(keyring: Keyring, secret_digest: bytes, token: str) -> bool:
    try:
        tag = base64url.decode(token)
    except ValueError:
        return False
    return len(tag) == CSRF_TAG_BYTES and keyring.is_mac(tag, CSRF_PURPOSE, secret_digest)
