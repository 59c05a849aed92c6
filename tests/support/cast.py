"""The people that account tests play with. Made in the stores and signed in without a password, so that it is quick.

Acme has Alice (owner), Adam (admin), Bob (member) and Rita (readonly); Globex has Carol (owner); Olga is an operator.
"""

from dataclasses import dataclass
from functools import cache

from argon2 import PasswordHasher
from msgspec import structs

from agentgate.http.call import SYSTEM, Call
from agentgate.http.request import Request
from agentgate.lib.enums import AccountRole, AccountStatus, UserStatus
from agentgate.lib.ids import new_account_id, new_request_id, new_user_id
from agentgate.lib.moment import Moment
from agentgate.people.accounts.records import Limits, StoredAccount
from agentgate.people.accounts.repository import AccountStores
from agentgate.people.identity.known_devices import KnownDevices
from agentgate.people.identity.records import SessionStage, StoredUser
from agentgate.people.identity.sessions import ACCOUNT_COOKIE, UserSessions
from tests.support.api_client import ApiClient
from tests.support.service import ADMIN_KEY, RunningService

PASSWORD = "seven purple bicycles hum"

ACME = {
    "alice": AccountRole.OWNER,
    "adam": AccountRole.ADMIN,
    "bob": AccountRole.MEMBER,
    "rita": AccountRole.READONLY,
}
GLOBEX = {"carol": AccountRole.OWNER}
EMAILS = {**{name: f"{name}@acme.example" for name in ACME}, **{name: f"{name}@globex.example" for name in GLOBEX}}


@dataclass(frozen=True, kw_only=True)
class Cast:
    """The signed-in people, each with their CSRF token set, and the IDs of their accounts and of themselves."""

    alice: ApiClient
    adam: ApiClient
    bob: ApiClient
    rita: ApiClient
    carol: ApiClient
    olga: ApiClient
    acme: str
    globex: str
    user_ids: dict[str, str]


def cast(service: RunningService) -> Cast:
    """Create both accounts with their people, and sign in all of them."""
    acme, globex = add_account(service, "Acme"), add_account(service, "Globex")
    people = {
        **{name: add_user(service, EMAILS[name], account_id=acme, role=role) for name, role in ACME.items()},
        **{name: add_user(service, EMAILS[name], account_id=globex, role=role) for name, role in GLOBEX.items()},
    }
    clients = {
        name: signed_in_client(service, user, account_id=acme if name in ACME else globex)
        for name, user in people.items()
    }
    user_ids = {name: user.id for name, user in people.items()}
    return Cast(**clients, olga=operator_client(service), acme=acme, globex=globex, user_ids=user_ids)


def add_account(service: RunningService, name: str, *, require_mfa: bool = False) -> str:
    """Put an account into the store; return its ID."""
    account = StoredAccount(
        id=new_account_id(),
        name=name,
        status=AccountStatus.ACTIVE,
        protected=False,
        limits=Limits(),
        created_at=Moment(service.clock.now_ms()),
    )

    async def work(stores: AccountStores) -> None:
        await stores.accounts.add_account(account)
        if require_mfa:
            await stores.accounts.save_account(structs.replace(account, require_mfa=True))

    service.change(work)
    return account.id


def add_user(
    service: RunningService,
    email: str,
    *,
    account_id: str | None = None,
    role: AccountRole = AccountRole.OWNER,
    invited: bool = False,
) -> StoredUser:
    """Put a user into the store, and into an account; one who is only invited has no password yet."""
    now_ms = service.clock.now_ms()
    user = StoredUser(
        id=new_user_id(),
        email=email,
        name=email.partition("@")[0].capitalize(),
        status=UserStatus.ACTIVE,
        password_hash=None if invited else _password_hash(),
        mfa_secret=None,
        mfa_enabled_ms=None,
        mfa_pending_secret=None,
        mfa_pending_ms=None,
        mfa_last_step=0,
        created_ms=now_ms,
        last_sign_in_ms=None,
    )

    async def work(stores: AccountStores) -> None:
        assert await stores.users.add_user(user)
        if account_id is not None:
            assert await stores.members.add_membership(account_id, user.id, role, now_ms)

    service.change(work)
    return user


def signed_in_client(service: RunningService, user: StoredUser, *, account_id: str | None) -> ApiClient:
    """Start a session in the store; return a client that has its cookie and sends its CSRF token."""
    sessions = UserSessions(service.application.keyring, KnownDevices(service.application.sealer))
    call = system_call(service)

    async def work(stores: AccountStores) -> tuple[str, str]:
        secret, session = await sessions.start(stores, call, user, account_id=account_id, stage=SessionStage.FULL)
        return secret, sessions.csrf_token(session)

    secret, csrf_token = service.change(work)
    client = service.new_public_client()
    # The domain and path that the service's own cookie has, so that a new one takes this one's place.
    client.cookies.set(ACCOUNT_COOKIE, secret, domain="127.0.0.1", path="/v1")
    client.headers["X-CSRF-Token"] = csrf_token
    return client


def sign_in(service: RunningService, email: str, password: str = PASSWORD) -> ApiClient:
    """Sign in through the API; return a client that has the cookie and sends the CSRF token."""
    client = service.new_public_client()
    reply = client.post("/v1/account/login", json={"email": email, "password": password})
    assert reply.status_code == 200, reply.text
    client.headers["X-CSRF-Token"] = reply.json()["csrfToken"]
    return client


def operator_client(service: RunningService, name: str = "Olga") -> ApiClient:
    """Sign in as an operator."""
    client = service.new_client()
    reply = client.post("/v1/admin/login", json={"key": ADMIN_KEY, "operator": name})
    assert reply.status_code == 200, reply.text
    client.headers["X-CSRF-Token"] = reply.json()["csrfToken"]
    return client


def system_call(service: RunningService) -> Call:
    """Return a call without a caller, for a test's direct changes of the stores."""
    return Call(
        request=Request(method="", path="", query_string=b"", headers=[], address="127.0.0.1", secure=False),
        request_id=new_request_id(),
        now=Moment(service.clock.now_ms()),
        params={},
        route="",
        caller=SYSTEM,
    )


@cache
def _password_hash() -> str:
    # Hashing is slow by design, and every person of the cast may have the same password.
    return PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1).hash(PASSWORD)
