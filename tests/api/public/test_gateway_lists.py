"""Lists and conditions on the request itself, at the gateway and in the browser check: obeyed at once, warm or cold."""

from typing import Any

import pytest

from agentgate.lib.ids import write_visitor
from agentgate.lib.moment import Moment
from tests.support.browser_client import BrowserClient, decision_of
from tests.support.gateway import Gate
from tests.support.service import RunningService

ADDRESS = "203.0.113.20"
GPTBOT = "Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)"


def add(gate: Gate, kind: str, value: str, outcome: str, **more: Any) -> str:
    """Add an entry, once warm decisions are cached, and return its ID."""
    for _ in range(3):
        gate.check()
    body = {"kind": kind, "value": value, "outcome": outcome, **more}
    made = gate.service.operator.post(f"/v1/admin/sites/{gate.site_key}/list-entries", json=body)
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


def rules(gate: Gate, *entries: dict[str, Any], default: str = "allow") -> None:
    """Replace the rules of the site."""
    path = f"/v1/admin/sites/{gate.site_key}/rules"
    revision = gate.service.operator.get(path).json()["revision"]
    rule_set = {"version": "1", "rules": list(entries), "default_action": default}
    done = gate.service.operator.put(path, json={"ruleSet": rule_set, "revision": revision})
    assert done.status_code == 200, done.text


def visitor_of(gate: Gate) -> str:
    return write_visitor(gate.service.application.refresher.decider.visitors.find(gate.site_key, gate.address))


def said(reply: Any) -> tuple[int, str]:
    return reply.status_code, reply.headers["x-service-reason"]


@pytest.mark.parametrize("kind", ["address", "network", "program", "visitor"])
def test_whom_a_site_blocks_is_blocked_until_the_entry_is_removed(gate: Gate, kind: str) -> None:
    value = {"address": ADDRESS, "network": "203.0.113.0/24", "program": "Chrome/142", "visitor": visitor_of(gate)}
    entry = add(gate, kind, value[kind], "block")

    blocked = gate.check()
    assert said(blocked) == (403, "policy")
    decision = decision_of(gate.service, gate.site_key, blocked.headers["x-service-decision-id"])
    assert (decision["outcome"], decision["matchedRule"]) == ("block", f"list:{entry}")
    # Not even a check that a route asks for is offered.
    assert said(gate.check("POST", "/login")) == (403, "policy")

    removed = gate.service.operator.delete(f"/v1/admin/sites/{gate.site_key}/list-entries/{entry}")
    assert removed.status_code == 204
    assert gate.check().status_code == 204


@pytest.mark.parametrize(
    ("kind", "waives"), [("address", True), ("network", True), ("visitor", True), ("program", False)]
)
def test_whom_a_site_allows_passes_the_rules_and_with_proof_the_check(gate: Gate, kind: str, *, waives: bool) -> None:
    rules(gate, default="block")
    assert gate.check().status_code == 403
    value = {"address": ADDRESS, "network": "203.0.113.20/32", "program": "*Chrome/*", "visitor": visitor_of(gate)}
    add(gate, kind, value[kind], "allow")

    assert said(gate.check()) == (204, "allowed")
    login = gate.check("POST", "/login")
    assert said(login) == ((204, "allowed") if waives else (401, "receipt_required"))
    gate.address = "198.51.100.1"
    assert gate.check().status_code == (403 if waives else 204)


def test_an_entry_ends_with_its_term(gate: Gate) -> None:
    service = gate.service
    end = Moment(service.clock.now_ms() + 60_000)
    add(gate, "address", ADDRESS, "block", expiresAt=end.text(), note="a minute")
    assert gate.check().status_code == 403

    service.clock.advance(seconds=61)
    service.run(service.application.refresher.refresh())

    assert gate.check().status_code == 204
    listed = service.operator.get(f"/v1/admin/sites/{gate.site_key}/list-entries").json()["items"]
    assert [(each["expired"], each["note"]) for each in listed] == [(True, "a minute")]


def test_the_entry_that_shows_most_counts(gate: Gate) -> None:
    add(gate, "network", "203.0.0.0/16", "block")
    add(gate, "network", "203.0.113.0/24", "allow")
    assert gate.check().status_code == 204

    add(gate, "program", "Chrome", "block")
    assert gate.check().status_code == 204

    add(gate, "address", ADDRESS, "block")
    add(gate, "visitor", visitor_of(gate), "allow")
    assert gate.check().status_code == 403


def test_who_only_claims_to_be_an_agent_can_be_blocked_but_not_allow(gate: Gate) -> None:
    rules(gate, {"name": "r", "match": {"all_labels": ["agent.claimed"]}, "action": "challenge"})
    add(gate, "agent", "GPTBot", "allow")
    assert gate.check(User_Agent=GPTBOT).status_code == 401

    entry = gate.service.operator.get(f"/v1/admin/sites/{gate.site_key}/list-entries").json()["items"][0]["id"]
    gate.service.operator.delete(f"/v1/admin/sites/{gate.site_key}/list-entries/{entry}")
    add(gate, "agent", "GPTBot", "block")
    assert gate.check(User_Agent=GPTBOT).status_code == 403


def test_a_claim_opens_no_rule_where_the_policy_lets_claims_pass(gate: Gate) -> None:
    policy = {"default": "challenge", "unverified": "allow"}
    saved = gate.service.operator.put(f"/v1/admin/sites/{gate.site_key}/agent-policy", json=policy)
    assert saved.status_code == 200, saved.text
    rules(gate, {"name": "r", "match": {"all_labels": ["agent.claimed"]}, "action": "block"})

    add(gate, "agent", "GPTBot", "allow")

    assert gate.check(User_Agent=GPTBOT).status_code == 403


def test_monitor_mode_only_shows_what_a_list_would_do(service: RunningService) -> None:
    gate = Gate(service, mode="monitor")
    add(gate, "address", ADDRESS, "block")

    reply = gate.check()

    assert said(reply) == (204, "monitor")
    assert reply.headers["x-service-would-decision"] == "block"


def test_a_header_that_changes_each_time_decides_each_time(gate: Gate) -> None:
    rules(gate, {"name": "r", "match": {"headers": {"X-Probe": ["yes*"]}}, "action": "block"})

    for value, status in (("no", 204), ("yes", 403), ("no", 204), ("YES!", 403), (None, 204), ("yes", 403)):
        assert gate.check(X_Probe=value).status_code == status, value


def test_addresses_paths_and_programs_decide_warm_as_cold(gate: Gate) -> None:
    rules(
        gate,
        {"name": "n", "match": {"networks": ["203.0.113.21"]}, "action": "block"},
        {"name": "p", "match": {"paths": ["/private/*"], "not_user_agents": ["monitor/*"]}, "action": "block"},
        {"name": "h", "match": {"hosts": ["*.internal"]}, "action": "block"},
    )

    for _ in range(3):
        gate.address = "203.0.113.20"
        assert gate.check().status_code == 204
        assert gate.check(path="/private/x").status_code == 403
        assert gate.check(path="/x/..;/PRIVATE/x").status_code == 403
        assert gate.check(path="/private/x", User_Agent="monitor/1.0").status_code == 204
        assert gate.check(X_Original_URL="https://a.internal/").status_code == 403
        gate.address = "203.0.113.21"
        assert gate.check().status_code == 403


def test_the_browser_check_obeys_lists_and_networks_and_knows_nothing_of_pages(gate: Gate) -> None:
    service = gate.service

    def passes(address: str) -> bool:
        client = BrowserClient(service, gate.site_key, address=address)
        return client.verify(client.challenge().json()).status_code == 200

    rules(
        gate,
        {"name": "n", "match": {"networks": ["198.51.100.0/24"]}, "action": "block"},
        {"name": "p", "match": {"not_paths": ["/public/*"]}, "action": "block"},
    )
    add(gate, "address", "203.0.113.9", "block")
    add(gate, "address", "198.51.100.9", "allow")

    assert passes("203.0.113.8")
    assert not passes("203.0.113.9")
    assert not passes("198.51.100.8")
    assert passes("198.51.100.9")


def test_a_rule_on_query_parameters_tells_urls_apart_that_are_cached(gate: Gate) -> None:
    rules(gate, {"name": "history", "match": {"paths": ["/w/*"], "query": {"action": ["history"]}}, "action": "block"})
    plain = "/w/index.php?title=A"
    for _ in range(3):
        assert gate.check(path=plain).status_code == 204
        assert said(gate.check(path=f"{plain}&action=history")) == (403, "policy")
        for odd in ("&Action=HISTORY", "&action=view&action=history", ";action=history", "&%61ction=histor%79"):
            assert said(gate.check(path=plain + odd)) == (403, "policy"), odd
        assert gate.check(path=f"{plain}&action=view").status_code == 204


def test_a_scheduled_rule_is_active_between_its_times(gate: Gate) -> None:
    service = gate.service
    begin, end = (Moment(service.clock.now_ms() + minutes * 60_000).text() for minutes in (5, 10))
    rules(gate, {"name": "sale", "match": {}, "action": "block", "from": begin, "until": end})
    found = []
    for _ in range(4):
        found.append(gate.check().status_code)
        service.clock.advance(seconds=240)
        service.run(service.application.refresher.refresh())

    assert found == [204, 204, 403, 204]
