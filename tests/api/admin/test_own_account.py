"""The service's own site and its account: neither moved, suspended nor deleted, whenever the site was made."""

import pytest
from msgspec.structs import replace

from agentgate.lib.settings.schema import Settings
from tests.api.admin.operating import CUSTOMERS, refusal
from tests.support.cast import cast
from tests.support.service import RunningService, running_service

OWN = "site_service_itself"
PROTECTED = (409, "protected_account")


def make_site(service: RunningService, key: str) -> str:
    made = service.operator.post("/v1/admin/sites", json={"name": "Own", "siteKey": key, "customerName": "Own"})
    assert made.status_code == 201, made.text
    return made.json()["customerId"]


def attempts(service: RunningService, account: str, other: str) -> list[tuple[int, str]]:
    operator = service.operator
    return [
        refusal(reply)
        for reply in (
            operator.post(f"/v1/admin/sites/{OWN}/move", json={"customerId": other}),
            operator.post(f"{CUSTOMERS}/{account}/suspend", json={"reason": "why not"}),
            operator.request("DELETE", f"{CUSTOMERS}/{account}", json={"confirm": "Own"}),
        )
    ]


def test_the_services_own_account_is_protected_as_soon_as_it_has_the_site(settings: Settings) -> None:
    with running_service(replace(settings, access_site_key=OWN)) as service:
        people = cast(service)
        account = make_site(service, OWN)

        assert attempts(service, account, people.acme) == [PROTECTED] * 3
        assert service.operator.get(f"{CUSTOMERS}/{account}").json()["protected"] is True
        protected = {each["id"]: each["protected"] for each in service.operator.get(CUSTOMERS).json()["items"]}
        assert protected == {account: True, people.acme: False, people.globex: False}
        # A site of another customer cannot be moved into the protected account either.
        make_site(service, "site_other_one")
        moved = service.operator.post("/v1/admin/sites/site_other_one/move", json={"customerId": account})
        assert refusal(moved) == PROTECTED


@pytest.mark.parametrize("settings", ["sqlite"], indirect=True)
def test_a_site_that_is_no_longer_the_services_own_is_like_any_other(settings: Settings) -> None:
    with running_service(replace(settings, access_site_key=OWN)) as service:
        account = make_site(service, OWN)
    with running_service(settings) as service:
        assert service.operator.get(f"{CUSTOMERS}/{account}").json()["protected"] is False
        suspended = service.operator.post(f"{CUSTOMERS}/{account}/suspend", json={"reason": "why not"})
        assert suspended.status_code == 200


@pytest.mark.parametrize("settings", ["sqlite"], indirect=True)
def test_an_owner_cannot_delete_the_services_own_account(settings: Settings) -> None:
    with running_service(settings) as service:
        people = cast(service)
        key = people.alice.post("/v1/console/sites", json={"name": "Shop"}).json()["siteKey"]
        service.change(lambda stores: stores.sites.save_own_site_keys([key]))

        assert refusal(people.alice.request("DELETE", "/v1/console/account", json={"confirm": "Acme"})) == PROTECTED
