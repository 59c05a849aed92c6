"""A user's accounts: switching between them, and creating another one."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from msgspec.structs import replace

from agentgate.lib.enums import AccountRole, AccountStatus
from agentgate.people.accounts.repository import AccountStores
from tests.api.account.steps import ACCOUNT, refusal, trail
from tests.support.cast import EMAILS, Cast, cast, signed_in_client
from tests.support.service import RunningService

SWITCH, CREATE = f"{ACCOUNT}/switch", f"{ACCOUNT}/accounts"


@pytest.fixture
def people(service: RunningService) -> Cast:
    return cast(service)


def join(service: RunningService, account_id: str, user_id: str) -> None:
    service.run(
        service.application.stores.store.change(
            lambda stores: stores.members.add_membership(
                account_id, user_id, AccountRole.READONLY, service.clock.now_ms()
            )
        )
    )


def set_status(service: RunningService, account_id: str, status: AccountStatus) -> None:
    async def work(stores: AccountStores) -> None:
        account = await stores.accounts.find_account(account_id)
        assert account is not None
        deleted_ms = service.clock.now_ms() if status is AccountStatus.DELETED else None
        await stores.accounts.save_account(replace(account, status=status, deleted_ms=deleted_ms))

    service.run(service.application.stores.store.change(work))


def test_switching_changes_account_role_cookie_and_csrf_token(service: RunningService, people: Cast) -> None:
    join(service, people.globex, people.user_ids["alice"])
    before, csrf_before = people.alice.cookies["ag_account"], people.alice.headers["X-CSRF-Token"]

    reply = people.alice.post(SWITCH, json={"accountId": people.globex})

    session = reply.json()
    assert reply.status_code == 200
    assert (session["account"]["id"], session["account"]["role"]) == (people.globex, "readonly")
    assert {account["id"] for account in session["accounts"]} == {people.acme, people.globex}
    assert people.alice.cookies["ag_account"] != before
    assert session["csrfToken"] != csrf_before
    old = service.new_public_client().get(f"{ACCOUNT}/session", headers={"Cookie": f"ag_account={before}"})
    assert refusal(old) == (401, "session_expired")
    assert people.alice.get("/v1/console/account").json()["id"] == people.globex
    people.alice.headers["X-CSRF-Token"] = session["csrfToken"]
    forbidden = people.alice.post("/v1/console/sites", json={"name": "Shop"})
    assert refusal(forbidden) == (403, "forbidden")
    assert "sites:write" in forbidden.json()["message"]
    assert people.alice.post(SWITCH, json={"accountId": people.acme}).json()["account"]["role"] == "owner"


def test_switching_does_not_make_a_session_last_longer(service: RunningService, people: Cast) -> None:
    service.clock.advance(hours=1)

    reply = people.alice.post(SWITCH, json={"accountId": people.acme})

    assert reply.json()["expiresAt"] == "2026-11-16T00:00:00.000Z"


def test_someone_elses_unknown_and_deleted_accounts_respond_alike(service: RunningService, people: Cast) -> None:
    deleted = people.alice.post(CREATE, json={"name": "Gone"}).json()["account"]["id"]
    set_status(service, deleted, AccountStatus.DELETED)
    session = people.alice.get(f"{ACCOUNT}/session").json()
    people.alice.headers["X-CSRF-Token"] = session["csrfToken"]
    assert session["account"]["id"] == people.acme

    wrong = (people.globex, "acc_0123456789abcdef", deleted, "")
    replies = [people.alice.post(SWITCH, json={"accountId": account_id}) for account_id in wrong]

    assert {(*refusal(reply), reply.content) for reply in replies} == {(404, "not_member", replies[0].content)}


def test_a_suspended_account_closes_the_console_but_not_the_users_own_pages(
    service: RunningService, people: Cast
) -> None:
    join(service, people.globex, people.user_ids["alice"])
    set_status(service, people.acme, AccountStatus.SUSPENDED)

    assert refusal(people.alice.get("/v1/console/account")) == (403, "account_suspended")
    assert people.alice.get(f"{ACCOUNT}/session").json()["account"]["status"] == "suspended"
    assert people.alice.post(SWITCH, json={"accountId": people.globex}).status_code == 200
    assert people.alice.get("/v1/console/account").status_code == 200


def test_a_new_account_is_owned_by_its_creator_and_active(service: RunningService, people: Cast) -> None:
    reply = people.bob.post(CREATE, json={"name": " Bob's own "})

    account = reply.json()["account"]
    assert reply.status_code == 201
    assert (account["name"], account["role"], len(reply.json()["accounts"])) == ("Bob's own", "owner", 2)
    assert people.bob.get("/v1/console/account").json()["id"] == account["id"]
    assert trail(service)[-1][:4] == (EMAILS["bob"], "account.create", account["id"], account["id"])


def test_a_user_owns_at_most_three_accounts_even_when_asking_at_once(service: RunningService, people: Cast) -> None:
    # Each creation changes the cookie, so each request needs a separate session.
    user = service.run(service.application.stores.store.read.users.find_user(people.user_ids["alice"]))
    assert user is not None
    clients = [signed_in_client(service, user, account_id=people.acme) for _ in range(6)]

    with ThreadPoolExecutor(6) as pool:
        replies = list(pool.map(lambda client: client.post(CREATE, json={"name": "Another"}), clients))

    assert sorted(reply.status_code for reply in replies) == [201, 201, 409, 409, 409, 409]
    refused = [reply for reply in replies if reply.status_code == 409]
    assert {refusal(reply) for reply in refused} == {(409, "account_limit")}
    assert len(people.alice.get(f"{ACCOUNT}/session").json()["accounts"]) == 3
    # A malformed request gets its own error, even if the limit is reached.
    assert refusal(people.alice.post(CREATE, json={"name": ""})) == (400, "invalid_request")


@pytest.mark.parametrize("body", [{}, {"name": ""}, {"name": " "}, {"name": "a\nb"}, {"name": "x" * 101}, {"name": 1}])
def test_a_name_that_would_break_a_line_is_rejected(people: Cast, body: dict[str, object]) -> None:
    assert refusal(people.alice.post(CREATE, json=body)) == (400, "invalid_request")
    assert people.alice.get(f"{ACCOUNT}/session").status_code == 200
