"""Saving rules with `guard`: unknown conditions, and rules that would block many more requests than before."""

import socket
from pathlib import Path
from typing import Any

import pytest
import structlog

from agentgate.events.decision_ids import first_id
from agentgate.events.records import Event
from agentgate.lib.clock import DAY_MS, HOUR_MS
from agentgate.lib.enums import DecisionKind, Mode, Outcome
from agentgate.lib.settings.schema import read_settings
from tests.support.service import ADMIN_KEY, NOON_MS, RunningService, running_service

RULES = "/v1/admin/sites/site_shop/rules"
TOR = {"name": "tor", "match": {"all_labels": ["net.tor"]}, "action": "block", "note": "kept"}


@pytest.fixture(autouse=True)
def site(service: RunningService) -> dict[str, Any]:
    return service.operator.post("/v1/admin/sites", json={"name": "Shop", "siteKey": "site_shop"}).json()


def replace(service: RunningService, **body: Any) -> Any:
    return service.operator.put(RULES, json=body)


def refusal(reply: Any) -> tuple[int, str]:
    return reply.status_code, reply.json()["error"]


def flood(service: RunningService, site: dict[str, Any], *, tor: int, others: int, age_ms: int = HOUR_MS) -> None:
    """Store requests that the server's rules allow, by browsers: some of Tor, some of other networks."""
    number = service.run(service.application.stores.store.read.sites.find_number(site["id"]))
    first = first_id(NOON_MS - age_ms)
    events = [
        Event(
            id=first + each,
            site=number,
            visitor=1,
            kind=DecisionKind.REQUEST,
            mode=Mode.ENFORCE,
            outcome=Outcome.ALLOW,
            method="GET",
            route="*",
            status=204,
            duration_us=20,
            labels=("net.tor",) if each < tor else ("net.country.de",),
        )
        for each in range(tor + others)
    ]
    service.run(service.application.stores.events.write(events))


OPEN: dict[str, Any] = {"version": "1", "rules": [], "default_action": "allow"}
BLOCK_TOR = {**OPEN, "version": "2", "rules": [TOR]}


@pytest.mark.parametrize(
    ("tor", "others", "is_asked"),
    [(10, 190, False), (11, 189, True), (11, 188, False), (200, 0, True), (0, 200, False)],
)
def test_rules_that_would_newly_reject_more_than_five_percent_are_queried_about(
    service: RunningService, site: dict[str, Any], tor: int, others: int, is_asked: bool
) -> None:
    assert replace(service, ruleSet=OPEN).status_code == 200
    flood(service, site, tor=tor, others=others)

    reply = replace(service, ruleSet=BLOCK_TOR, revision=1, guard=True)

    if not is_asked:
        assert (reply.status_code, reply.json()["revision"]) == (200, 2)
        return
    assert refusal(reply) == (409, "confirmation_required")
    found = reply.json()
    assert (found["evaluated"], found["allowed"], found["newlyRefused"]) == (tor + others, tor + others, tor)
    assert f"{tor} of {tor + others} requests of the last 24 hours" in found["message"]
    assert service.operator.get(RULES).json()["revision"] == 1
    assert replace(service, ruleSet=BLOCK_TOR, revision=1, guard=True, acknowledge=True).json()["revision"] == 2


def test_without_guard_rules_are_saved_unchanged(service: RunningService, site: dict[str, Any]) -> None:
    assert replace(service, ruleSet=OPEN).status_code == 200
    flood(service, site, tor=300, others=0)

    assert replace(service, ruleSet=BLOCK_TOR, revision=1).status_code == 200


def test_what_the_present_rules_reject_already_and_what_is_older_than_a_day_does_not_count(
    service: RunningService, site: dict[str, Any]
) -> None:
    assert replace(service, ruleSet=BLOCK_TOR).status_code == 200
    flood(service, site, tor=200, others=100)
    flood(service, site, tor=0, others=300, age_ms=2 * DAY_MS)
    stricter = {**BLOCK_TOR, "version": "3", "rules": [{**BLOCK_TOR["rules"][0], "action": "drop"}]}

    assert replace(service, ruleSet=stricter, revision=1, guard=True).status_code == 200
    refused = replace(service, ruleSet={**OPEN, "default_action": "challenge"}, revision=2, guard=True)
    assert (refused.json()["evaluated"], refused.json()["allowed"], refused.json()["newlyRefused"]) == (300, 100, 100)


def test_a_default_that_rejects_is_queried_about_though_a_path_is_allowed(
    service: RunningService, site: dict[str, Any]
) -> None:
    assert replace(service, ruleSet=OPEN).status_code == 200
    flood(service, site, tor=0, others=200)
    hooks = {"name": "hooks", "match": {"paths": ["/hooks/*"]}, "action": "allow"}

    reply = replace(
        service, ruleSet={"version": "2", "rules": [hooks], "default_action": "block"}, revision=1, guard=True
    )

    assert refusal(reply) == (409, "confirmation_required")
    closed = {"name": "admin", "match": {"paths": ["/admin/*"]}, "action": "block"}
    assert replace(service, ruleSet={**OPEN, "rules": [closed]}, revision=1, guard=True).status_code == 200


@pytest.mark.parametrize("match", [{"paths": ["*"]}, {"paths": ["/*"]}, {"user_agents": ["*"]}, {"not_hosts": ["x"]}])
def test_a_glob_that_fits_every_request_is_queried_about(
    service: RunningService, site: dict[str, Any], match: dict[str, Any]
) -> None:
    assert replace(service, ruleSet=OPEN).status_code == 200
    flood(service, site, tor=0, others=200)
    everything = {"name": "all", "match": match, "action": "block"}

    reply = replace(service, ruleSet={**OPEN, "rules": [everything]}, revision=1, guard=True)

    assert refusal(reply) == (409, "confirmation_required")


UNKNOWN = [("all_label", "all_labels"), ("cookies", None), ("rate", None), ("pathes", "paths")]


@pytest.mark.parametrize(("key", "nearest"), UNKNOWN)
def test_an_unknown_condition_is_a_warning_and_its_rule_matches_nothing(
    service: RunningService, key: str, nearest: str | None
) -> None:
    bad = {"name": "old", "match": {key: ["ua.old"]}, "action": "block"}
    rules = {"version": "1", "rules": [bad], "default_action": "allow"}

    checked = service.operator.post(f"{RULES}/validate", json={"ruleSet": rules}).json()
    asked = replace(service, ruleSet=rules, guard=True)
    saved = replace(service, ruleSet=rules)

    assert (checked["valid"], len(checked["warnings"])) == (True, 1)
    message = checked["warnings"][0]["message"]
    assert message.startswith(
        f"{key} is not a condition, so the rule old matches nothing. Did you mean {nearest or ''}"
    )
    assert refusal(asked) == (409, "confirmation_required")
    assert asked.json()["warnings"] == saved.json()["warnings"] == checked["warnings"]
    assert service.operator.get(RULES).json()["warnings"] == checked["warnings"]
    request = {"method": "GET", "url": "https://shop.example/", "headers": {}, "address": "203.0.113.9"}
    tested = service.operator.post(f"{RULES}/test", json={"request": request}).json()
    assert tested["outcome"] == "allow"
    assert tested["trace"] == [{"rule": "old", "matched": False, "because": f"{key} is not a condition"}]


@pytest.mark.parametrize(
    ("key", "nearest"),
    [("route", "routes"), ("scopeDown", "scope_down"), ("matches", "match"), ("paths", "paths in match")],
)
def test_a_key_that_was_meant_to_limit_a_rule_and_is_ignored_is_a_warning(
    service: RunningService, key: str, nearest: str
) -> None:
    wide = {"name": "wide", "match": {}, "action": "block", key: ["/admin"], "notes": "kept", "description": "kept"}
    draft = {**OPEN, "rules": [wide]}

    [warning] = service.operator.post(f"{RULES}/validate", json={"ruleSet": draft}).json()["warnings"]
    reply = replace(service, ruleSet=draft, guard=True)

    assert (warning["kind"], warning["rule"]) == ("unknown_key", "wide")
    assert warning["message"] == f"{key} is ignored and does not limit the rule wide. Did you mean {nearest}?"
    assert refusal(reply) == (409, "confirmation_required")
    assert warning["message"] in reply.json()["message"]


def test_an_unknown_condition_of_a_scope_down_closes_its_group(service: RunningService) -> None:
    group = {"group": "automation", "version": 5, "scope_down": {"country": ["de"]}}
    rules = {"version": "1", "rules": [group], "default_action": "allow"}

    warnings = replace(service, ruleSet=rules).json()["warnings"]

    assert [each["message"] for each in warnings] == [
        "country is not a condition, so the group automation matches nothing. Did you mean countries?"
    ]


def test_known_conditions_and_extra_keys_of_a_rule_are_not_a_warning(service: RunningService) -> None:
    assert replace(service, ruleSet={**OPEN, "rules": [TOR], "owner": "me"}, guard=True).json()["warnings"] == []


def test_a_stored_rule_with_an_unknown_condition_is_logged_with_its_site(service: RunningService) -> None:
    bad = {"name": "old", "match": {"all_label": ["ua.old"]}, "action": "block"}
    assert replace(service, ruleSet={**OPEN, "rules": [bad, TOR]}).status_code == 200
    job = next(each for each in service.application.sites.jobs if each.name == "check-stored-rules")

    with structlog.testing.capture_logs() as logs:
        service.run(job.work())

    assert [(each["log_level"], each["site"]) for each in logs] == [("warning", "site_shop")]
    assert "the rule old matches nothing. Did you mean all_labels?" in logs[0]["why"]


def test_while_events_are_unavailable_rules_are_saved_only_if_acknowledged(tmp_path: Path) -> None:
    with socket.socket() as closed:
        # Bound but not listening: every connection fails.
        closed.bind(("127.0.0.1", 0))
        environ = {
            "AGENTGATE_DATA_DIR": str(tmp_path / "data"),
            "AGENTGATE_PUBLIC_LISTEN": "127.0.0.1:0",
            "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
            "AGENTGATE_ADMIN_KEY": ADMIN_KEY,
            "AGENTGATE_DRAIN_SECONDS": "0",
            "AGENTGATE_EVENTS_URL": f"clickhouse://gate:x@127.0.0.1:{closed.getsockname()[1]}/gate",
        }
        with running_service(read_settings(environ)) as service:
            service.operator.post("/v1/admin/sites", json={"name": "Shop", "siteKey": "site_shop"})

            asked = replace(service, ruleSet=BLOCK_TOR, guard=True)
            tried = replace(service, ruleSet=BLOCK_TOR, maxHumanFlips=0)
            saved = replace(service, ruleSet=BLOCK_TOR, guard=True, acknowledge=True)

    assert refusal(asked) == (409, "confirmation_required")
    assert "Stored requests are unavailable" in asked.json()["message"]
    assert refusal(tried) == (409, "backtest_refused")
    assert (saved.status_code, saved.json()["revision"]) == (200, 1)


def test_names_of_network_lists_that_the_site_does_not_have_are_queried_about(service: RunningService) -> None:
    rule = {"name": "drop", "match": {"network_lists": ["spamhaus", "offices"]}, "action": "block"}
    rules = {**OPEN, "rules": [rule]}
    lists = RULES.replace("rules", "network-lists")
    assert service.operator.put(f"{lists}/offices", json={"source": "own"}).status_code == 200

    refused = replace(service, ruleSet=rules, guard=True)
    assert refusal(refused) == (409, "confirmation_required")
    [warning] = refused.json()["warnings"]
    assert (warning["kind"], warning["rule"]) == ("unknown_list", "drop")
    assert warning["message"] == "The rule drop names spamhaus, which is not a network list of the site."
    found = service.operator.post(f"{RULES}/validate", json={"ruleSet": rules}).json()
    assert [each["kind"] for each in found["lints"] if each["kind"] == "unknown_list"] == ["unknown_list"]
    assert replace(service, ruleSet=rules, guard=True, acknowledge=True).status_code == 200
    assert [each["kind"] for each in service.operator.get(RULES).json()["warnings"]] == ["unknown_list"]

    assert service.operator.put(f"{lists}/spamhaus", json={"source": "own"}).status_code == 200
    assert service.operator.get(RULES).json()["warnings"] == []
