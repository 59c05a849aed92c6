"""The account that the caller works in: read, renamed, handed over, deleted."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from agentgate.lib.clock import DAY_MS
from agentgate.lib.enums import AccountRole
from agentgate.lib.moment import Moment
from tests.api.console.steps import refusal, run_sql, same_person, told, trail
from tests.support.api_client import ApiClient
from tests.support.cast import Cast, add_user, sign_in, signed_in_client
from tests.support.service import NOON_MS, RunningService

ACCOUNT = "/v1/console/account"
TRANSFER = f"{ACCOUNT}/transfer-ownership"
ROUNDS = 20
LIMITS = {"sites": 5, "credentialsPerSite": 3, "members": 10, "tokens": 25, "originsPerSite": 10}


def delete(client: ApiClient, confirm: str = "Acme") -> Any:
    return client.request("DELETE", ACCOUNT, json={"confirm": confirm})


def roles(people: Cast, client: ApiClient) -> dict[str, str]:
    names = {user_id: name for name, user_id in people.user_ids.items()}
    items = client.get("/v1/console/members").json()["items"]
    return {names[item["userId"]]: item["role"] for item in items}


def turn_mfa_on(service: RunningService, user_id: str) -> None:
    run_sql(service, "UPDATE users SET mfa_enabled_ms = $2 WHERE id = $1", user_id, NOON_MS)


def test_it_shows_state_limits_and_usage(people: Cast) -> None:
    people.alice.post("/v1/console/sites", json={"name": "Shop"})

    assert people.rita.get(ACCOUNT).json() == {
        "id": people.acme,
        "name": "Acme",
        "status": "active",
        "role": "readonly",
        "limits": LIMITS,
        "usage": {"sites": 1, "members": 4, "tokens": 0},
        "requireMfa": False,
        "createdAt": Moment(NOON_MS).text(),
        "oidc": {"issuer": "", "group": "", "role": "readonly", "only": False},
        "oidcIssuers": [],
    }


def test_renaming_is_shown_once(people: Cast) -> None:
    renamed = people.adam.patch(ACCOUNT, json={"name": "  Acme Ltd "})
    again = people.adam.patch(ACCOUNT, json={"name": "Acme Ltd"})

    assert (renamed.status_code, renamed.json()["name"], renamed.json()["role"]) == (200, "Acme Ltd", "admin")
    assert again.json() == renamed.json()
    assert [told(event) for event in trail(people, "account")] == [
        ("adam@acme.example", "account.rename", people.acme, {"name": {"from": "Acme", "to": "Acme Ltd"}})
    ]


def test_a_name_must_be_visible_and_on_one_line(people: Cast) -> None:
    for name in ("", "   ", "x" * 101, "a\nb", "a\u202eb", 7, None):
        assert refusal(people.alice.patch(ACCOUNT, json={"name": name})) == (400, "invalid_request"), name
    assert people.alice.get(ACCOUNT).json()["name"] == "Acme"


def test_what_the_server_sets_cannot_be_set(people: Cast) -> None:
    for field in ("id", "status", "role", "limits", "usage", "createdAt"):
        assert refusal(people.alice.patch(ACCOUNT, json={field: "x"})) == (400, "forbidden_field")
    assert refusal(people.alice.patch(ACCOUNT, json={"protected": True})) == (400, "invalid_request")


def test_no_one_asks_of_others_a_second_factor_that_they_lack(people: Cast) -> None:
    assert refusal(people.alice.patch(ACCOUNT, json={"requireMfa": True})) == (409, "mfa_not_enabled")
    assert trail(people, "account") == []


def test_asking_a_second_factor_of_all_is_reported_and_blocks_who_has_none(
    service: RunningService, people: Cast
) -> None:
    turn_mfa_on(service, people.user_ids["alice"])

    changed = people.alice.patch(ACCOUNT, json={"requireMfa": True})

    assert (changed.status_code, changed.json()["requireMfa"]) == (200, True)
    assert refusal(people.bob.get(ACCOUNT)) == (403, "mfa_setup_required")
    assert people.alice.patch(ACCOUNT, json={"requireMfa": False}).json()["requireMfa"] is False
    assert people.bob.get(ACCOUNT).status_code == 200
    assert [told(event)[1::2] for event in trail(people, "account")] == [
        ("account.mfa_policy", {"requireMfa": {"from": True, "to": False}}),
        ("account.mfa_policy", {"requireMfa": {"from": False, "to": True}}),
    ]


def test_deleting_needs_the_name_typed_exactly(people: Cast) -> None:
    for confirm in ("acme", "Acme ", "", "Globex"):
        assert refusal(delete(people.alice, confirm)) == (400, "confirm_mismatch")
    assert refusal(people.alice.request("DELETE", ACCOUNT)) == (400, "invalid_request")
    assert people.alice.get(ACCOUNT).json()["status"] == "active"


def test_an_account_with_a_site_that_enforces_is_kept(people: Cast) -> None:
    key = people.alice.post("/v1/console/sites", json={"name": "Shop", "mode": "enforce"}).json()["siteKey"]

    assert refusal(delete(people.alice)) == (409, "sites_enforcing")
    people.alice.patch(f"/v1/console/sites/{key}", json={"mode": "monitor"})
    assert delete(people.alice).status_code == 200


def test_the_services_own_account_is_kept(service: RunningService, people: Cast) -> None:
    run_sql(service, "UPDATE account SET protected = 1 WHERE id = $1", people.acme)

    assert refusal(delete(people.alice)) == (409, "protected_account")


def test_a_deleted_account_is_closed_at_once_and_shows_when_it_is_purged(service: RunningService, people: Cast) -> None:
    token = people.alice.post("/v1/console/tokens", json={"name": "CI", "scopes": ["sites:read"]}).json()["secret"]
    key = people.alice.post("/v1/console/sites", json={"name": "Shop"}).json()["siteKey"]
    people.alice.post(f"/v1/console/sites/{key}/credentials")

    deleted = delete(people.alice)

    assert deleted.json() == {
        "id": people.acme,
        "name": "Acme",
        "status": "deleted",
        "deletedAt": Moment(NOON_MS).text(),
        "purgeAt": Moment(NOON_MS + 30 * DAY_MS).text(),
    }
    assert refusal(people.alice.get(ACCOUNT)) == (401, "session_expired")
    assert refusal(people.bob.get(ACCOUNT)) == (401, "session_expired")
    with ApiClient(service.public_url, headers={"Authorization": f"Bearer {token}"}) as client:
        assert refusal(client.get(ACCOUNT)) == (401, "invalid_token")
    (credential,) = service.operator.get(f"/v1/admin/sites/{key}").json()["credentialList"]
    assert credential["revokedAt"] == Moment(NOON_MS).text()
    refused = service.operator.post(f"/v1/admin/sites/{key}/credentials")
    assert refusal(refused) == (409, "credential_limit")
    entries = service.run(service.application.stores.store.read.audit.list_account_events(people.acme, limit=1))
    assert (entries[0].actor, entries[0].action) == ("alice@acme.example", "account.delete")


def test_an_account_never_goes_while_a_site_begins_to_enforce(service: RunningService, people: Cast) -> None:
    site = f"/v1/console/sites/{people.alice.post('/v1/console/sites', json={'name': 'Shop'}).json()['siteKey']}"
    alice, user = (
        people.alice,
        service.run(service.application.stores.store.read.users.find_user(people.user_ids["alice"])),
    )
    twin = same_person(service, alice)

    with ThreadPoolExecutor(2) as pool:
        for _ in range(ROUNDS):
            enforced = pool.submit(alice.patch, site, json={"mode": "enforce"})
            deleted = pool.submit(delete, twin)
            assert (enforced.result().status_code, deleted.result().status_code) != (200, 200)
            if deleted.result().status_code == 200:
                service.operator.post(f"/v1/admin/customers/{people.acme}/reactivate")
                # The sessions have ended with the account.
                alice = signed_in_client(service, user, account_id=people.acme)
                twin.close()
                twin = same_person(service, alice)
            assert alice.patch(site, json={"mode": "monitor"}).status_code == 200
    twin.close()


def test_deleting_ends_the_sessions_in_the_account_and_no_other(service: RunningService, people: Cast) -> None:
    added = service.operator.post(
        f"/v1/admin/customers/{people.globex}/members", json={"email": "bob@acme.example", "role": "readonly"}
    )
    assert added.status_code in {200, 201}, added.text
    elsewhere = sign_in(service, "bob@acme.example")
    switched = elsewhere.post("/v1/account/switch", json={"accountId": people.globex})
    elsewhere.headers["X-CSRF-Token"] = switched.json()["csrfToken"]

    delete(people.alice)

    assert refusal(people.bob.get(ACCOUNT)) == (401, "session_expired")
    assert elsewhere.get(ACCOUNT).json()["id"] == people.globex
    assert people.carol.get(ACCOUNT).json()["usage"]["members"] == 2


def test_ownership_is_handed_over_and_the_giver_stays_as_admin(people: Cast) -> None:
    given = people.alice.post(TRANSFER, json={"userId": people.user_ids["bob"]})

    assert (given.status_code, given.json()["id"], given.json()["role"]) == (200, people.acme, "admin")
    assert roles(people, people.alice) == {"alice": "admin", "adam": "admin", "bob": "owner", "rita": "readonly"}
    assert refusal(people.alice.post(TRANSFER, json={"userId": people.user_ids["rita"]})) == (403, "forbidden")
    ids = people.user_ids
    assert [told(event) for event in trail(people, "account")] == [
        ("alice@acme.example", "account.transfer", people.acme, {"owner": {"from": ids["alice"], "to": ids["bob"]}})
    ]


def test_ownership_goes_only_to_another_member_who_can_sign_in(service: RunningService, people: Cast) -> None:
    invited = add_user(service, "ivy@acme.example", account_id=people.acme, role=AccountRole.ADMIN, invited=True)

    unknown = people.alice.post(TRANSFER, json={"userId": "usr_0000000000000000"})
    foreign = people.alice.post(TRANSFER, json={"userId": people.user_ids["carol"]})

    assert refusal(unknown) == (404, "not_found")
    assert foreign.content == unknown.content
    assert refusal(people.alice.post(TRANSFER, json={"userId": invited.id})) == (404, "not_found")
    assert refusal(people.alice.post(TRANSFER, json={"userId": people.user_ids["alice"]})) == (400, "invalid_request")
    assert people.alice.get(ACCOUNT).json()["role"] == "owner"
    assert trail(people, "account") == []


def test_of_two_transfers_at_once_one_wins(service: RunningService, people: Cast) -> None:
    def give(name: str) -> int:
        with same_person(service, people.alice) as twin:
            return twin.post(TRANSFER, json={"userId": people.user_ids[name]}).status_code

    with ThreadPoolExecutor(2) as pool:
        statuses = sorted(pool.map(give, ("bob", "adam")))

    assert statuses == [200, 403]
    found = roles(people, people.alice)
    assert found["alice"] == "admin"
    assert sorted((found["bob"], found["adam"])) in (["admin", "owner"], ["member", "owner"])


def test_who_is_in_no_account_is_shown_so(service: RunningService) -> None:
    loner = add_user(service, "lone@nowhere.example")

    assert refusal(signed_in_client(service, loner, account_id=None).get(ACCOUNT)) == (403, "no_account")
