"""Access to the console: the order of the checks, and API tokens instead of sessions."""

import pytest
from msgspec.structs import replace

from agentgate.lib.enums import AccountStatus, ApiTokenScope
from agentgate.lib.ids import new_api_token_id
from agentgate.lib.moment import Moment
from agentgate.lib.records import optional_moment
from agentgate.lib.secrets import API_TOKEN_PREFIX, digest, new_secret
from agentgate.people.accounts.records import ApiToken
from agentgate.people.accounts.repository import AccountStores
from tests.api.account.steps import refusal, trail
from tests.support.api_client import ApiClient
from tests.support.cast import Cast, cast
from tests.support.service import RunningService

CONSOLE_ACCOUNT, CONSOLE_SITES = "/v1/console/account", "/v1/console/sites"


@pytest.fixture
def people(service: RunningService) -> Cast:
    return cast(service)


def add_token(
    service: RunningService, account_id: str, *scopes: ApiTokenScope, expires_ms: int | None = None
) -> tuple[str, str]:
    """Put a token into the store; return its secret and ID."""
    secret = new_secret(API_TOKEN_PREFIX)
    token = ApiToken(
        id=new_api_token_id(),
        name="Test",
        scopes=list(scopes),
        created_at=Moment(service.clock.now_ms()),
        created_by="alice@acme.example",
        expires_at=optional_moment(expires_ms),
    )
    service.run(
        service.application.stores.store.change(
            lambda stores: stores.api_tokens.add_token(account_id, token, digest(secret))
        )
    )
    return secret, token.id


def bearer(service: RunningService, secret: str) -> ApiClient:
    client = service.new_public_client()
    client.headers["Authorization"] = f"Bearer {secret}"
    return client


def last_use(service: RunningService, account_id: str, token_id: str) -> object:
    token = service.run(service.application.stores.store.read.api_tokens.find_token(account_id, token_id))
    assert token is not None
    return token.last_used_at


def set_status(service: RunningService, account_id: str, status: AccountStatus) -> None:
    async def work(stores: AccountStores) -> None:
        account = await stores.accounts.find_account(account_id)
        assert account is not None
        await stores.accounts.save_account(replace(account, status=status))

    service.run(service.application.stores.store.change(work))


def test_a_token_works_within_its_scopes_without_csrf_token(service: RunningService, people: Cast) -> None:
    secret, token_id = add_token(service, people.acme, ApiTokenScope.SITES_READ, ApiTokenScope.SITES_WRITE)
    client = bearer(service, secret)

    assert client.get(CONSOLE_ACCOUNT).json()["id"] == people.acme
    assert "role" not in client.get(CONSOLE_ACCOUNT).json()
    assert client.post(CONSOLE_SITES, json={"name": "Shop"}).status_code == 201
    assert trail(service)[-1][:3] == (token_id, "site.create", people.acme)
    for path, permission in (("members", "members:read"), ("tokens", "tokens:write"), ("audit", "audit:read")):
        reply = client.get(f"/v1/console/{path}")
        assert refusal(reply) == (403, "forbidden")
        assert permission in reply.json()["message"]


def test_a_token_sees_its_own_accounts_sites_only(service: RunningService, people: Cast) -> None:
    site = people.carol.post(CONSOLE_SITES, json={"name": "Globex shop"}).json()["siteKey"]
    secret, _ = add_token(service, people.acme, ApiTokenScope.SITES_READ)
    client = bearer(service, secret)

    assert client.get(CONSOLE_SITES).json() == {"items": []}
    assert refusal(client.get(f"{CONSOLE_SITES}/{site}")) == (404, "site_not_found")


def test_what_is_not_a_live_token_is_rejected(service: RunningService, people: Cast) -> None:
    revoked, revoked_id = add_token(service, people.acme, ApiTokenScope.SITES_READ)
    service.run(
        service.application.stores.store.change(
            lambda stores: stores.api_tokens.revoke_token(people.acme, revoked_id, service.clock.now_ms())
        )
    )
    expiring, _ = add_token(service, people.acme, ApiTokenScope.SITES_READ, expires_ms=service.clock.now_ms() + 1000)
    of_deleted, _ = add_token(service, people.globex, ApiTokenScope.SITES_READ)
    assert bearer(service, expiring).get(CONSOLE_ACCOUNT).status_code == 200
    set_status(service, people.globex, AccountStatus.DELETED)
    service.clock.advance(seconds=1)

    unknown = new_secret(API_TOKEN_PREFIX)
    for secret in (revoked, expiring, of_deleted, unknown, unknown[4:], f" {revoked}", "agt_", f"{unknown}x"):
        assert refusal(bearer(service, secret).get(CONSOLE_ACCOUNT)) == (401, "invalid_token")


def test_a_wrong_token_next_to_a_good_session_is_rejected(service: RunningService, people: Cast) -> None:
    reply = people.alice.get(CONSOLE_ACCOUNT, headers={"Authorization": "Bearer agt_wrong"})

    assert refusal(reply) == (401, "invalid_token")


def test_a_token_of_a_suspended_account_is_shown_so(service: RunningService, people: Cast) -> None:
    secret, _ = add_token(service, people.acme, ApiTokenScope.SITES_READ)
    set_status(service, people.acme, AccountStatus.SUSPENDED)

    assert refusal(bearer(service, secret).get(CONSOLE_ACCOUNT)) == (403, "account_suspended")
    assert refusal(bearer(service, secret).get("/v1/console/members")) == (403, "account_suspended")


def test_a_token_is_refused_to_another_sites_page(service: RunningService, people: Cast) -> None:
    secret, _ = add_token(service, people.acme, ApiTokenScope.SITES_READ)

    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        assert refusal(bearer(service, secret).get(CONSOLE_ACCOUNT, headers=headers)) == (403, "cross_origin")


def test_the_use_of_a_token_is_noted_at_most_once_a_minute(service: RunningService, people: Cast) -> None:
    secret, token_id = add_token(service, people.acme, ApiTokenScope.SITES_READ)
    client = bearer(service, secret)
    first_ms = service.clock.now_ms()
    for seconds, noted_ms in ((0, first_ms), (59, first_ms), (1, first_ms + 60_000)):
        service.clock.advance(seconds=seconds)
        assert client.get(CONSOLE_ACCOUNT).status_code == 200
        assert last_use(service, people.acme, token_id) == noted_ms


def test_nothing_of_an_operator_helps_on_the_console(service: RunningService, people: Cast) -> None:
    cookie = people.olga.cookies["ag_admin"]
    headers = {**dict(service.operator.headers), "Cookie": f"ag_admin={cookie}; ag_account={cookie}"}

    reply = service.new_public_client().get(CONSOLE_ACCOUNT, headers=headers)

    assert refusal(reply) == (401, "unauthorized")


def test_the_checks_come_in_the_order_of_the_contract(service: RunningService, people: Cast) -> None:
    """Each step takes away what the check before it found wrong."""
    rita = people.rita
    set_status(service, people.acme, AccountStatus.SUSPENDED)
    csrf_token = rita.headers.pop("X-CSRF-Token")
    wrong = {"json": {"unknown": 1}}

    def answer(**headers: str) -> tuple[int, str]:
        return refusal(rita.post(CONSOLE_SITES, headers=headers, **wrong))

    assert answer(Origin="https://evil.example") == (403, "cross_origin")
    assert answer() == (403, "csrf")
    rita.headers["X-CSRF-Token"] = csrf_token
    assert answer() == (403, "account_suspended")
    set_status(service, people.acme, AccountStatus.ACTIVE)
    assert answer() == (403, "forbidden")
    assert refusal(people.bob.post(CONSOLE_SITES, **wrong)) == (400, "invalid_request")
    assert refusal(service.public.post(CONSOLE_SITES, **wrong)) == (401, "unauthorized")
