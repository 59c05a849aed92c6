"""Webhooks in the console: made, listed, changed, given another secret, tested, deleted; by whom, and of which site."""

import re
from typing import Any

import pytest

from tests.api.console.steps import CONSOLE, at_once, refusal, told, trail
from tests.support.cast import Cast
from tests.support.service import RunningService

SITES = f"{CONSOLE}/sites"
HOOK = {"url": "https://hooks.invalid/gate", "events": ["decisions"]}
MALFORMED: tuple[dict[str, Any], ...] = (
    {"url": "http://example.com/"},
    {"url": "https://127.0.0.1/"},
    {"url": "https://[::ffff:10.0.0.1]/"},
    {"url": "https://169.254.169.254/latest/"},
    {"url": "https://user:pass@example.com/"},
    {"url": "ftp://example.com/"},
    {"url": "https://" + "a" * 2100},
    {"url": ""},
    {"url": None},
    {"events": []},
    {"events": ["visitors"]},
    {"format": "xml"},
    {"filter": {"outcomes": ["maybe"]}},
    {"filter": {"routes": ["/"]}},
    {"filter": None},
    {"enabled": "yes"},
    {"name": "Mine"},
)
SET_BY_SERVER = ("id", "siteKey", "status", "createdAt", "lastDeliveryAt", "lastError", "secret")


@pytest.fixture
def site_key(people: Cast) -> str:
    """The key of a site of Acme's."""
    key: str = people.alice.post(SITES, json={"name": "Shop"}).json()["siteKey"]
    return key


@pytest.fixture
def path(site_key: str) -> str:
    """Return the path of the site's webhooks."""
    return f"{SITES}/{site_key}/webhooks"


def create(people: Cast, path: str, **changes: Any) -> dict[str, Any]:
    reply = people.bob.post(path, json={**HOOK, **changes})
    assert reply.status_code == 201, reply.text
    return reply.json()


def test_a_webhook_is_made_with_a_secret_that_is_shown_once(people: Cast, path: str, site_key: str) -> None:
    made = create(people, path, events=["health", "decisions"], format="ndjson")

    webhook = made["webhook"]
    assert re.fullmatch(r"whk_[0-9a-f]{16}", webhook["id"])
    assert re.fullmatch(r"whsec_[A-Za-z0-9+/]{43}=", made["secret"])
    assert {**webhook, "id": "", "createdAt": ""} == {
        "id": "",
        "siteKey": site_key,
        "url": HOOK["url"],
        "events": ["decisions", "health"],
        "format": "ndjson",
        "enabled": True,
        "status": "ok",
        "createdAt": "",
    }
    listed = people.rita.get(path)
    assert listed.json() == {"items": [webhook]}
    assert made["secret"] not in listed.text
    assert [told(event) for event in trail(people, "webhook")] == [
        (
            "bob@acme.example",
            "webhook.create",
            webhook["id"],
            {"url": HOOK["url"], "events": ["decisions", "health"]},
        )
    ]


def test_the_entries_are_in_the_trail_of_the_site_too(people: Cast, path: str, site_key: str) -> None:
    create(people, path)

    assert people.rita.get(f"{SITES}/{site_key}/changes").json()["items"][0]["kind"] == "webhook.create"


def test_a_webhook_is_changed(people: Cast, path: str) -> None:
    webhook_id = create(people, path)["webhook"]["id"]
    changes = {"url": "https://other.invalid/", "filter": {"outcomes": ["block", "drop", "block"], "kinds": []}}

    changed = people.bob.patch(f"{path}/{webhook_id}", json={**changes, "enabled": False})

    assert changed.status_code == 200
    shown = changed.json()
    assert (shown["url"], shown["filter"]) == ("https://other.invalid/", {"outcomes": ["block", "drop"]})
    assert (shown["enabled"], shown["status"]) == (False, "paused")
    assert people.rita.get(path).json()["items"] == [shown]
    assert trail(people, "webhook.update")[0]["detail"] == {
        "url": {"from": HOOK["url"], "to": "https://other.invalid/"},
        "filter": {"from": None, "to": {"outcomes": ["block", "drop"]}},
        "enabled": {"from": True, "to": False},
    }
    without = people.bob.patch(f"{path}/{webhook_id}", json={"filter": {}}).json()
    assert "filter" not in without


def test_a_change_that_changes_nothing_leaves_no_entry(people: Cast, path: str) -> None:
    made = create(people, path)["webhook"]

    assert people.bob.patch(f"{path}/{made['id']}", json={**HOOK, "enabled": True}).json() == made
    assert trail(people, "webhook.update") == []


def test_a_secret_is_replaced(people: Cast, path: str) -> None:
    made = create(people, path)

    rotated = people.bob.post(f"{path}/{made['webhook']['id']}/rotate")

    assert rotated.status_code == 201
    assert rotated.json()["webhook"] == made["webhook"]
    assert rotated.json()["secret"] not in {made["secret"], ""}
    assert trail(people, "webhook.rotate")[0]["detail"] == {"overlapEndsAt": "2026-11-16T12:00:00.000Z"}


def test_a_webhook_is_deleted_with_its_deliveries(service: RunningService, people: Cast, path: str) -> None:
    webhook_id = create(people, path)["webhook"]["id"]
    assert people.bob.post(f"{path}/{webhook_id}/test").status_code == 200

    assert people.bob.delete(f"{path}/{webhook_id}").status_code == 204

    assert people.rita.get(path).json() == {"items": []}
    assert refusal(people.rita.get(f"{path}/{webhook_id}/deliveries")) == (404, "not_found")
    assert service.run(service.application.stores.store.read.webhooks.list_deliveries(webhook_id, 1)) == []
    assert trail(people, "webhook.delete")[0]["detail"] == {"url": HOOK["url"]}


def test_a_test_shows_how_it_went_and_is_listed(people: Cast, path: str) -> None:
    webhook_id = create(people, path, enabled=False)["webhook"]["id"]

    tested = people.bob.post(f"{path}/{webhook_id}/test")

    assert tested.status_code == 200
    result = tested.json()
    assert (result["type"], result["delivered"], result["attempts"], result["items"]) == ("test", False, 1, 1)
    assert result["error"] == "the name does not resolve to a public address"
    assert people.rita.get(f"{path}/{webhook_id}/deliveries").json() == {"items": [result]}


def test_tests_are_limited(people: Cast, path: str) -> None:
    webhook_id = create(people, path)["webhook"]["id"]

    statuses = [people.bob.post(f"{path}/{webhook_id}/test").status_code for _ in range(11)]

    assert statuses == [200] * 10 + [429]


def test_a_malformed_webhook_is_rejected_when_made_and_when_changed(people: Cast, path: str) -> None:
    webhook = create(people, path)["webhook"]

    for changes in MALFORMED:
        assert refusal(people.bob.post(path, json={**HOOK, **changes})) == (400, "invalid_request"), changes
        changed = people.bob.patch(f"{path}/{webhook['id']}", json=changes)
        assert refusal(changed) == (400, "invalid_request"), changes

    assert people.rita.get(path).json()["items"] == [webhook]


def test_what_the_server_sets_is_rejected(people: Cast, path: str) -> None:
    for field in SET_BY_SERVER:
        assert refusal(people.bob.post(path, json={**HOOK, field: "x"})) == (400, "forbidden_field"), field


def test_a_site_has_at_most_five(service: RunningService, people: Cast, path: str) -> None:
    statuses = at_once(service, people.bob, lambda client, _: client.post(path, json=HOOK))

    assert statuses == [201] * 5 + [409] * 59
    refused = people.bob.post(path, json=HOOK)
    assert refusal(refused) == (409, "invalid_state")
    assert "delete one" in refused.json()["message"]


def test_who_may_only_read_cannot_change_anything(people: Cast, path: str) -> None:
    webhook_id = create(people, path)["webhook"]["id"]

    replies = [
        people.rita.post(path, json=HOOK),
        people.rita.patch(f"{path}/{webhook_id}", json={"enabled": False}),
        people.rita.delete(f"{path}/{webhook_id}"),
        people.rita.post(f"{path}/{webhook_id}/rotate"),
        people.rita.post(f"{path}/{webhook_id}/test"),
    ]

    assert [refusal(reply) for reply in replies] == [(403, "forbidden")] * 5
    assert people.rita.get(path).json()["items"][0]["enabled"] is True


def test_a_webhook_of_another_site_or_account_responds_like_an_unknown_one(people: Cast, path: str) -> None:
    webhook_id = create(people, path)["webhook"]["id"]
    other = people.alice.post(SITES, json={"name": "Other"}).json()["siteKey"]
    foreign = people.carol.post(SITES, json={"name": "Foreign"}).json()["siteKey"]

    for client, site in ((people.alice, other), (people.carol, foreign)):
        there = f"{SITES}/{site}/webhooks"
        for method, step in (
            ("PATCH", ""),
            ("DELETE", ""),
            ("POST", "/rotate"),
            ("POST", "/test"),
            ("GET", "/deliveries"),
        ):
            body = {"json": {"enabled": False}} if method == "PATCH" else {}
            known = client.request(method, f"{there}/{webhook_id}{step}", **body)
            unknown = client.request(method, f"{there}/whk_0000000000000000{step}", **body)
            assert refusal(known) == (404, "not_found")
            assert known.content == unknown.content
    assert refusal(people.carol.get(path)) == (404, "site_not_found")
    assert people.rita.get(path).json()["items"][0]["enabled"] is True
