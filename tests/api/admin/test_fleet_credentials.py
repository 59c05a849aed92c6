"""Fleet credentials: created, listed without their secrets, bounded, revoked; each with an entry in the trail."""

import re
from typing import Any

import pytest

from tests.api.admin.operating import CUSTOMERS, refusal
from tests.support.cast import add_account
from tests.support.service import RunningService


@pytest.fixture
def account(service: RunningService) -> str:
    return add_account(service, "Hosting")


def create(service: RunningService, account: str, **body: Any) -> dict[str, Any]:
    reply = service.operator.post(f"{CUSTOMERS}/{account}/fleet-credentials", json=body)
    assert reply.status_code == 201, reply.text
    return reply.json()


def listed(service: RunningService, account: str) -> list[dict[str, Any]]:
    return service.operator.get(f"{CUSTOMERS}/{account}/fleet-credentials").json()["items"]


def test_a_fleet_credential_is_made_with_a_secret_that_is_shown_once(service: RunningService, account: str) -> None:
    made = create(service, account, name="Web 1", unknownHosts="block")

    assert re.fullmatch(r"flt_[0-9a-f]{16}", made["credential"]["id"])
    assert re.fullmatch(r"ags_[A-Za-z0-9_-]{43}", made["secret"])
    assert listed(service, account) == [made["credential"]]
    assert made["credential"]["unknownHosts"] == "block"
    rows = service.run(service.application.stores.databases["config"].all("SELECT * FROM fleet_credential"))
    assert made["secret"] not in repr(rows)


def test_unknown_hosts_are_allowed_by_default(service: RunningService, account: str) -> None:
    assert create(service, account)["credential"]["unknownHosts"] == "allow"


def test_an_account_has_at_most_five(service: RunningService, account: str) -> None:
    made = [create(service, account) for _ in range(5)]
    path = f"{CUSTOMERS}/{account}/fleet-credentials"
    assert refusal(service.operator.post(path, json={})) == (409, "credential_limit")

    service.operator.delete(f"{path}/{made[0]['credential']['id']}")

    assert create(service, account)


def test_another_accounts_credential_is_not_found(service: RunningService, account: str) -> None:
    made = create(service, account)
    other = add_account(service, "Other")

    path = f"{CUSTOMERS}/{other}/fleet-credentials/{made['credential']['id']}"
    assert refusal(service.operator.delete(path)) == (404, "not_found")
    assert "revokedAt" not in listed(service, account)[0]


def test_a_deleted_account_gets_none_and_its_own_remain_revoked(service: RunningService, account: str) -> None:
    create(service, account)
    service.operator.request("DELETE", f"{CUSTOMERS}/{account}", json={"confirm": "Hosting"})
    path = f"{CUSTOMERS}/{account}/fleet-credentials"
    assert refusal(service.operator.post(path, json={})) == (409, "invalid_state")

    service.operator.post(f"{CUSTOMERS}/{account}/reactivate")

    assert "revokedAt" in listed(service, account)[0]


def test_creation_and_revocation_are_in_the_trail(service: RunningService, account: str) -> None:
    made = create(service, account, name="Web 1")["credential"]
    service.operator.delete(f"{CUSTOMERS}/{account}/fleet-credentials/{made['id']}")
    service.operator.delete(f"{CUSTOMERS}/{account}/fleet-credentials/{made['id']}")

    entries = service.operator.get(f"{CUSTOMERS}/{account}/audit", params={"action": "fleet"}).json()["items"]
    assert [(each["action"], each["target"]) for each in entries] == [
        ("fleet.revoke", made["id"]),
        ("fleet.create", made["id"]),
    ]
