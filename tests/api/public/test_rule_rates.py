"""Rules with a rate, at the gateway: what counts, for whom, and what no spelling or header avoids."""

from typing import Any

import pytest

from tests.support.browser_client import decision_of
from tests.support.gateway import Gate


def rules(gate: Gate, *entries: dict[str, Any]) -> None:
    """Replace the rules of the site."""
    path = f"/v1/admin/sites/{gate.site_key}/rules"
    revision = gate.service.operator.get(path).json()["revision"]
    rule_set = {"version": "1", "rules": list(entries), "default_action": "allow"}
    done = gate.service.operator.put(path, json={"ruleSet": rule_set, "revision": revision})
    assert done.status_code == 200, done.text


def said(reply: Any) -> tuple[int, str]:
    return reply.status_code, reply.headers["x-service-reason"]


def limited(by: str = "visitor", action: str = "block", more_than: int = 5, **match: Any) -> dict[str, Any]:
    rate = {"by": by, "more_than": more_than, "within": 600}
    return {"name": "slow", "match": match or {"paths": ["/blame/*"]}, "action": action, "rate": rate}


def statuses(gate: Gate, times: int, path: str = "/blame/x", **headers: str) -> list[int]:
    return [gate.check("GET", path, **headers).status_code for _ in range(times)]


def test_requests_beyond_the_rate_are_blocked_and_the_decision_names_the_rule(gate: Gate) -> None:
    rules(gate, limited())
    assert statuses(gate, 5) == [204] * 5
    assert statuses(gate, 3, "/elsewhere") == [204] * 3

    blocked = gate.check("GET", "/blame/x")
    assert said(blocked) == (403, "rate_limited")
    decision = decision_of(gate.service, gate.site_key, blocked.headers["x-service-decision-id"])
    assert (decision["outcome"], decision["matchedRule"]) == ("block", "slow")
    assert statuses(gate, 2, "/elsewhere") == [204] * 2
    gate.service.clock.advance(seconds=661)
    assert statuses(gate, 1) == [204]


@pytest.mark.parametrize("path", ["/BLAME/x", "/blame%2Fx", "//blame/x", "/a/../blame/x", "/blame/;a/x", "/%62lame/x"])
def test_no_spelling_of_the_path_avoids_the_count(gate: Gate, path: str) -> None:
    rules(gate, limited())
    assert [gate.check("GET", path).status_code for _ in range(7)][5:] == [403, 403]


def test_requests_that_an_earlier_rule_decides_do_not_count(gate: Gate) -> None:
    rules(gate, {"name": "feed", "match": {"paths": ["/blame/feed"]}, "action": "allow"}, limited())
    assert statuses(gate, 9, "/blame/feed") == [204] * 9
    assert statuses(gate, 6) == [204] * 5 + [403]


def test_a_listed_address_has_no_rate(gate: Gate) -> None:
    rules(gate, limited())
    entry = {"kind": "address", "value": gate.address, "outcome": "allow"}
    made = gate.service.operator.post(f"/v1/admin/sites/{gate.site_key}/list-entries", json=entry)
    assert made.status_code == 201
    assert statuses(gate, 9) == [204] * 9


@pytest.mark.parametrize("by", ["visitor", "network", "asn", "clearance"])
def test_every_kind_of_rate_counts_an_address_without_anything_else(gate: Gate, by: str) -> None:
    rules(gate, limited(by))
    assert statuses(gate, 6) == [204] * 5 + [403]
    gate.address = "203.0.113.21"
    assert statuses(gate, 1) == ([204] if by in ("visitor", "clearance") else [403])
    gate.address = "198.51.100.1"
    assert statuses(gate, 1) == [204]


def test_a_forged_clearance_is_counted_as_its_address(gate: Gate) -> None:
    rules(gate, limited("clearance"))
    assert [statuses(gate, 1, Cookie=f"agc_{gate.site_key}=forged{n}")[0] for n in range(7)][5:] == [403, 403]


def test_agents_are_counted_by_name_over_all_addresses(gate: Gate) -> None:
    rules(gate, limited("agent"))
    policy = {"default": "challenge", "unverified": "allow"}
    assert gate.service.operator.put(f"/v1/admin/sites/{gate.site_key}/agent-policy", json=policy).status_code == 200
    found = []
    for number in range(7):
        gate.address = f"203.0.113.{number + 1}"
        found += statuses(gate, 1, User_Agent="Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)")
    assert found == [204] * 5 + [403] * 2
    assert statuses(gate, 8) == [204] * 8


def test_a_rate_may_challenge_count_and_add_to_the_weight(gate: Gate) -> None:
    rules(gate, limited(action="challenge"))
    assert [said(gate.check("GET", "/blame/x")) for _ in range(6)][5] == (401, "policy")
    rules(gate, {**limited(action="count", more_than=2), "name": "other"})
    gate.address = "203.0.113.77"
    replies = [gate.check("GET", "/blame/x") for _ in range(3)]
    assert [each.status_code for each in replies] == [204] * 3


@pytest.mark.parametrize(
    ("rate", "says"),
    [
        (5, "rate must have by"),
        ({"by": "visitor", "more_than": 5}, "rate must have by"),
        ({"by": "cookie", "more_than": 5, "within": 60}, "by must be one of"),
        ({"by": "visitor", "more_than": 0, "within": 60}, "more_than must be an integer from 1"),
        ({"by": "visitor", "more_than": True, "within": 60}, "more_than must be an integer"),
        ({"by": "visitor", "more_than": 5, "within": 3_601}, "within must be an integer from 1 to 3600 seconds"),
    ],
)
def test_an_invalid_rate_is_rejected(gate: Gate, rate: Any, says: str) -> None:
    rule_set = {"version": "1", "rules": [{**limited(), "rate": rate}], "default_action": "allow"}
    path = f"/v1/admin/sites/{gate.site_key}/rules/validate"
    result = gate.service.operator.post(path, json={"ruleSet": rule_set}).json()
    assert not result["valid"]
    assert says in result["errors"][0]["message"]


def test_a_set_has_sixteen_rates_and_none_that_allows(gate: Gate) -> None:
    path = f"/v1/admin/sites/{gate.site_key}/rules/validate"
    many = [{**limited(), "name": f"slow{number}"} for number in range(17)]
    for entries, says in ((many, "17 rates; at most 16"), ([limited(action="allow")], "cannot allow")):
        rule_set = {"version": "1", "rules": entries, "default_action": "allow"}
        result = gate.service.operator.post(path, json={"ruleSet": rule_set}).json()
        assert any(says in each["message"] for each in result["errors"]), result


def test_a_single_test_request_does_not_exceed_a_rate(gate: Gate) -> None:
    base = f"/v1/admin/sites/{gate.site_key}/rules"
    rule_set = {"version": "1", "rules": [limited(none_labels=["net.tor"])], "default_action": "allow"}
    request = {"method": "GET", "url": "https://shop.example/x", "headers": {}, "address": "203.0.113.9"}
    report = gate.service.operator.post(f"{base}/test", json={"ruleSet": rule_set, "request": request}).json()
    assert report["outcome"] == "allow"
    assert report["trace"][0]["because"] == "every condition holds, but a single request does not exceed its rate"
