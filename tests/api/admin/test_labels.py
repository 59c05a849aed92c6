"""Labels of decisions: made with their evidence, replaced, listed in pages, never across sites."""

from typing import Any

import pytest

from agentgate.events.decision_ids import first_id, write_id
from agentgate.events.records import Event
from agentgate.lib.clock import DAY_MS
from agentgate.lib.enums import DecisionKind, Mode, Outcome
from agentgate.lib.moment import Moment
from tests.api.admin.operating import refusal
from tests.support.cast import operator_client
from tests.support.service import NOON_MS, RunningService

LABELS = "/v1/admin/labels"
SHOP = {"siteKey": "site_shop"}
BLOG = {"siteKey": "site_blog"}
FIRST = first_id(NOON_MS)


@pytest.fixture(autouse=True)
def numbers(service: RunningService) -> dict[str, int]:
    """Two sites with three decisions each; return the sites' numbers."""
    stores = service.application.stores
    found = {}
    for key in ("site_shop", "site_blog"):
        made = service.operator.post("/v1/admin/sites", json={"name": "Site", "siteKey": key}).json()
        found[key] = service.run(stores.store.read.sites.find_number(made["id"]))
    events = [
        new_event(FIRST + 1, found["site_shop"], request_id="req-1", features={"rate_visitor": 3.0}),
        new_event(FIRST + 2, found["site_shop"], visitor=None, action=None, would=None, rule_set_version=None),
        new_event(FIRST + 3, found["site_shop"], request_id="req-3"),
        new_event(FIRST + 4, found["site_blog"], request_id="req-4"),
    ]
    service.run(stores.events.write(events))
    return found


def new_event(number: int, site: int, **changes: Any) -> Event:
    usual: dict[str, Any] = {
        "id": number,
        "site": site,
        "visitor": 0xAB,
        "kind": DecisionKind.REQUEST,
        "mode": Mode.MONITOR,
        "outcome": Outcome.ALLOW,
        "would": Outcome.CHALLENGE,
        "method": "POST",
        "route": "/login",
        "action": "login",
        "status": 204,
        "duration_us": 10,
        "reasons": ("monitor",),
        "labels": ("net.datacenter", "ua.browser"),
        "rule_set_version": "1-00000000",
        "scores": {"bot": 0.25},
        "model_versions": {"bot": "bot-1"},
    }
    return Event(**usual | changes)


def put(service: RunningService, number: int, params: dict[str, str] = SHOP, **body: Any) -> Any:
    path = f"/v1/admin/decisions/{write_id(FIRST + number)}/label"
    return service.operator.put(path, params=params, json=body)


def post(service: RunningService, params: dict[str, str] = SHOP, **body: Any) -> Any:
    return service.operator.post(LABELS, params=params, json={"label": "bot", "source": "probe", **body})


def listed(service: RunningService, **params: Any) -> dict[str, Any]:
    reply = service.operator.get(LABELS, params={**SHOP, **params})
    assert reply.status_code == 200, reply.text
    return reply.json()


def test_a_label_carries_the_evidence_of_its_decision(service: RunningService) -> None:
    olga = operator_client(service)
    service.clock.advance(seconds=3)

    path = f"/v1/admin/decisions/{write_id(FIRST + 1)}/label"
    reply = olga.put(path, params=SHOP, json={"label": "human", "note": "I know her"})

    assert reply.status_code == 200
    site_id = service.operator.get("/v1/admin/sites/site_shop").json()["id"]
    assert reply.json() == {
        "decisionId": write_id(FIRST + 1),
        "siteId": site_id,
        "label": "human",
        "source": "operator",
        "note": "I know her",
        "actor": "Olga",
        "createdAt": Moment(NOON_MS + 3000).text(),
        "updatedAt": Moment(NOON_MS + 3000).text(),
        "evidence": {
            "time": Moment(NOON_MS).text(),
            "kind": "request",
            "route": "/login",
            "method": "POST",
            "action": "login",
            "outcome": "allow",
            "wouldDecision": "challenge",
            "reasons": ["monitor"],
            "labels": ["net.datacenter", "ua.browser"],
            "scores": {"bot": 0.25},
            "modelVersions": {"bot": "bot-1"},
            "ruleSetVersion": "1-00000000",
            "visitorId": "00000000000000ab",
            "features": {"rate_visitor": 3.0},
        },
    }


def test_what_the_event_did_not_have_is_absent_from_the_evidence(service: RunningService) -> None:
    evidence = put(service, 2, label="bot").json()["evidence"]

    assert set(evidence) == {
        *("time", "kind", "route", "method", "outcome", "reasons", "labels", "scores", "modelVersions")
    }


def test_relabelling_replaces_the_label_and_keeps_evidence_and_creation(service: RunningService) -> None:
    first = put(service, 1, label="human", note="sure").json()
    service.clock.advance(seconds=9)

    second = post(service, decisionId=write_id(FIRST + 1), label="agent", source="synthetic").json()

    assert (second["label"], second["source"], "note" in second) == ("agent", "synthetic", False)
    assert (second["createdAt"], second["evidence"]) == (first["createdAt"], first["evidence"])
    assert second["updatedAt"] == Moment(NOON_MS + 9000).text()
    assert listed(service) == {"items": [second]}


def test_a_label_outlives_its_event_and_can_still_be_replaced(service: RunningService) -> None:
    first = put(service, 1, label="human").json()
    today = NOON_MS // DAY_MS
    events = service.application.stores.events
    service.run(events.forget(events_before_day=today + 1, metrics_before_day=0))

    assert refusal(put(service, 2, label="human")) == (404, "not_found")
    assert refusal(post(service, requestId="req-1")) == (404, "not_found")
    again = put(service, 1, label="bot")

    assert again.status_code == 200
    assert (again.json()["label"], again.json()["evidence"]) == ("bot", first["evidence"])


def test_a_decision_is_found_by_its_request(service: RunningService) -> None:
    reply = post(service, requestId="req-3", source="probe", note="load test")

    assert reply.status_code == 201
    assert (reply.json()["decisionId"], reply.json()["source"]) == (write_id(FIRST + 3), "probe")


def test_a_label_that_does_not_show_what_of_what_is_rejected(service: RunningService) -> None:
    named = {"decisionId": write_id(FIRST + 1)}
    for body in (
        {},
        {**named, "requestId": "req-1"},
        {**named, "label": "cat"},
        {**named, "source": "me"},
        {**named, "note": "x" * 501},
        {"requestId": ""},
        {"requestId": "r" * 129},
        {**named, "evidence": {}},
    ):
        assert refusal(post(service, **body)) == (400, "invalid_request"), body

    assert listed(service) == {"items": []}


def test_a_source_is_needed_when_labels_are_posted(service: RunningService) -> None:
    body = {"decisionId": write_id(FIRST + 1), "label": "bot"}

    assert refusal(service.operator.post(LABELS, params=SHOP, json=body)) == (400, "invalid_request")


def test_unknown_malformed_and_foreign_decisions_respond_alike(service: RunningService) -> None:
    foreign = put(service, 4, label="bot")
    unknown = put(service, 9, label="bot")
    malformed = service.operator.put("/v1/admin/decisions/dec_x/label", params=SHOP, json={"label": "bot"})

    assert foreign.json() == unknown.json() == malformed.json()
    assert refusal(foreign) == refusal(post(service, decisionId=write_id(FIRST + 4))) == (404, "not_found")
    assert refusal(post(service, requestId="req-4")) == (404, "not_found")
    assert listed(service) == {"items": []}


def test_the_site_must_be_named_and_known(service: RunningService) -> None:
    path = f"/v1/admin/decisions/{write_id(FIRST + 1)}/label"
    for params, expected in (
        ({}, (400, "invalid_site")),
        ({"siteKey": "shop"}, (400, "invalid_site")),
        ({"siteKey": "site_none"}, (404, "site_not_found")),
    ):
        assert refusal(service.operator.get(LABELS, params=params)) == expected
        assert refusal(service.operator.put(path, params=params, json={"label": "bot"})) == expected
        body = {"decisionId": write_id(FIRST + 1), "label": "bot", "source": "probe"}
        assert refusal(service.operator.post(LABELS, params=params, json=body)) == expected


def test_labels_come_in_pages_oldest_update_first(service: RunningService) -> None:
    for number in (3, 1, 2):
        put(service, number, label="unsure")
        service.clock.advance(seconds=1)
    put(service, 3, label="bot")

    first = listed(service, limit=2)
    second = listed(service, limit=2, cursor=first["nextCursor"])

    seen = [item["decisionId"] for page in (first, second) for item in page["items"]]
    assert seen == [write_id(FIRST + number) for number in (1, 2, 3)]
    assert "nextCursor" not in second
    assert service.operator.get(LABELS, params=BLOG).json() == {"items": []}


def test_a_cursor_of_another_site_or_made_up_is_rejected(service: RunningService) -> None:
    put(service, 1, label="bot")
    put(service, 2, label="bot")
    cursor = listed(service, limit=1)["nextCursor"]

    for params in ({**BLOG, "cursor": cursor}, {**SHOP, "cursor": "x"}):
        assert refusal(service.operator.get(LABELS, params=params)) == (400, "invalid_cursor")
    for limit in (0, 1001, "many"):
        assert refusal(service.operator.get(LABELS, params={**SHOP, "limit": limit})) == (400, "invalid_limit")


def test_labels_need_an_operator(service: RunningService) -> None:
    assert refusal(service.anonymous.get(LABELS, params=SHOP)) == (401, "unauthorized")
    path = f"/v1/admin/decisions/{write_id(FIRST + 1)}/label"
    assert refusal(service.anonymous.put(path, params=SHOP, json={"label": "bot"})) == (401, "unauthorized")
