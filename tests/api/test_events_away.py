"""The control side while ClickHouse is unavailable: routes without events work, the others name the cause."""

import time
from typing import Any

import pytest

from tests.support.clickhouse_server import ClickhouseServer
from tests.support.every_route import ADMIN_ROUTES, PUBLIC_ROUTES, ask, listener_of
from tests.support.service import RunningService
from tests.support.two_accounts import set_scene

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.parametrize("settings", ["clickhouse"], indirect=True),
]


# Routes whose response consists of events. They return 503 with a message that names the cause.
NEED_EVENTS = {
    *(f"GET /v1/{side}/{what}" for side in ("admin", "console") for what in ("decisions", "metrics", "visitors")),
    *(f"GET /v1/{side}/decisions/export" for side in ("admin", "console")),
    *(f"GET /v1/{side}/decisions/{{decisionId}}" for side in ("admin", "console")),
    *(f"GET /v1/{side}/visitors/{{visitorId}}" for side in ("admin", "console")),
    *(
        f"GET /v1/{side}/sites/{{siteKey}}/{what}"
        for side in ("admin", "console")
        for what in ("analytics", "ai-traffic")
    ),
    "GET /v1/admin/decisions/{decisionId}/contributions",
    "GET /v1/admin/labels/queue",
    "GET /v1/admin/models/{kind}/drift",
    "POST /v1/admin/labels",
    "POST /v1/admin/sites/{siteKey}/rules/backtest",
    "PUT /v1/admin/decisions/{decisionId}/label",
    "PUT /v1/admin/sites/{siteKey}/appeals/{appealId}/label",
}
# It reads events only of labels with captured features, and the scene has none.
MAY_NEED_EVENTS = {"GET /v1/admin/models/{kind}/compare"}
CONTROL = {
    name: row
    for name, row in {**PUBLIC_ROUTES, **ADMIN_ROUTES}.items()
    if "/v1/admin/" in name or "/v1/console/" in name
}
SITES = "/v1/admin/sites"
NOTHING = {"allow": 0, "challenge": 0, "block": 0, "drop": 0, "monitored": 0}


def make_site(service: RunningService, name: str) -> dict[str, Any]:
    made = service.operator.post(SITES, json={"name": name})
    assert made.status_code == 201, made.text
    return made.json()


def test_routes_that_need_no_events_respond_and_the_others_name_the_cause(
    service: RunningService, clickhouse: ClickhouseServer
) -> None:
    scene, answers = set_scene(service), {}
    with clickhouse.away():
        for name in sorted(CONTROL, key=lambda name: (not name.startswith("GET"), name.startswith("DELETE"), name)):
            caller = "owner" if name in PUBLIC_ROUTES else "operator key"
            began_s = time.monotonic()
            answers[name] = ask(listener_of(service, name), CONTROL[name], scene, scene.callers[caller])
            assert time.monotonic() - began_s < 3, name

    refused = {name for name, reply in answers.items() if reply.status_code >= 500}
    assert refused <= NEED_EVENTS | MAY_NEED_EVENTS, refused - NEED_EVENTS
    for name in refused:
        body = answers[name].json()
        assert (answers[name].status_code, body["error"]) == (503, "store_unavailable"), name
        assert body["message"].startswith("Events are unavailable."), name
        assert answers[name].headers["retry-after"] == "5"
    assert {name for name in NEED_EVENTS if name.startswith("GET")} <= refused


def test_a_site_that_is_made_without_events_gets_201_and_made_once(
    service: RunningService, clickhouse: ClickhouseServer
) -> None:
    with clickhouse.away():
        made = make_site(service, "Shop")
        site = f"{SITES}/{made['siteKey']}"
        changed = service.operator.patch(site, json={"mode": "enforce"})
        listed = service.operator.get(SITES).json()["items"]
        health = service.operator.get(f"{site}/health").json()
        install = service.operator.get(f"{site}/install").json()

        assert (made["today"], made["degraded"]) == (NOTHING, True)
        assert (changed.status_code, changed.json()["mode"], changed.json()["degraded"]) == (200, "enforce", True)
        assert [(each["name"], each["degraded"], each["today"]) for each in listed] == [("Shop", True, NOTHING)]
        # No check claims anything about traffic that cannot be read.
        assert [each["check"] for each in health["checks"]] == ["no_credential"]
        assert (health["degraded"], install["status"], install["degraded"]) == (True, "waiting", True)

    back = service.operator.get(site).json()
    assert "degraded" not in back
    assert "degraded" not in service.operator.get(f"{site}/health").json()
    assert "degraded" not in service.operator.get(f"{site}/install").json()


def test_a_store_of_events_that_hangs_delays_a_site_by_two_seconds(
    service: RunningService, clickhouse: ClickhouseServer
) -> None:
    with clickhouse.frozen():
        began_s = time.monotonic()
        made = make_site(service, "Shop")
        assert time.monotonic() - began_s < 4

    assert made["degraded"] is True


def test_a_site_without_traffic_is_not_reported_while_nothing_is_known(
    service: RunningService, clickhouse: ClickhouseServer
) -> None:
    site = f"{SITES}/{make_site(service, 'Shop')['siteKey']}"
    route = {"method": "POST", "path": "/login", "action": "submit"}
    assert service.operator.patch(site, json={"routes": [route]}).status_code == 200
    assert service.operator.post(f"{site}/credentials", json={"name": "server"}).status_code == 201
    assert service.operator.get(site).json()["health"]["status"] == "no_traffic"

    with clickhouse.away():
        assert service.operator.get(site).json()["health"] == {"status": "ok"}
