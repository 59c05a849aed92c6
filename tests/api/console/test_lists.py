"""Lists in the console: permissions to read and change them, rejected input, audit entries, and backtests."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from agentgate.lib.clock import DAY_MS, HOUR_MS, MINUTE_MS
from agentgate.lib.enums import Mode, Outcome
from agentgate.lib.ids import write_visitor
from agentgate.lib.keyring import load_keys, rotate_key
from agentgate.lib.limits import LIST_ENTRIES_PER_SITE
from agentgate.lib.moment import Moment
from agentgate.sites.lists import endpoints
from tests.api.console.steps import CONSOLE, at_once, refusal, told, trail
from tests.api.traffic_steps import record
from tests.support.cast import Cast
from tests.support.service import NOON_MS, RunningService

SITES = f"{CONSOLE}/sites"
ENTRY = {"kind": "address", "value": "203.0.113.7", "outcome": "block"}


@pytest.fixture
def site_key(people: Cast) -> str:
    """The key of a site of Acme's."""
    key: str = people.alice.post(SITES, json={"name": "Shop"}).json()["siteKey"]
    return key


@pytest.fixture
def path(site_key: str) -> str:
    return f"{SITES}/{site_key}/list-entries"


def test_an_entry_is_added_listed_and_removed_and_the_trail_shows_it(people: Cast, path: str, site_key: str) -> None:
    end = Moment(NOON_MS + DAY_MS).text()
    made = people.bob.post(path, json={**ENTRY, "note": "ticket  17\n", "expiresAt": end})

    assert made.status_code == 201, made.text
    entry = made.json()
    assert (entry["note"], entry["expiresAt"], entry["expired"]) == ("ticket 17", end, False)
    assert people.rita.get(path).json() == {"items": [entry]}
    detail = {"id": entry["id"], **ENTRY, "note": "ticket 17", "expiresAt": end}
    assert told(trail(people, "list.add")[0]) == (entry["createdBy"], "list.add", site_key, detail)
    assert people.bob.delete(f"{path}/{entry['id']}").status_code == 204
    assert trail(people, "list.remove")[0]["detail"] == detail
    assert refusal(people.bob.delete(f"{path}/{entry['id']}")) == (404, "not_found")
    assert people.rita.get(path).json() == {"items": []}


def test_an_entry_is_edited_and_the_trail_shows_what_changed(
    service: RunningService, people: Cast, path: str, site_key: str
) -> None:
    end = Moment(NOON_MS + DAY_MS).text()
    made = people.bob.post(path, json={**ENTRY, "note": "ticket 17", "expiresAt": end}).json()
    at = f"{path}/{made['id']}"

    changed = people.bob.put(at, json={"outcome": "allow", "note": " ticket  18"})

    assert changed.status_code == 200, changed.text
    wanted = {**made, "outcome": "allow", "note": "ticket 18"}
    del wanted["expiresAt"]
    assert changed.json() == wanted
    assert people.rita.get(path).json() == {"items": [wanted]}
    told_changes = {
        "outcome": {"from": "block", "to": "allow"},
        "note": {"from": "ticket 17", "to": "ticket 18"},
        "expiresAt": {"from": end, "to": None},
    }
    detail = {"id": made["id"], "value": "203.0.113.7", **told_changes}
    assert told(trail(people, "list.update")[0]) == (made["createdBy"], "list.update", site_key, detail)
    # Saving the same again leaves no entry.
    assert people.bob.put(at, json={"outcome": "allow", "note": "ticket 18"}).json() == wanted
    assert len(trail(people, "list.update")) == 1

    for changes in ({"value": "203.0.113.8"}, {"kind": "network"}, {"expiresAt": "2020-01-01T00:00:00Z"}):
        assert people.bob.put(at, json={"outcome": "allow", **changes}).status_code == 400, changes
    assert refusal(people.rita.put(at, json={"outcome": "block"})) == (403, "forbidden")
    assert people.carol.put(at, json={"outcome": "block"}).status_code == 404
    assert refusal(people.bob.put(f"{path}/lst_0000000000000000", json={"outcome": "block"})) == (404, "not_found")

    soon = Moment(service.clock.now_ms() + MINUTE_MS).text()
    people.bob.put(at, json={"outcome": "allow", "expiresAt": soon})
    service.clock.advance(seconds=61)
    assert refusal(people.bob.put(at, json={"outcome": "allow"})) == (409, "invalid_state")


def test_who_only_reads_and_who_is_of_another_account_changes_nothing(people: Cast, path: str) -> None:
    entry = people.bob.post(path, json=ENTRY).json()["id"]

    assert refusal(people.rita.post(path, json={**ENTRY, "value": "203.0.113.8"})) == (403, "forbidden")
    assert refusal(people.rita.delete(f"{path}/{entry}")) == (403, "forbidden")
    assert people.carol.get(path).status_code == 404
    assert people.carol.delete(f"{path}/{entry}").status_code == 404


VALUES = (
    ("address", "2001:DB8:0::7", "2001:db8::7"),
    ("address", "::ffff:203.0.113.7", "203.0.113.7"),
    ("network", "203.0.113.0/24", "203.0.113.0/24"),
    ("network", "2001:DB8::/32", "2001:db8::/32"),
    ("network", "203.0.113.7", "203.0.113.7/32"),
    ("program", "curl/*", "curl/*"),
    ("agent", "https://agent.example", "https://agent.example"),
    ("visitor", "00ff00ff00ff00ff", "00ff00ff00ff00ff"),
)
MALFORMED: tuple[dict[str, Any], ...] = (
    {"value": "203.0.113.0/24"},
    {"value": "203.0.113.07"},
    {"value": ""},
    {"kind": "network", "value": "203.0.113.7/24"},
    {"kind": "network", "value": "0.0.0.0/0"},
    {"kind": "network", "value": "::/8"},
    {"kind": "network", "value": "shop.example"},
    {"kind": "program", "value": "*"},
    {"kind": "program", "value": "a*b*"},
    {"kind": "program", "value": "caf\u00e9"},
    {"kind": "program", "value": "curl\\x"},
    {"kind": "program", "value": "x" * 257},
    {"kind": "agent", "value": "a\nb"},
    {"kind": "visitor", "value": "00FF00FF00FF00FF"},
    {"kind": "country", "value": "de"},
    {"outcome": "challenge"},
    {"note": "x" * 501},
    {"expiresAt": "2020-01-01T00:00:00Z"},
    {"expiresAt": "9999-01-01T00:00:00Z"},
    {"expiresAt": "tomorrow"},
    {"id": "lst_0000000000000000"},
)


def test_a_value_is_kept_in_one_form_and_what_is_none_is_rejected(people: Cast, path: str) -> None:
    for changes in MALFORMED:
        assert refusal(people.bob.post(path, json={**ENTRY, **changes})) == (400, "invalid_request"), changes
    assert people.bob.get(path).json() == {"items": []}

    for kind, value, stored in VALUES:
        made = people.bob.post(path, json={"kind": kind, "value": value, "outcome": "allow"})
        assert made.json()["value"] == stored, made.text


def test_the_same_is_listed_once_unless_its_term_has_ended(service: RunningService, people: Cast, path: str) -> None:
    end = Moment(service.clock.now_ms() + MINUTE_MS).text()
    assert people.bob.post(path, json={**ENTRY, "expiresAt": end}).status_code == 201
    assert refusal(people.bob.post(path, json={**ENTRY, "outcome": "allow"})) == (409, "invalid_state")

    service.clock.advance(seconds=61)

    assert people.bob.post(path, json={**ENTRY, "outcome": "allow"}).status_code == 201
    assert [each["outcome"] for each in people.bob.get(path).json()["items"]] == ["allow"]


def test_a_site_has_no_more_entries_than_it_may_not_even_at_once(
    service: RunningService, people: Cast, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert LIST_ENTRIES_PER_SITE == 1_000
    monkeypatch.setattr(endpoints, "LIST_ENTRIES_PER_SITE", 5)

    statuses = at_once(
        service, people.bob, lambda bob, number: bob.post(path, json={**ENTRY, "value": f"203.0.113.{number}"})
    )

    assert statuses.count(201) == 5
    assert set(statuses) == {201, 409}
    assert len(people.bob.get(path).json()["items"]) == 5


def test_a_backtest_shows_where_stored_events_do_not_tell(service: RunningService, people: Cast, path: str) -> None:
    def backtest(kind: str, value: str) -> dict[str, Any]:
        reply = people.rita.post(f"{path}/backtest", json={"kind": kind, "value": value, "outcome": "allow"})
        assert reply.status_code == 200, reply.text
        return dict(reply.json())

    assert backtest("address", "203.0.113.7")["told"] is True
    assert backtest("program", "curl/*")["told"] is False
    assert "User-Agent" in backtest("program", "curl/*")["why"]
    assert "larger" in backtest("network", "203.0.0.0/16")["why"]
    assert people.carol.post(f"{path}/backtest", json=ENTRY).status_code == 404
    assert refusal(people.rita.post(f"{path}/backtest", json={**ENTRY, "value": "x"})) == (400, "invalid_request")

    application = service.application
    service.run(rotate_key(application.stores.store, application.sealer, "visitor", service.clock.now_ms()))
    service.clock.advance(seconds=600)
    keys = service.run(load_keys(application.stores.store, application.sealer, service.clock.now_ms()))
    application.keyring.replace(keys, service.clock.now_ms())

    assert "was replaced" in backtest("address", "203.0.113.7")["why"]
    assert backtest("agent", "GPTBot")["told"] is True


def test_a_backtest_of_addresses_knows_them_by_their_visitors(
    service: RunningService, people: Cast, path: str, site_key: str
) -> None:
    visitors = service.application.refresher.decider.visitors
    service.run(service.application.refresher.sites.await_refresh())
    site_id = service.application.refresher.sites.find(site_key).id  # type: ignore[union-attr]
    one, neighbor, far = (visitors.find(site_key, f"203.0.{part}") for part in ("113.7", "113.8", "99.1"))
    blocked = {"mode": Mode.ENFORCE, "outcome": Outcome.BLOCK, "reasons": ("policy",), "rule": "r", "status": 403}
    missing = {**blocked, "outcome": Outcome.CHALLENGE, "reasons": ("receipt_required",), "ruled": False, "rule": None}
    six = visitors.find(site_key, "2001:db8::1")
    record(
        service,
        site_id,
        {"visitor": one, **blocked},
        {"visitor": one},
        {"visitor": neighbor, **missing},
        {"visitor": far, **blocked},
        {"visitor": six, **blocked},
        {"visitor": far, "agent": "GPTBot", "labels": ("agent.verified",), **blocked},
        {"visitor": far, "agent": "GPTBot", **blocked},
        {"visitor": one, "at_ms": NOON_MS - 9 * DAY_MS, **blocked},
    )

    def backtest(kind: str, value: str, outcome: str = "allow", **span: str) -> tuple[Any, ...]:
        reply = people.rita.post(f"{path}/backtest", json={"kind": kind, "value": value, "outcome": outcome, **span})
        assert reply.status_code == 200, reply.text
        body = reply.json()
        assert body["told"], body
        flips = {(flip["from"], flip["to"]): flip["count"] for flip in body["flips"]}
        return body["evaluated"], body["concerned"], body["visitors"], flips

    assert backtest("address", "203.0.113.7") == (7, 2, 1, {("block", "allow"): 1})
    assert backtest("visitor", write_visitor(one), "block") == (7, 2, 1, {("allow", "block"): 1})
    both = {("block", "allow"): 1, ("challenge", "allow"): 1}
    assert backtest("network", "203.0.113.0/24") == (7, 3, 2, both)
    assert backtest("network", "2001:db8::/56") == (7, 1, 1, {("block", "allow"): 1})
    assert backtest("agent", "GPTBot", "block") == (7, 2, 1, {})
    assert backtest("agent", "GPTBot") == (7, 1, 1, {("block", "allow"): 1})
    longer = {"from": Moment(NOON_MS - 10 * DAY_MS).text(), "to": Moment(NOON_MS + HOUR_MS).text()}
    assert backtest("address", "203.0.113.7", **longer)[1] == 3


def test_the_example_of_the_documents_works_and_a_sample_shows_which_entry_decides(
    people: Cast, path: str, site_key: str
) -> None:
    text = (Path(__file__).parents[3] / "docs" / "write-rules.md").read_text(encoding="utf-8")
    example = re.search(r"list-entries\".*?-d '(\{.*?\})'", text, re.DOTALL)
    assert example is not None

    made = people.bob.post(path, json=json.loads(example[1]))

    assert made.status_code == 201, made.text
    request = {"method": "GET", "url": "https://shop.example/", "headers": {}, "address": "203.0.113.77"}
    rule_set = {"version": "1", "rules": [], "default_action": "block"}
    sample = people.rita.post(f"{SITES}/{site_key}/rules/test", json={"request": request, "ruleSet": rule_set})
    assert (sample.json()["outcome"], sample.json()["listEntry"]) == ("allow", made.json()["id"])
    other = {**request, "address": "198.51.100.7"}
    sample = people.rita.post(f"{SITES}/{site_key}/rules/test", json={"request": other, "ruleSet": rule_set})
    assert sample.json()["outcome"] == "block"
    assert "listEntry" not in sample.json()


def test_a_lint_shows_the_address_and_path_of_its_witness(people: Cast, site_key: str) -> None:
    rules = [
        {"name": "a", "match": {"networks": ["203.0.113.0/24"], "methods": ["POST"]}, "action": "allow"},
        {"name": "b", "match": {"paths": ["/admin/*"], "hosts": ["*.example"]}, "action": "block"},
        {"name": "c", "match": {"networks": ["203.0.113.7"], "not_networks": ["203.0.113.0/24"]}, "action": "block"},
    ]
    rule_set = {"version": "1", "rules": rules, "default_action": "allow"}

    lints = people.rita.post(f"{SITES}/{site_key}/rules/validate", json={"ruleSet": rule_set}).json()["lints"]

    assert [(lint["kind"], lint["rule"]) for lint in lints] == [("dead", "c"), ("contradictory", "b")]
    shown = {key: lints[1]["witness"][key] for key in ("address", "method", "host", "path")}
    assert shown == {"address": "203.0.113.0", "method": "POST", "host": "x.example", "path": "/admin/"}
