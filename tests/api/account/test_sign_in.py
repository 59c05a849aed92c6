"""Users sign in, stay signed in for a while, and sign out."""

import pytest
from argon2 import PasswordHasher

from agentgate.lib.clock import HOUR_MS
from agentgate.lib.enums import AccountRole, UserStatus
from agentgate.people.accounts.repository import AccountStores
from tests.api.account.steps import ACCOUNT, log_in, refusal, trail
from tests.support.api_client import ApiClient
from tests.support.cast import EMAILS, PASSWORD, Cast, add_account, add_user, cast, sign_in
from tests.support.service import RunningService


@pytest.fixture
def people(service: RunningService) -> Cast:
    return cast(service)


def suspend(service: RunningService, user_id: str, status: UserStatus = UserStatus.SUSPENDED) -> None:
    service.run(service.application.stores.store.change(lambda stores: stores.users.save_status(user_id, status)))


def test_signing_in_returns_the_session_and_sets_a_hidden_cookie(service: RunningService, people: Cast) -> None:
    reply = log_in(service.public)

    session = reply.json()
    assert reply.status_code == 200
    assert session["user"] == {
        "id": people.user_ids["alice"],
        "email": "alice@acme.example",
        "name": "Alice",
        "mfaEnabled": False,
    }
    assert session["accounts"] == [{"id": people.acme, "name": "Acme", "role": "owner", "status": "active"}]
    assert session["account"]["id"] == people.acme
    assert session["account"]["limits"]["sites"] == 5
    assert session["account"]["requireMfa"] is False
    assert session["expiresAt"] == "2026-11-16T00:00:00.000Z"
    cookie, device = reply.headers.get_list("set-cookie")
    name, *attributes = cookie.split("; ")
    assert name.startswith("ag_account=")
    assert attributes == ["Path=/v1", "HttpOnly", "SameSite=Lax"]
    name, *attributes = device.split("; ")
    assert name.startswith("ag_device_")
    assert attributes == ["Path=/v1", "HttpOnly", "SameSite=Lax", "Max-Age=15552000"]
    assert service.public.get(f"{ACCOUNT}/session").json() == session
    secure = log_in(service.new_public_client(), headers={"X-Forwarded-Proto": "https"})
    assert [each.endswith("; Secure") for each in secure.headers.get_list("set-cookie")] == [True, True]
    assert trail(service)[-1] == (
        "alice@acme.example",
        "signin.success",
        people.acme,
        people.user_ids["alice"],
        {"method": "password"},
    )


def test_what_a_role_may_do_is_in_the_session(people: Cast) -> None:
    read = ["sites:read", "analytics:read", "members:read"]

    def permissions(client: ApiClient) -> list[str]:
        return client.get(f"{ACCOUNT}/session").json()["account"]["permissions"]

    assert sorted(permissions(people.rita)) == sorted(read)
    assert sorted(permissions(people.bob)) == sorted([*read, "sites:write"])
    assert set(permissions(people.alice)) - set(permissions(people.adam)) == {"account:delete"}
    assert len(permissions(people.alice)) == 9


def test_unknown_invited_and_wrong_respond_alike_to_the_byte(service: RunningService, people: Cast) -> None:
    add_user(service, "ivy@acme.example", account_id=people.acme, invited=True)

    replies = [
        log_in(service.public, "nobody@acme.example"),
        log_in(service.public, "ivy@acme.example"),
        log_in(service.public, password="wrong horse on a bicycle"),
        log_in(service.public, password=""),
    ]

    assert {reply.content for reply in replies} == {replies[0].content}
    assert {refusal(reply) for reply in replies} == {(401, "invalid_credentials")}
    assert {tuple(sorted(set(reply.headers) - {"x-request-id"})) for reply in replies} == {
        tuple(sorted(set(replies[0].headers) - {"x-request-id"}))
    }
    assert "set-cookie" not in replies[0].headers
    failures = [entry for entry in trail(service) if entry[1] == "signin.failure"]
    assert [(actor, account) for actor, _, account, _, _ in failures] == [
        ("unknown", None),
        ("ivy@acme.example", people.acme),
        ("alice@acme.example", people.acme),
        ("alice@acme.example", people.acme),
    ]
    assert {str(detail) for *_, detail in failures} == {"{'method': 'password'}"}


def test_a_suspended_user_is_shown_so_only_with_the_right_password(service: RunningService, people: Cast) -> None:
    suspend(service, people.user_ids["bob"])

    assert refusal(log_in(service.public, EMAILS["bob"], "wrong horse on a bicycle")) == (401, "invalid_credentials")
    assert refusal(log_in(service.public, EMAILS["bob"])) == (403, "user_suspended")
    assert refusal(people.bob.get(f"{ACCOUNT}/session")) == (403, "user_suspended")
    suspend(service, people.user_ids["bob"], UserStatus.ACTIVE)
    assert log_in(service.public, EMAILS["bob"]).status_code == 200


def test_the_address_is_known_in_every_spelling_of_its_letters(service: RunningService, people: Cast) -> None:
    assert log_in(service.public, "ALICE@Acme.Example").json()["user"]["email"] == EMAILS["alice"]
    for email in ("alice@acme.example ", "al\u0131ce@acme.example", "alice", "a@b@acme.example"):
        assert refusal(log_in(service.public, email)) == (400, "invalid_request")


def test_five_wrong_passwords_lock_the_email_from_that_address_in_every_spelling_even_with_the_right_one(
    service: RunningService, people: Cast
) -> None:
    for number, email in enumerate(("alice@acme.example", "Alice@acme.example", "ALICE@ACME.EXAMPLE") * 2):
        reply = log_in(service.public, email, "wrong")
        assert refusal(reply) == ((401, "invalid_credentials") if number < 5 else (429, "rate_limited"))

    locked = log_in(service.public)

    assert refusal(locked) == (429, "rate_limited")
    assert 1 <= int(locked.headers["retry-after"]) <= 900
    assert log_in(service.new_public_client(), headers={"X-Forwarded-For": "198.51.100.1"}).status_code == 200
    assert log_in(service.public, EMAILS["bob"]).status_code == 200
    service.clock.advance(seconds=901)
    assert log_in(service.public).status_code == 200


def test_ten_wrong_passwords_lock_the_source_anyone_who_they_were_for(service: RunningService, people: Cast) -> None:
    for number in range(10):
        assert refusal(log_in(service.public, f"nobody{number}@acme.example")) == (401, "invalid_credentials")

    assert refusal(log_in(service.public)) == (429, "rate_limited")
    assert log_in(service.public, headers={"X-Forwarded-For": "198.51.100.1"}).status_code == 200


def test_signing_in_again_ends_the_session_whose_cookie_it_replaces(service: RunningService, people: Cast) -> None:
    client = sign_in(service, EMAILS["alice"])
    before = client.cookies["ag_account"]

    assert log_in(client).status_code == 200

    assert client.cookies["ag_account"] != before
    reply = service.new_public_client().get(f"{ACCOUNT}/session", headers={"Cookie": f"ag_account={before}"})
    assert refusal(reply) == (401, "session_expired")


def test_signing_out_ends_the_session_and_clears_the_cookie(service: RunningService, people: Cast) -> None:
    cookie = people.alice.cookies["ag_account"]

    reply = people.alice.post(f"{ACCOUNT}/logout")

    assert reply.status_code == 204
    assert "Max-Age=0" in reply.headers["set-cookie"]
    again = service.new_public_client().get(f"{ACCOUNT}/session", headers={"Cookie": f"ag_account={cookie}"})
    assert refusal(again) == (401, "session_expired")


def test_a_session_ends_after_twelve_hours_or_two_without_use(service: RunningService, people: Cast) -> None:
    service.clock.advance(ms=2 * HOUR_MS - 1)
    assert people.alice.get(f"{ACCOUNT}/session").status_code == 200
    service.clock.advance(ms=1)
    assert refusal(people.bob.get(f"{ACCOUNT}/session")) == (401, "session_expired")
    for _ in range(9):
        service.clock.advance(hours=1)
        assert people.alice.get(f"{ACCOUNT}/session").status_code == 200

    service.clock.advance(hours=1)

    assert refusal(people.alice.get(f"{ACCOUNT}/session")) == (401, "session_expired")


def test_without_a_session_or_with_someone_elses_nothing_is_shown(service: RunningService, people: Cast) -> None:
    stranger = service.new_public_client()
    for cookie in ("", "ag_account=", "ag_account=unknown", f"ag_admin={people.olga.cookies['ag_admin']}"):
        for path in ("session", "mfa", "sessions"):
            reply = stranger.get(f"{ACCOUNT}/{path}", headers={"Cookie": cookie, "X-Admin-Key": "whatever"})
            assert refusal(reply) == (401, "unauthorized")
    planted = f"ag_account=planted; ag_account={people.alice.cookies['ag_account']}"
    assert refusal(stranger.get(f"{ACCOUNT}/session", headers={"Cookie": planted})) == (401, "unauthorized")
    assert refusal(stranger.get("/v1/console/account")) == (401, "unauthorized")


def test_the_customers_cookie_opens_nothing_for_operators(service: RunningService, people: Cast) -> None:
    cookie = people.alice.cookies["ag_account"]

    reply = service.anonymous.get("/v1/admin/sites", headers={"Cookie": f"ag_account={cookie}; ag_admin={cookie}"})

    assert refusal(reply) == (401, "unauthorized")


def test_a_bearer_token_is_not_allowed_on_the_account_and_admin_apis(service: RunningService, people: Cast) -> None:
    for value in ("Bearer agt_" + "x" * 43, "bearer anything", "Bearer"):
        headers = {"Authorization": value}
        replies = [
            people.alice.get(f"{ACCOUNT}/session", headers=headers),
            people.alice.post(f"{ACCOUNT}/logout", headers=headers),
            log_in(service.public, headers=headers),
            people.olga.get("/v1/admin/sites", headers=headers),
            service.operator.get("/v1/admin/sites", headers=headers),
        ]
        assert {refusal(reply) for reply in replies} == {(403, "token_not_allowed")}


@pytest.mark.parametrize("token", [None, "", "wrong", "A" * 43])
def test_a_change_needs_the_sessions_own_csrf_token(people: Cast, token: str | None) -> None:
    others = people.bob.headers["X-CSRF-Token"]
    people.alice.headers.pop("X-CSRF-Token")
    for path, body in (("switch", {"accountId": people.acme}), ("accounts", {"name": "Other"}), ("logout", None)):
        for sent in (token, others):
            headers = {} if sent is None else {"X-CSRF-Token": sent}
            assert refusal(people.alice.post(f"{ACCOUNT}/{path}", json=body, headers=headers)) == (403, "csrf")

    assert len(people.alice.get(f"{ACCOUNT}/session").json()["accounts"]) == 1


@pytest.mark.parametrize(
    "headers",
    [{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "https://evil.example"}],
)
def test_another_sites_page_is_rejected_with_and_without_a_session(
    service: RunningService, people: Cast, headers: dict[str, str]
) -> None:
    replies = [
        people.alice.post(f"{ACCOUNT}/accounts", json={"name": "Other"}, headers=headers),
        people.alice.get(f"{ACCOUNT}/session", headers=headers),
        log_in(service.public, headers=headers),
        service.public.post(f"{ACCOUNT}/password/forgot", json={"email": EMAILS["alice"]}, headers=headers),
    ]

    assert {refusal(reply) for reply in replies} == {(403, "cross_origin")}


def test_malformed_sign_ins_are_rejected(service: RunningService, people: Cast) -> None:
    for body in ({}, {"email": EMAILS["alice"]}, {"email": 1, "password": PASSWORD}, {"key": "x"}):
        assert refusal(service.public.post(f"{ACCOUNT}/login", json=body)) == (400, "invalid_request")


def test_a_session_falls_back_to_another_account_when_its_own_is_lost(service: RunningService, people: Cast) -> None:
    other = add_account(service, "Initech")

    async def work(stores: AccountStores) -> None:
        await stores.members.add_membership(other, people.user_ids["bob"], AccountRole.READONLY, service.clock.now_ms())
        await stores.members.remove_membership(people.acme, people.user_ids["bob"])

    service.run(service.application.stores.store.change(work))

    assert people.bob.get(f"{ACCOUNT}/session").json()["account"]["id"] == other
    assert people.bob.get("/v1/console/account").json()["id"] == other


def test_someone_in_no_account_is_signed_in_but_has_no_console(service: RunningService) -> None:
    add_user(service, "lone@wolf.example")
    client = sign_in(service, "lone@wolf.example")

    session = client.get(f"{ACCOUNT}/session").json()

    assert session["accounts"] == []
    assert "account" not in session
    assert refusal(client.get("/v1/console/account")) == (403, "no_account")
    assert refusal(client.get("/v1/console/sites")) == (403, "no_account")


def test_a_hash_of_earlier_parameters_is_replaced_at_the_next_right_password(
    service: RunningService, people: Cast
) -> None:
    store, user_id = service.application.stores.store, people.user_ids["alice"]
    earlier = PasswordHasher(time_cost=1, memory_cost=1024, parallelism=1).hash(PASSWORD)
    service.run(store.change(lambda stores: stores.users.save_password(user_id, earlier)))

    assert refusal(log_in(service.public, password="wrong")) == (401, "invalid_credentials")
    assert service.run(store.read.users.find_user(user_id)).password_hash == earlier
    assert log_in(service.public).status_code == 200

    assert "m=19456,t=2,p=1" in service.run(store.read.users.find_user(user_id)).password_hash
    assert log_in(service.new_public_client()).status_code == 200
