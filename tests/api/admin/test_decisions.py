"""Decisions over HTTP: filters, pages, the explanation of one decision, and rejected requests."""

from typing import Any

import pytest

from agentgate.lib.clock import HOUR_MS
from agentgate.lib.enums import ChallengeStage, Outcome
from tests.api.admin.operating import refusal
from tests.api.traffic_steps import OTHER, SITE, VISITOR_ID, add_site, challenge, days_ago, record
from tests.support.service import NOON_MS, RunningService

DECISIONS = "/v1/admin/decisions"


def read(service: RunningService, **query: Any) -> Any:
    reply = service.operator.get(DECISIONS, params={"siteKey": SITE, **query})
    assert reply.status_code == 200, reply.text
    return reply.json()


def ids(page: Any) -> list[str]:
    return [item["id"] for item in page["items"]]


def test_a_decision_is_shown_with_every_field(service: RunningService) -> None:
    site_id = add_site(service)
    made = {
        "at_ms": NOON_MS - 5,
        "would": Outcome.BLOCK,
        "action": "login",
        "reasons": ("policy",),
        "labels": ("net.tor", "ua.library"),
        "rule": "tor",
        "rule_set_version": "1-00000000",
        "scores": {"bot": 0.75},
        "model_versions": {"bot": "3"},
        "agent": "GPTBot",
        "request_id": "r1",
        "trace_id": "t1",
    }
    [decision_id] = record(service, site_id, made)

    page = read(service)

    assert page == {
        "items": [
            {
                "id": decision_id,
                "siteId": site_id,
                "time": "2026-11-15T11:59:59.995Z",
                "kind": "request",
                "route": "/login",
                "method": "POST",
                "outcome": "allow",
                "mode": "monitor",
                "reasons": ["policy"],
                "labels": ["net.tor", "ua.library"],
                "status": 204,
                "durationUs": 20,
                "requestId": "r1",
                "traceId": "t1",
                "visitorId": VISITOR_ID,
                "action": "login",
                "wouldDecision": "block",
                "matchedRule": "tor",
                "ruleSetVersion": "1-00000000",
                "modelVersions": {"bot": "3"},
                "scores": {"bot": 0.75},
                "agent": "GPTBot",
            }
        ],
        "from": "2026-11-14T12:00:00.000Z",
        "to": "2026-11-15T12:00:00.000Z",
    }


def test_each_filter_narrows(service: RunningService) -> None:
    site_id = add_site(service)
    plain, blocked, would, issued, challenged = record(
        service,
        site_id,
        {"at_ms": NOON_MS - 5, "visitor": 1},
        {"at_ms": NOON_MS - 4, "outcome": Outcome.BLOCK, "rule": "tor", "labels": ("net.tor",)},
        {"at_ms": NOON_MS - 3, "would": Outcome.CHALLENGE, "action": "login"},
        challenge(ChallengeStage.ISSUED, at_ms=NOON_MS - 2),
        {"at_ms": NOON_MS - 1, "outcome": Outcome.CHALLENGE},
    )
    assert ids(read(service)) == [challenged, issued, would, blocked, plain]
    assert ids(read(service, kind="request")) == [challenged, would, blocked, plain]
    assert ids(read(service, kind="challenge")) == [issued]
    assert ids(read(service, outcome="block")) == [blocked]
    assert ids(read(service, wouldDecision="challenge")) == [would]
    assert ids(read(service, rule="tor")) == [blocked]
    assert ids(read(service, label="net.tor")) == [blocked]
    assert ids(read(service, visitor="0000000000000001")) == [plain]
    assert ids(read(service, action="login")) == [issued, would]
    assert ids(read(service, queue="labelling")) == [challenged, would]
    assert ids(read(service, kind="request", action="login")) == [would]
    assert read(service, label="net.tor.unheard")["items"] == []


def test_pages_follow_each_other_within_the_range_of_the_first(service: RunningService) -> None:
    site_id = add_site(service)
    made = record(service, site_id, *({"at_ms": NOON_MS - HOUR_MS + place} for place in range(5)))

    first = read(service, limit=2)
    service.clock.advance(hours=23.5)
    second = read(service, limit=2, cursor=first["nextCursor"])
    third = read(service, limit=2, cursor=second["nextCursor"])

    assert ids(first) + ids(second) + ids(third) == made[::-1]
    assert (second["from"], second["to"]) == (first["from"], first["to"])
    assert "nextCursor" not in third


def test_a_cursor_is_good_for_its_route_site_range_and_filters_only(service: RunningService) -> None:
    site_id = add_site(service)
    add_site(service, OTHER)
    record(service, site_id, {}, {}, {})
    cursor = read(service, limit=1, **{"from": days_ago(1)})["nextCursor"]

    assert read(service, limit=3, cursor=cursor, **{"from": days_ago(1)})["items"]
    for query in (
        {"siteKey": SITE},
        {"siteKey": OTHER, "from": str(days_ago(1))},
        {"siteKey": SITE, "from": str(days_ago(1)), "outcome": "allow"},
        {"siteKey": SITE, "from": str(days_ago(2))},
    ):
        reply = service.operator.get(DECISIONS, params={**query, "cursor": cursor})
        assert refusal(reply) == (400, "invalid_cursor"), query
    visitors = service.operator.get("/v1/admin/visitors", params={"siteKey": SITE, "cursor": cursor})
    assert refusal(visitors) == (400, "invalid_cursor")


def test_wrong_parameters_are_rejected(service: RunningService) -> None:
    add_site(service)
    wrong = (
        ("limit", "0", "invalid_limit"),
        ("limit", "201", "invalid_limit"),
        ("limit", "many", "invalid_limit"),
        ("from", "2026-10-01", "invalid_range"),
        ("to", "2001-01-01T00:00", "invalid_range"),
        ("cursor", "xyz", "invalid_cursor"),
        ("kind", "visit", "invalid_filter"),
        ("outcome", "ALLOW", "invalid_filter"),
        ("wouldDecision", "count", "invalid_filter"),
        ("rule", "x" * 201, "invalid_filter"),
        ("rule", "", "invalid_filter"),
        ("label", "x" * 201, "invalid_filter"),
        ("visitor", "FEDCBA9876543210", "invalid_filter"),
        ("action", "Log in", "invalid_filter"),
        ("queue", "all", "invalid_filter"),
        ("labelled", "yes", "invalid_filter"),
    )
    for name, value, code in wrong:
        reply = service.operator.get(DECISIONS, params={"siteKey": SITE, name: value})
        assert refusal(reply) == (400, code), (name, value)


def test_one_decision_is_explained(service: RunningService) -> None:
    site_id = add_site(service)
    rules = service.operator.get(f"/v1/admin/sites/{SITE}/rules").json()["effective"]
    rule = rules["rules"][0]
    made = {
        "would": Outcome.BLOCK,
        "labels": ("net.datacenter", "net.tor", "ua.library"),
        "rule": rule["name"],
        "rule_set_version": rules["version"],
        "trace_id": "t1",
    }
    [decision_id] = record(service, site_id, made)

    found = service.operator.get(f"{DECISIONS}/{decision_id}", params={"siteKey": SITE}).json()

    assert found["decision"]["id"] == decision_id
    assert found["labelsBySource"] == {"net": ["net.datacenter", "net.tor"], "ua": ["ua.library"]}
    assert (found["ruleCurrent"], found["monitored"]) == (True, True)
    assert found["rule"]["name"] == rule["name"]
    # No tracing tool is set up.
    assert "traceUrl" not in found


def test_a_rule_that_was_changed_since_is_shown_as_it_was(service: RunningService) -> None:
    site_id = add_site(service)
    path = f"/v1/admin/sites/{SITE}/rules"

    def put(label: str, revision: int) -> Any:
        rule = {"name": "mine", "match": {"any_labels": [label]}, "action": "block"}
        rule_set = {"version": "v", "rules": [rule], "default_action": "allow"}
        reply = service.operator.put(path, json={"ruleSet": rule_set, "revision": revision})
        assert reply.status_code == 200, reply.text
        return reply.json()

    old = put("net.tor", 0)
    put("net.datacenter", old["revision"])
    [decision_id] = record(
        service, site_id, {"rule": "mine", "rule_set_version": old["effective"]["version"], "outcome": Outcome.BLOCK}
    )

    found = service.operator.get(f"{DECISIONS}/{decision_id}", params={"siteKey": SITE}).json()

    assert (found["ruleCurrent"], found["monitored"]) == (False, False)
    assert found["rule"]["match"] == {"any_labels": ["net.tor"]}


def test_a_rule_set_that_is_no_longer_known_leaves_the_rule_out(service: RunningService) -> None:
    site_id = add_site(service)
    [decision_id] = record(service, site_id, {"rule": "gone", "rule_set_version": "0-ffffffff"})

    found = service.operator.get(f"{DECISIONS}/{decision_id}", params={"siteKey": SITE}).json()

    assert found["ruleCurrent"] is False
    assert "rule" not in found


@pytest.mark.parametrize("decision_id", ["dec_0000000000000", "dec_zzzzzzzzzzzzz", "dec_7zzzzzzzzzzzz", "nonsense"])
def test_an_unknown_decision_is_not_found(service: RunningService, decision_id: str) -> None:
    add_site(service)

    reply = service.operator.get(f"{DECISIONS}/{decision_id}", params={"siteKey": SITE})

    assert refusal(reply) == (404, "not_found")


def test_another_sites_decision_responds_like_an_unknown_one(service: RunningService) -> None:
    site_id = add_site(service)
    add_site(service, OTHER)
    [decision_id] = record(service, site_id, {})

    foreign = service.operator.get(f"{DECISIONS}/{decision_id}", params={"siteKey": OTHER})
    unknown = service.operator.get(f"{DECISIONS}/dec_0000000000000", params={"siteKey": OTHER})

    assert refusal(foreign) == (404, "not_found")
    assert foreign.content == unknown.content
    assert service.operator.get(DECISIONS, params={"siteKey": OTHER}).json()["items"] == []
