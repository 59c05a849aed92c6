"""Rules in the console: members by permission, within their own account."""

from typing import Any

import pytest

from tests.api.console.steps import CONSOLE, at_once, refusal, trail
from tests.support.cast import Cast
from tests.support.service import RunningService

SET = {
    "version": "7",
    "rules": [{"name": "tor", "match": {"all_labels": ["net.tor"]}, "action": "block"}],
    "default_action": "allow",
}


@pytest.fixture
def rules(people: Cast) -> str:
    site = people.alice.post(f"{CONSOLE}/sites", json={"name": "Shop"}).json()["siteKey"]
    return f"{CONSOLE}/sites/{site}/rules"


def test_a_member_replaces_and_everyone_reads(people: Cast, rules: str) -> None:
    stored = people.bob.put(rules, json={"ruleSet": SET})

    assert stored.status_code == 200, stored.text
    assert people.rita.get(rules).json() == stored.json()
    assert (stored.json()["updatedBy"], stored.json()["revision"]) == ("bob@acme.example", 1)
    assert [event["action"] for event in trail(people, "rules.update")] == ["rules.update"]


def test_who_may_only_read_may_check_and_try_out_but_not_replace(people: Cast, rules: str) -> None:
    assert people.rita.post(f"{rules}/validate", json={"ruleSet": SET}).json()["valid"] is True
    assert people.rita.post(f"{rules}/backtest", json={"ruleSet": SET}).json()["evaluated"] == 0
    refused = people.rita.put(rules, json={"ruleSet": SET})

    assert refusal(refused) == (403, "forbidden")
    assert "sites:write" in refused.json()["message"]


def test_another_accounts_rules_are_not_there(people: Cast, rules: str) -> None:
    replies = [
        people.carol.get(rules),
        people.carol.put(rules, json={"ruleSet": SET}),
        people.carol.post(f"{rules}/validate", json={"ruleSet": SET}),
        people.carol.post(f"{rules}/backtest", json={"ruleSet": SET}),
    ]

    assert [refusal(reply) for reply in replies] == [(404, "site_not_found")] * 4
    assert people.alice.get(rules).json()["revision"] == 0


def test_the_catalogue_of_groups_is_the_same_for_everyone(people: Cast) -> None:
    path = f"{CONSOLE}/managed-groups"

    assert (
        people.alice.get(path).json()
        == people.carol.get(path).json()
        == people.olga.get("/v1/admin/managed-groups").json()
    )


def test_of_many_who_save_at_once_one_succeeds(service: RunningService, people: Cast, rules: str) -> None:
    def save(client: Any, number: int) -> Any:
        return client.put(rules, json={"ruleSet": {**SET, "version": str(number + 1)}, "revision": 0})

    statuses = at_once(service, people.alice, save)

    assert statuses == [200] + [409] * (len(statuses) - 1)
    assert people.alice.get(rules).json()["revision"] == 1
    assert len(trail(people, "rules.update")) == 1
