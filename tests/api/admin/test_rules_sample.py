"""Explaining a sample request: what the service sees in it, and which rules it meets."""

from typing import Any

import pytest

from tests.api.admin.operating import refusal
from tests.support.service import RunningService

SITE = "/v1/admin/sites/site_shop"
TEST = f"{SITE}/rules/test"
CURL = {
    "method": "POST",
    "url": "https://shop.example/login?next=/",
    "headers": {"User-Agent": "curl/8.5.0", "Accept": "*/*"},
    "address": "198.51.100.7",
}
SET = {
    "version": "7",
    "rules": [
        {"name": "watch", "match": {}, "action": "count"},
        {"name": "libraries", "match": {"all_labels": ["ua.http_library"]}, "action": "drop", "routes": ["login"]},
    ],
    "default_action": "allow",
}


@pytest.fixture(autouse=True)
def site(service: RunningService) -> None:
    route = {"method": "POST", "path": "/login", "action": "login"}
    body = {
        "name": "Shop",
        "siteKey": "site_shop",
        "actions": {"login": {"browserRequired": True}},
        "routes": [route],
    }
    assert service.operator.post("/v1/admin/sites", json=body).status_code == 201


def test_a_sample_is_explained_by_the_rules_active(service: RunningService) -> None:
    reply = service.operator.post(TEST, json={"request": CURL})

    assert reply.status_code == 200, reply.text
    report = reply.json()
    assert "ua.http_library" in report["labels"]
    assert (report["route"], report["action"]) == ("/login", "login")
    assert (report["outcome"], report["rule"]) == ("challenge", "automation-http-library")
    assert report["trace"][-1]["rule"] == "automation-http-library"
    assert report["trace"][0] == {"rule": "list-block", "matched": False, "because": "list.block is missing"}


def test_a_sample_is_explained_by_a_draft(service: RunningService) -> None:
    report = service.operator.post(TEST, json={"request": CURL, "ruleSet": SET}).json()

    assert (report["outcome"], report["rule"]) == ("drop", "libraries")
    assert [(step["rule"], step["matched"]) for step in report["trace"]] == [("watch", True), ("libraries", True)]


def test_overrides_alone_are_tried_on_the_sites_own_set(service: RunningService) -> None:
    assert service.operator.put(f"{SITE}/rules", json={"ruleSet": SET}).status_code == 200

    report = service.operator.post(TEST, json={"request": CURL, "overrides": {"libraries": "block"}}).json()
    unknown = service.operator.post(TEST, json={"request": CURL, "overrides": {"list-block": "drop"}})

    assert (report["outcome"], report["rule"]) == ("block", "libraries")
    assert unknown.status_code == 422


@pytest.mark.parametrize(
    "changes",
    [
        {"method": "get"},
        {"method": ""},
        {"url": "/login"},
        {"url": "https://shop.example/\n"},
        {"headers": []},
        {"headers": {"a": 1}},
        {"headers": {f"h{number}": "" for number in range(65)}},
        {"address": ""},
    ],
)
def test_a_malformed_sample_is_rejected(service: RunningService, changes: dict[str, Any]) -> None:
    reply = service.operator.post(TEST, json={"request": {**CURL, **changes}})

    assert refusal(reply) == (400, "invalid_request")


def test_a_sample_leaves_no_trace(service: RunningService) -> None:
    before = service.operator.get(SITE).json()

    service.operator.post(TEST, json={"request": CURL, "ruleSet": SET})

    assert service.operator.get(SITE).json() == before
