"""Feature capture: off at first, on for a while, off again with everything deleted."""

from typing import Any

import pytest

from agentgate.events.decision_ids import first_id
from agentgate.events.records import Event
from agentgate.lib.enums import DecisionKind, Mode, Outcome
from agentgate.lib.moment import Moment
from tests.api.admin.operating import refusal
from tests.support.service import NOON_MS, RunningService

SITE = "/v1/admin/sites/site_shop"
CAPTURE = f"{SITE}/feature-capture"


@pytest.fixture(autouse=True)
def site(service: RunningService) -> dict[str, Any]:
    return service.operator.post("/v1/admin/sites", json={"name": "Shop", "siteKey": "site_shop"}).json()


def put(service: RunningService, **body: Any) -> dict[str, Any]:
    reply = service.operator.put(CAPTURE, json=body)
    assert reply.status_code == 200, reply.text
    return reply.json()


def capture_one(service: RunningService, site_id: str) -> None:
    """Store a decision with its feature vector."""
    stores = service.application.stores
    event = Event(
        id=first_id(service.clock.now_ms()),
        site=service.run(stores.store.read.sites.find_number(site_id)),
        visitor=None,
        kind=DecisionKind.REQUEST,
        mode=Mode.MONITOR,
        outcome=Outcome.ALLOW,
        method="GET",
        route="*",
        status=204,
        duration_us=10,
        features={"rate_visitor": 1.0},
    )
    service.run(stores.events.write([event]))


def configuration(service: RunningService) -> int:
    return service.run(service.application.stores.store.read.configuration.version())


def test_a_site_captures_nothing_at_first(service: RunningService, site: dict[str, Any]) -> None:
    assert service.operator.get(CAPTURE).json() == {
        "siteId": site["id"],
        "siteKey": "site_shop",
        "enabled": False,
        "retentionDays": 30,
        "stored": 0,
    }


def test_it_is_turned_on_for_some_days_and_leaves_an_entry(service: RunningService, site: dict[str, Any]) -> None:
    before = configuration(service)

    made = put(service, enabled=True, retentionDays=7)

    assert made == {
        "siteId": site["id"],
        "siteKey": "site_shop",
        "enabled": True,
        "retentionDays": 7,
        "stored": 0,
        "updatedAt": Moment(NOON_MS).text(),
        "updatedBy": "operator",
    }
    assert service.operator.get(CAPTURE).json() == made
    assert configuration(service) == before + 1
    [change, _] = service.operator.get(f"{SITE}/changes").json()["items"]
    assert change["kind"] == "feature_capture.update"
    assert change["detail"] == {"enabled": {"from": False, "to": True}, "retentionDays": {"from": 30, "to": 7}}


def test_the_site_is_named_by_its_id_or_its_key(service: RunningService, site: dict[str, Any]) -> None:
    by_id = f"/v1/admin/sites/{site['id']}/feature-capture"

    assert service.operator.put(by_id, json={"enabled": True}).status_code == 200
    assert service.operator.get(by_id).json() == service.operator.get(CAPTURE).json()


def test_turning_it_off_deletes_what_was_stored_and_keeps_the_days(
    service: RunningService, site: dict[str, Any]
) -> None:
    put(service, enabled=True, retentionDays=7)
    capture_one(service, site["id"])
    assert service.operator.get(CAPTURE).json()["stored"] == 1

    off = put(service, enabled=False)

    assert (off["enabled"], off["retentionDays"], off["stored"]) == (False, 7, 0)


def test_the_same_setting_again_changes_nothing(service: RunningService) -> None:
    put(service, enabled=True, retentionDays=7)
    before = configuration(service)
    service.clock.advance(seconds=1)

    again = put(service, enabled=True, retentionDays=7)

    assert again["updatedAt"] == Moment(NOON_MS).text()
    assert configuration(service) == before


def test_a_malformed_setting_is_rejected(service: RunningService) -> None:
    for body in (
        {},
        {"retentionDays": 7},
        {"enabled": "yes"},
        {"enabled": True, "retentionDays": 0},
        {"enabled": True, "retentionDays": 3651},
        {"enabled": True, "retentionDays": 1.5},
        {"enabled": True, "stored": 1},
    ):
        assert refusal(service.operator.put(CAPTURE, json=body)) == (400, "invalid_request"), body

    assert service.operator.get(CAPTURE).json()["enabled"] is False


def test_an_unknown_site_is_not_found(service: RunningService) -> None:
    for name in ("site_none", "st_0000000000000000", "x"):
        path = f"/v1/admin/sites/{name}/feature-capture"
        assert refusal(service.operator.get(path)) == (404, "site_not_found")
        assert refusal(service.operator.put(path, json={"enabled": True})) == (404, "site_not_found")


def test_feature_capture_needs_an_operator(service: RunningService) -> None:
    assert refusal(service.anonymous.get(CAPTURE)) == (401, "unauthorized")
    assert refusal(service.anonymous.put(CAPTURE, json={"enabled": True})) == (401, "unauthorized")
