"""The install status over HTTP: waiting until a decision is seen, then live."""

from typing import Any

from tests.api.admin.operating import refusal
from tests.api.traffic_steps import OTHER, SITE, add_site, days_ago, record, roll_up
from tests.support.service import NOON_MS, RunningService


def read(service: RunningService, key: str = SITE) -> Any:
    return service.operator.get(f"/v1/admin/sites/{key}/install")


def test_a_site_waits_until_its_first_decision(service: RunningService) -> None:
    site_id = add_site(service)
    add_site(service, OTHER)

    assert read(service).json() == {"siteKey": SITE, "status": "waiting"}
    record(service, site_id, {"at_ms": NOON_MS - 5}, {"at_ms": NOON_MS - 3})

    assert read(service).json() == {
        "siteKey": SITE,
        "status": "live",
        "firstSeenAt": "2026-11-15T11:59:59.995Z",
        "lastSeenAt": "2026-11-15T11:59:59.997Z",
    }
    assert read(service, OTHER).json()["status"] == "waiting"
    assert refusal(read(service, "site_unknown")) == (404, "site_not_found")


def test_the_first_decision_is_remembered_when_its_event_is_gone(service: RunningService) -> None:
    site_id = add_site(service)
    record(service, site_id, {"at_ms": days_ago(40)}, {"at_ms": days_ago(2)})
    roll_up(service)
    today = NOON_MS // 86_400_000
    events = service.application.stores.events
    service.run(events.forget(events_before_day=today - 31, metrics_before_day=today - 400))

    found = read(service).json()

    assert (found["firstSeenAt"], found["lastSeenAt"]) == ("2026-10-06T00:00:00.000Z", "2026-11-13T12:00:00.000Z")
