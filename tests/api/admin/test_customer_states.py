"""The states of an account: suspended, reactivated, deleted, restored, and every step that a state forbids."""

from typing import Any

from agentgate.lib.clock import DAY_MS
from agentgate.lib.moment import Moment
from tests.api.admin.operating import CUSTOMERS, refusal, trail
from tests.support.cast import Cast, add_account, cast, sign_in
from tests.support.service import NOON_MS, RunningService


def delete(service: RunningService, account_id: str, confirm: str) -> Any:
    return service.operator.request("DELETE", f"{CUSTOMERS}/{account_id}", json={"confirm": confirm})


def actions(service: RunningService, account_id: str) -> list[str]:
    return [action for action, _, _ in trail(service, account_id)]


def shop_of(service: RunningService, people: Cast) -> str:
    """Give Acme a site with a credential; return the credential's ID."""
    service.operator.post(f"{CUSTOMERS}/{people.acme}/sites", json={"name": "Shop", "siteKey": "site_shop"})
    made = people.alice.post("/v1/console/sites/site_shop/credentials", json={}).json()
    return str(made["credential"]["id"])


def test_suspending_closes_console_and_api_but_keeps_the_sites(service: RunningService) -> None:
    people = cast(service)
    shop_of(service, people)
    secret = people.alice.post("/v1/console/tokens", json={"name": "CI", "scopes": ["sites:read"]}).json()["secret"]

    reply = people.olga.post(f"{CUSTOMERS}/{people.acme}/suspend", json={"reason": " unpaid "})

    assert reply.status_code == 200
    assert (reply.json()["status"], reply.json()["suspendedReason"]) == ("suspended", "unpaid")
    assert reply.json()["audit"][0]["action"] == "account.suspend"
    assert (reply.json()["audit"][0]["actor"], reply.json()["audit"][0]["detail"]) == ("Olga", {"reason": "unpaid"})
    assert refusal(people.alice.get("/v1/console/account")) == (403, "account_suspended")
    with_token = service.public.get("/v1/console/sites", headers={"Authorization": f"Bearer {secret}"})
    assert refusal(with_token) == (403, "account_suspended")
    site = service.operator.get("/v1/admin/sites/site_shop").json()
    assert site["credentials"] == {"active": 1, "total": 1}
    assert people.carol.get("/v1/console/account").status_code == 200


def test_reactivating_a_suspended_account_opens_it_again(service: RunningService) -> None:
    people = cast(service)
    credential = shop_of(service, people)
    service.operator.post(f"{CUSTOMERS}/{people.acme}/suspend", json={"reason": "unpaid"})

    reply = service.operator.post(f"{CUSTOMERS}/{people.acme}/reactivate")

    assert reply.status_code == 200
    assert reply.json()["status"] == "active"
    assert "suspendedReason" not in reply.json()
    assert people.alice.get("/v1/console/account").status_code == 200
    credentials = people.alice.get("/v1/console/sites/site_shop").json()["credentialList"]
    assert [(each["id"], "revokedAt" in each) for each in credentials] == [(credential, False)]
    assert actions(service, people.acme)[0] == "account.reactivate"


def test_a_state_that_does_not_allow_the_step_rejects_it_without_a_trace(service: RunningService) -> None:
    account_id = add_account(service, "Acme")
    place = f"{CUSTOMERS}/{account_id}"

    conflict = (409, "invalid_state")
    assert refusal(service.operator.post(f"{place}/reactivate")) == conflict
    service.operator.post(f"{place}/suspend", json={"reason": "unpaid"})
    assert refusal(service.operator.post(f"{place}/suspend", json={"reason": "again"})) == conflict
    assert refusal(delete(service, account_id, "Acme")) == conflict
    service.operator.post(f"{place}/reactivate")
    delete(service, account_id, "Acme")
    assert refusal(service.operator.post(f"{place}/suspend", json={"reason": "again"})) == conflict
    assert refusal(delete(service, account_id, "Acme")) == conflict

    assert actions(service, account_id) == [
        "account.delete",
        "account.reactivate",
        "account.suspend",
    ]


def test_a_reason_is_needed_and_has_bounds(service: RunningService) -> None:
    account_id = add_account(service, "Acme")
    place = f"{CUSTOMERS}/{account_id}/suspend"

    for body in (
        {},
        {"reason": ""},
        {"reason": "  "},
        {"reason": "x" * 501},
        {"reason": 1},
        {"reason": "x", "by": "y"},
    ):
        assert refusal(service.operator.post(place, json=body)) == (400, "invalid_request"), body
    assert refusal(service.operator.post(place)) == (400, "invalid_request")

    assert service.operator.post(place, json={"reason": "x" * 500}).status_code == 200


def test_deleting_ends_everything_at_once_and_shows_when_the_data_goes(service: RunningService) -> None:
    people = cast(service)
    shop_of(service, people)
    secret = people.alice.post("/v1/console/tokens", json={"name": "CI", "scopes": ["sites:read"]}).json()["secret"]

    reply = people.olga.request("DELETE", f"{CUSTOMERS}/{people.acme}", json={"confirm": "Acme"})

    gone_ms = NOON_MS + 30 * DAY_MS
    times = {"deletedAt": Moment(NOON_MS).text(), "purgeAt": Moment(gone_ms).text()}
    assert reply.json() == {"id": people.acme, "name": "Acme", "status": "deleted", **times}
    assert refusal(people.alice.get("/v1/console/account")) == (401, "session_expired")
    with_token = service.public.get("/v1/console/sites", headers={"Authorization": f"Bearer {secret}"})
    assert refusal(with_token) == (401, "invalid_token")
    customer = service.operator.get(f"{CUSTOMERS}/{people.acme}").json()
    assert {name: customer[name] for name in times} == times
    assert [site["siteKey"] for site in customer["siteList"]] == ["site_shop"]
    assert customer["usage"]["tokens"] == 0
    assert (customer["audit"][0]["action"], customer["audit"][0]["actor"]) == ("account.delete", "Olga")
    assert service.operator.get("/v1/admin/sites/site_shop").json()["credentials"] == {"active": 0, "total": 1}


def test_deleting_is_rejected_for_a_wrong_name_an_enforcing_site_and_the_services_own(service: RunningService) -> None:
    people = cast(service)
    shop_of(service, people)
    for confirm in ("acme", "Acme ", "", people.acme):
        assert refusal(delete(service, people.acme, confirm)) == (400, "confirm_mismatch")
    assert refusal(service.operator.delete(f"{CUSTOMERS}/{people.acme}")) == (400, "invalid_request")

    service.operator.patch("/v1/admin/sites/site_shop", json={"mode": "enforce"})
    assert refusal(delete(service, people.acme, "Acme")) == (409, "sites_enforcing")

    database = service.application.stores.databases["config"]
    service.run(database.run("UPDATE account SET protected = 1 WHERE id = $1", people.globex))
    assert refusal(delete(service, people.globex, "Globex")) == (409, "protected_account")
    assert people.alice.get("/v1/console/account").status_code == 200
    assert people.carol.get("/v1/console/account").status_code == 200


def test_bringing_a_deleted_account_back_restores_the_console_but_no_secret(service: RunningService) -> None:
    people = cast(service)
    credential = shop_of(service, people)
    secret = people.alice.post("/v1/console/tokens", json={"name": "CI", "scopes": ["sites:read"]}).json()["secret"]
    delete(service, people.acme, "Acme")
    service.clock.advance(seconds=60)

    reply = service.operator.post(f"{CUSTOMERS}/{people.acme}/reactivate")

    assert reply.status_code == 200
    assert reply.json()["status"] == "active"
    assert not {"deletedAt", "purgeAt"} & set(reply.json())
    assert refusal(people.alice.get("/v1/console/sites/site_shop")) == (401, "session_expired")
    shop = sign_in(service, "alice@acme.example").get("/v1/console/sites/site_shop").json()
    assert [(each["id"], each["revokedAt"]) for each in shop["credentialList"]] == [
        (credential, Moment(NOON_MS).text())
    ]
    with_token = service.public.get("/v1/console/sites", headers={"Authorization": f"Bearer {secret}"})
    assert refusal(with_token) == (401, "invalid_token")


def test_a_deleted_account_can_come_back_until_the_thirtieth_day_has_ended(service: RunningService) -> None:
    early, late = add_account(service, "Early"), add_account(service, "Late")
    delete(service, early, "Early")
    delete(service, late, "Late")

    service.clock.advance(seconds=30 * DAY_MS // 1000 - 1)
    in_time = service.operator.post(f"{CUSTOMERS}/{early}/reactivate")
    service.clock.advance(seconds=1)
    too_late = service.operator.post(f"{CUSTOMERS}/{late}/reactivate")

    assert in_time.json()["status"] == "active"
    assert refusal(too_late) == (409, "invalid_state")


def test_a_deleted_account_is_given_nothing_new(service: RunningService) -> None:
    account_id = add_account(service, "Acme")
    invited = service.operator.post(
        f"{CUSTOMERS}/{account_id}/members", json={"email": "ann@acme.example", "role": "owner"}
    ).json()
    delete(service, account_id, "Acme")

    place = f"{CUSTOMERS}/{account_id}"
    replies = [
        service.operator.post(f"{place}/sites", json={"name": "Shop"}),
        service.operator.post(f"{place}/members", json={"email": "bob@acme.example", "role": "member"}),
        service.operator.post(f"{place}/members/{invited['member']['userId']}/resend-invite"),
    ]

    assert {refusal(reply) for reply in replies} == {(409, "invalid_state")}
    moved = service.operator.post("/v1/admin/sites", json={"name": "Shop", "customerId": account_id})
    assert refusal(moved) == (400, "invalid_site")
