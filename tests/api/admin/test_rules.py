"""Rules over the admin API: read, replace with revisions, validate, and try out on stored decisions."""

from typing import Any

import pytest

from agentgate.events.decision_ids import first_id, write_id
from agentgate.events.records import Event
from agentgate.lib.clock import DAY_MS, HOUR_MS
from agentgate.lib.enums import DecisionKind, Mode, Outcome
from agentgate.lib.moment import Moment
from agentgate.sites.rules.effective import effective_of
from tests.api.console.steps import run_sql
from tests.support.service import NOON_MS, RunningService

SITE = "/v1/admin/sites/site_shop"
RULES = f"{SITE}/rules"
TOR = {"name": "tor", "match": {"all_labels": ["net.tor"]}, "action": "block", "note": "kept"}
SET = {"version": "7", "rules": [TOR], "default_action": "allow", "owner": "security"}
TEXT = """version: '7'
rules:
  - name: tor
    match: {all_labels: [net.tor]}
    action: block
default_action: allow
"""


@pytest.fixture(autouse=True)
def site(service: RunningService) -> dict[str, Any]:
    return service.operator.post("/v1/admin/sites", json={"name": "Shop", "siteKey": "site_shop"}).json()


def replace(service: RunningService, **body: Any) -> Any:
    return service.operator.put(RULES, json=body)


def refusal(reply: Any) -> tuple[int, str]:
    return reply.status_code, reply.json()["error"]


def changes(service: RunningService) -> list[dict[str, Any]]:
    items = service.operator.get(f"{SITE}/changes").json()["items"]
    return [item["detail"] for item in items if item["kind"] == "rules.update"]


def test_a_new_site_follows_the_servers_rules(service: RunningService) -> None:
    view = service.operator.get(RULES).json()

    assert (view["siteKey"], view["source"], view["revision"], view["overrides"]) == ("site_shop", "server", 0, {})
    assert view["serverVersion"] == view["ruleSet"]["version"]
    assert view["effective"]["version"] == effective_of(None).version
    assert "updatedAt" not in view
    assert service.operator.get(SITE).json()["rules"]["effectiveVersion"] == effective_of(None).version


def test_its_own_set_is_stored_as_it_was_sent(service: RunningService) -> None:
    reply = replace(service, ruleSet=SET, overrides={"tor": "drop"})

    view = reply.json()
    assert reply.status_code == 200, reply.text
    assert (view["source"], view["revision"], view["ruleSet"]) == ("site", 1, SET)
    assert view["effective"]["rules"] == [{**TOR, "action": "drop"}]
    assert (view["updatedAt"], view["updatedBy"]) == (Moment(NOON_MS).text(), "operator")
    assert service.operator.get(RULES).json() == view
    assert service.operator.get(SITE).json()["rules"] == {
        "source": "site",
        "effectiveVersion": view["effective"]["version"],
        "overrides": 1,
        "revision": 1,
    }


def test_text_and_value_say_the_same(service: RunningService) -> None:
    view = replace(service, ruleSetText=TEXT).json()

    assert view["ruleSet"] == {
        "version": "7",
        "rules": [{"name": "tor", "match": {"all_labels": ["net.tor"]}, "action": "block"}],
        "default_action": "allow",
    }


def test_neither_text_nor_value_follows_the_server_again(service: RunningService) -> None:
    replace(service, ruleSet=SET)

    view = replace(service, revision=1, ruleSet=None, overrides={"list-block": "drop"}).json()

    assert (view["source"], view["revision"], view["overrides"]) == ("server", 2, {"list-block": "drop"})
    assert view["ruleSet"]["version"] == view["serverVersion"]
    assert view["effective"]["rules"][0]["action"] == "drop"


def test_a_stale_revision_changes_nothing(service: RunningService) -> None:
    replace(service, ruleSet=SET)
    before = service.operator.get(RULES).json()

    for revision in ({}, {"revision": 0}, {"revision": 2}, {"revision": 2**31 - 1}):
        assert refusal(replace(service, ruleSet={**SET, "version": "8"}, **revision)) == (409, "revision_conflict")

    assert service.operator.get(RULES).json() == before
    assert len(changes(service)) == 1


def test_invalid_rules_get_every_problem_and_change_nothing(service: RunningService) -> None:
    text = TEXT.replace("block", "deny").replace("default_action: allow", "default_action: count")

    reply = replace(service, ruleSetText=text, overrides={"none": "allow"})

    assert reply.status_code == 422
    assert reply.json()["valid"] is False
    assert [(each.get("line"), each.get("column"), each.get("rule")) for each in reply.json()["errors"]] == [
        (6, 17, None),
        (5, 13, "tor"),
        (None, None, "none"),
    ]
    assert service.operator.get(RULES).json()["revision"] == 0
    assert changes(service) == []


@pytest.mark.parametrize(
    "body",
    [
        {"ruleSet": SET, "ruleSetText": TEXT},
        {"ruleSet": []},
        {"ruleSet": "x"},
        {"ruleSetText": 3},
        {"overrides": []},
        {"overrides": {"tor": None}},
        {"revision": "1"},
        {"maxHumanFlips": -1},
        {"rules": []},
    ],
)
def test_a_malformed_body_is_rejected(service: RunningService, body: dict[str, Any]) -> None:
    assert refusal(replace(service, **body)) == (400, "invalid_request")


def test_a_change_is_reported_with_a_diff(service: RunningService) -> None:
    one = replace(service, ruleSet=SET).json()
    other = {**TOR, "name": "vpn"}
    changed = {**SET, "rules": [{**TOR, "action": "drop"}, other], "default_action": "challenge"}
    two = replace(service, ruleSet=changed, overrides={"vpn": "count"}, revision=1).json()

    newest, first = changes(service)
    assert newest == {
        "revision": {"from": 1, "to": 2},
        "effectiveVersion": {"from": one["effective"]["version"], "to": two["effective"]["version"]},
        "added": ["vpn"],
        "removed": [],
        "changed": ["tor"],
        "overrides": {"vpn": {"from": None, "to": "count"}},
        "defaultAction": {"from": "allow", "to": "challenge"},
    }
    assert first["source"] == {"from": "server", "to": "site"}
    assert (first["added"], "automation" in first["removed"]) == (["tor"], True)


def test_rules_of_an_earlier_version_are_read_to_restore_them(service: RunningService) -> None:
    server = service.operator.get(RULES).json()
    one = replace(service, ruleSet=SET).json()
    replace(service, ruleSet={**SET, "default_action": "challenge"}, revision=1)

    found = service.operator.get(RULES, params={"version": one["effective"]["version"]}).json()

    assert (found["ruleSet"], found["revision"]) == (one["ruleSet"], 1)
    before = service.operator.get(RULES, params={"version": server["effective"]["version"]}).json()
    assert (before["source"], before["ruleSet"]) == ("server", server["ruleSet"])
    assert refusal(service.operator.get(RULES, params={"version": "never"})) == (404, "not_found")


def test_a_change_is_word_to_every_worker(service: RunningService) -> None:
    version = service.run(service.application.stores.store.read.configuration.version())

    replace(service, ruleSet=SET)

    assert service.run(service.application.stores.store.read.configuration.version()) == version + 1


def test_validating_stores_nothing_and_tells_lints(service: RunningService) -> None:
    text = TEXT.replace(
        "default_action", "  - {name: two, match: {all_labels: [net.tor]}, action: drop}\ndefault_action"
    )

    result = service.operator.post(f"{RULES}/validate", json={"ruleSetText": text}).json()

    assert (result["valid"], result["errors"]) == (True, [])
    assert result["effective"]["version"].startswith("7-")
    assert result["lints"] == [
        {
            "kind": "shadowed",
            "message": "two is never reached: tor comes first and matches whenever it does.",
            "rule": "two",
            "other": "tor",
            "witness": {"labels": ["net.tor"], "scores": {}, "route": "*"},
            "line": 6,
            "column": 5,
        }
    ]
    assert service.operator.get(RULES).json()["revision"] == 0


def test_validating_what_is_wrong_is_a_response_too(service: RunningService) -> None:
    reply = service.operator.post(f"{RULES}/validate", json={"ruleSetText": "version: *x"})

    assert reply.status_code == 200
    assert (reply.json()["valid"], reply.json()["lints"]) == (False, [])
    assert reply.json()["errors"][0]["column"] == 10


def test_the_managed_groups_are_listed(service: RunningService) -> None:
    items = service.operator.get("/v1/admin/managed-groups").json()["items"]

    assert {item["name"] for item in items} >= {"automation", "rate"}
    rate = next(item for item in items if item["name"] == "rate")
    assert (rate["version"], len(rate["digest"]), rate["rules"][0]["name"]) == (2, 16, "rate-parts-high")


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", ""), ("PUT", ""), ("POST", "/validate"), ("POST", "/backtest")],
)
def test_an_unknown_site_has_no_rules(service: RunningService, method: str, path: str) -> None:
    body = {} if method == "GET" else {"json": {}}
    reply = service.operator.request(method, f"/v1/admin/sites/site_none/rules{path}", **body)

    assert refusal(reply) == (404, "site_not_found")


# ---- Backtests ----


def record(service: RunningService, site: dict[str, Any]) -> list[int]:
    """Store ten decisions of an hour ago that the server's rules allowed, six of them of Tor; return their IDs."""
    number = service.run(service.application.stores.store.read.sites.find_number(site["id"]))
    first = first_id(NOON_MS - HOUR_MS)
    events = [
        Event(
            id=first + each,
            site=number,
            visitor=1,
            kind=DecisionKind.REQUEST,
            mode=Mode.MONITOR,
            outcome=Outcome.ALLOW,
            # Monitor mode let the last two through.
            would=Outcome.CHALLENGE if each >= 8 else None,
            method="GET",
            route="/login",
            action="login",
            status=204,
            duration_us=20,
            labels=("net.tor", "ua.browser") if each % 2 or each == 0 else ("ua.browser",),
            scores={"bot": 0.25},
            # Rules cannot repeat a decision that was made because of a missing token.
            ruled=each != 7,
        )
        for each in range(10)
    ]
    service.run(service.application.stores.events.write(events))
    return [event.id for event in events]


def label(service: RunningService, site: dict[str, Any], decision: int, value: str) -> None:
    run_sql(
        service,
        """INSERT INTO decision_label (site_id, decision, label, source, actor, created_ms, updated_ms, evidence)
            VALUES ($1, $2, $3, 'operator', 'Olga', 0, 0, '{}')""",
        site["id"],
        decision,
        value,
    )


def backtest(service: RunningService, **body: Any) -> Any:
    return service.operator.post(f"{RULES}/backtest", json=body)


def test_a_backtest_shows_what_would_change(service: RunningService, site: dict[str, Any]) -> None:
    ids = record(service, site)
    for decision, value in ((0, "human"), (1, "bot"), (3, "agent"), (5, "unsure"), (2, "human")):
        label(service, site, ids[decision], value)

    report = backtest(service, ruleSet=SET).json()

    assert (report["evaluated"], report["changed"], report["complete"]) == (9, 6, True)
    assert report["flips"] == [
        {
            "from": "allow",
            "to": "block",
            "count": 4,
            "humanLabelled": 1,
            "botLabelled": 2,
            "examples": [write_id(ids[each]) for each in (5, 3, 1, 0)],
        },
        {
            "from": "challenge",
            "to": "allow",
            "count": 1,
            "humanLabelled": 0,
            "botLabelled": 0,
            "examples": [write_id(ids[8])],
        },
        {
            "from": "challenge",
            "to": "block",
            "count": 1,
            "humanLabelled": 0,
            "botLabelled": 0,
            "examples": [write_id(ids[9])],
        },
    ]
    assert report["byRule"] == {"tor": 5, "(default)": 4}
    assert (report["from"], report["to"]) == (Moment(NOON_MS - DAY_MS).text(), Moment(NOON_MS).text())


def test_a_backtest_lists_rates_as_unknown(service: RunningService, site: dict[str, Any]) -> None:
    record(service, site)
    rate = {"by": "visitor", "more_than": 5, "within": 60}

    report = backtest(service, ruleSet={**SET, "rules": [{**TOR, "rate": rate}]}).json()

    assert report["untoldRules"] == {"tor": ["rate"]}
    assert (report["untold"], report["changed"]) == (5, 1)


def test_a_backtest_takes_text_overrides_and_a_range(service: RunningService, site: dict[str, Any]) -> None:
    record(service, site)

    counting = backtest(service, ruleSetText=TEXT, overrides={"tor": "count"}).json()
    before = backtest(service, ruleSetText=TEXT, to=str(NOON_MS - 2 * HOUR_MS)).json()
    route = {**SET, "rules": [{**TOR, "routes": ["login"], "match": {"score": "bot", "min_score": 0.25}}]}

    assert (counting["changed"], counting["counted"]) == (2, {"tor": 5})
    assert before["evaluated"] == 0
    assert backtest(service, ruleSet=route).json()["byRule"] == {"tor": 9}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"from": "yesterday"}, "invalid_range"),
        ({"from": "2026-11-15", "to": "2026-11-14"}, "invalid_range"),
        ({"from": "2026-10-01", "to": "2026-11-15"}, "invalid_range"),
        ({"from": 5}, "invalid_request"),
        ({"ruleSet": SET, "ruleSetText": TEXT}, "invalid_request"),
    ],
)
def test_a_backtest_of_a_wrong_range_or_body_is_rejected(
    service: RunningService, body: dict[str, Any], code: str
) -> None:
    assert refusal(backtest(service, **body)) == (400, code)


def test_a_backtest_of_invalid_rules_gets_their_problems(service: RunningService) -> None:
    reply = backtest(service, ruleSetText="rules: []")

    assert (reply.status_code, reply.json()["valid"]) == (422, False)


def test_a_backtest_sees_no_other_sites_decisions(service: RunningService, site: dict[str, Any]) -> None:
    record(service, site)
    service.operator.post("/v1/admin/sites", json={"name": "Other", "siteKey": "site_other"})

    reply = service.operator.post("/v1/admin/sites/site_other/rules/backtest", json={"ruleSet": SET})

    assert reply.json()["evaluated"] == 0


def test_rules_that_would_turn_too_many_people_away_are_blocked(service: RunningService, site: dict[str, Any]) -> None:
    ids = record(service, site)
    for decision in (0, 1):
        label(service, site, ids[decision], "human")

    refused = replace(service, ruleSet=SET, maxHumanFlips=1)
    stale = replace(service, ruleSet=SET, maxHumanFlips=1, revision=3)
    stored = replace(service, ruleSet=SET, maxHumanFlips=2)

    assert refusal(refused) == (409, "backtest_refused")
    assert "2 decisions labeled human" in refused.json()["message"]
    assert refusal(stale) == (409, "revision_conflict")
    assert (stored.status_code, stored.json()["revision"]) == (200, 1)
