"""Webhooks for operators: the customers' handlers, on any site, and webhooks of a site that moves."""

from tests.api.admin.operating import refusal
from tests.api.admin.webhook_body import HOOK
from tests.support.cast import cast
from tests.support.service import RunningService


def test_an_operator_makes_changes_and_deletes_a_webhook_of_any_site(service: RunningService) -> None:
    people = cast(service)
    site = people.alice.post("/v1/console/sites", json={"name": "Shop"}).json()["siteKey"]
    path = f"/v1/admin/sites/{site}/webhooks"

    made = service.operator.post(path, json=HOOK)
    webhook_id = made.json()["webhook"]["id"]

    assert made.status_code == 201
    assert people.rita.get(f"/v1/console/sites/{site}/webhooks").json()["items"] == [made.json()["webhook"]]
    assert service.operator.patch(f"{path}/{webhook_id}", json={"enabled": False}).json()["status"] == "paused"
    assert service.operator.post(f"{path}/{webhook_id}/rotate").status_code == 201
    assert service.operator.post(f"{path}/{webhook_id}/test").json()["delivered"] is False
    assert len(service.operator.get(f"{path}/{webhook_id}/deliveries").json()["items"]) == 1
    assert service.operator.delete(f"{path}/{webhook_id}").status_code == 204
    assert service.operator.get(path).json() == {"items": []}


def test_without_a_credential_nothing_is_shown(service: RunningService) -> None:
    assert refusal(service.anonymous.get("/v1/admin/sites/site_shop/webhooks")) == (401, "unauthorized")


def test_a_moved_site_takes_its_webhooks_along_disabled(service: RunningService) -> None:
    people = cast(service)
    site = people.alice.post("/v1/console/sites", json={"name": "Shop"}).json()["siteKey"]
    path = f"/v1/console/sites/{site}/webhooks"
    webhook = people.alice.post(path, json=HOOK).json()["webhook"]

    moved = service.operator.post(f"/v1/admin/sites/{site}/move", json={"customerId": people.globex})

    assert moved.status_code == 200, moved.text
    assert people.carol.get(path).json()["items"] == [{**webhook, "enabled": False, "status": "paused"}]
    enabled = people.carol.patch(f"{path}/{webhook['id']}", json={"enabled": True}).json()
    assert (enabled["enabled"], enabled["status"]) == (True, "ok")
