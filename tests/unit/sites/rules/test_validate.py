"""What makes a rule set invalid: each problem with its rule, and with its place when it came as text."""

from typing import Any

import pytest
from msgspec import UNSET

from agentgate.lib.errors import Refused
from agentgate.sites.rules.drafts import check_one_form, read_draft, result_of
from agentgate.sites.rules.effective import server_document
from agentgate.sites.rules.records import RulesRequest
from agentgate.sites.rules.validate import MOST_PROBLEMS, check_rules

RULE = {"name": "a", "match": {}, "action": "block"}
SET = {"version": "1", "rules": [RULE], "default_action": "allow"}


def problems(document: Any, overrides: dict[str, str] | None = None) -> list[tuple[Any, str | None]]:
    return [(problem.path, problem.rule) for problem in check_rules(document, overrides or {})]


def with_rule(**changes: Any) -> dict[str, Any]:
    return {**SET, "rules": [{**RULE, **changes}]}


def test_the_servers_own_set_is_valid() -> None:
    assert check_rules(server_document(), {}) == []


@pytest.mark.parametrize("action", ["allow", "challenge", "block", "drop", "count"])
def test_every_action_is_valid(action: str) -> None:
    assert problems(with_rule(action=action), {"a": action}) == []


def test_keys_that_no_one_knows_are_valid_everywhere() -> None:
    match = {"all_labels": ["net.tor"], "later": 1}
    rule = {**RULE, "match": match, "response": {"status": 429, "later": {}}, "note": "for the team"}
    group = {"group": "rate", "version": 2, "later": [], "name": "", "action": ""}

    assert problems({**SET, "rules": [rule, group], "owner": "security"}) == []


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ([], ()),
        ("x", ()),
        (None, ()),
        ({"rules": [], "default_action": "allow"}, ()),
        ({"version": "1", "default_action": "allow"}, ()),
        ({"version": "1", "rules": []}, ()),
        ({**SET, "version": 1}, ("version",)),
        ({**SET, "version": ""}, ("version",)),
        ({**SET, "version": "a b"}, ("version",)),
        ({**SET, "rules": {}}, ("rules",)),
        ({**SET, "default_action": "count"}, ("default_action",)),
        ({**SET, "default_action": "deny"}, ("default_action",)),
        ({**SET, "default_action": None}, ("default_action",)),
        ({**SET, "rules": [3]}, ("rules", 0)),
        ({**SET, "deep": [[[[[[[[1]]]]]]]]}, ()),
        ({**SET, "long": "x" * 65_536}, ()),
    ],
)
def test_a_wrong_set_is_reported(document: Any, path: Any) -> None:
    assert problems(document) == [(path, None)]


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"action": "deny"}, ("action",)),
        ({"action": 1}, ("action",)),
        ({"match": []}, ("match",)),
        ({"match": {"all_labels": []}}, ("match", "all_labels")),
        ({"match": {"all_labels": "net.tor"}}, ("match", "all_labels")),
        ({"match": {"any_labels": ["net.tor", "NET.tor"]}}, ("match", "any_labels", 1)),
        ({"match": {"none_labels": ["net"]}}, ("match", "none_labels", 0)),
        ({"match": {"none_labels": ["net..tor"]}}, ("match", "none_labels", 0)),
        ({"match": {"none_labels": ["net.tor\n"]}}, ("match", "none_labels", 0)),
        ({"match": {"any_labels": ["net." + "x" * 100]}}, ("match", "any_labels", 0)),
        ({"match": {"any_prefix": ["net."]}}, ("match", "any_prefix", 0)),
        ({"match": {"any_prefix": [1]}}, ("match", "any_prefix", 0)),
        ({"match": {"score": "bot"}}, ("match", "score")),
        ({"match": {"min_score": 0.5}}, ("match", "min_score")),
        ({"match": {"score": "human", "min_score": 0.5}}, ("match", "score")),
        ({"match": {"score": "bot", "min_score": 1.1}}, ("match", "min_score")),
        ({"match": {"score": "bot", "min_score": True}}, ("match", "min_score")),
        ({"match": {"score": "bot", "min_score": float("nan")}}, ("match", "min_score")),
        ({"scope_down": 1}, ("scope_down",)),
        ({"routes": "login"}, ("routes",)),
        ({"routes": ["login", "/a b"]}, ("routes", 1)),
        ({"routes": ["/a*b"]}, ("routes", 0)),
        ({"routes": ["Login"]}, ("routes", 0)),
        ({"routes": [""]}, ("routes", 0)),
        ({"response": 1}, ("response",)),
        ({"response": {"status": 399}}, ("response", "status")),
        ({"response": {"status": 600}}, ("response", "status")),
        ({"response": {"status": "429"}}, ("response", "status")),
        ({"response": {"status": True}}, ("response", "status")),
        ({"response": {"message": ""}}, ("response", "message")),
        ({"response": {"message": "x" * 201}}, ("response", "message")),
        ({"response": {"message": "a\r\nX-Evil: 1"}}, ("response", "message")),
        ({"response": {"message": "é"}}, ("response", "message")),
        ({"response": {"retry_after": -1}}, ("response", "retry_after")),
        ({"response": {"retry_after": 86_401}}, ("response", "retry_after")),
        ({"response": {"retry_after": 1.5}}, ("response", "retry_after")),
    ],
)
def test_a_wrong_part_of_a_rule_is_reported_with_the_rule(changes: dict[str, Any], path: Any) -> None:
    assert problems(with_rule(**changes)) == [(("rules", 0, *path), "a")]


@pytest.mark.parametrize("name", ["", "-a", "a b", "a" * 65, "é", "a\n", 3])
def test_a_wrong_name_is_reported(name: Any) -> None:
    assert problems(with_rule(name=name)) == [(("rules", 0, "name"), None)]


def test_a_rule_without_name_match_or_action_is_reported() -> None:
    assert [path for path, _ in problems({**SET, "rules": [{}]})] == [("rules", 0)] * 3


@pytest.mark.parametrize(
    ("group", "path"),
    [
        ({"group": "unknown", "version": 1}, ("group",)),
        ({"group": 1, "version": 1}, ("group",)),
        ({"group": "rate"}, ()),
        ({"group": "rate", "version": 99}, ("version",)),
        ({"group": "rate", "version": True}, ("version",)),
        ({"group": "rate", "version": 2.0}, ("version",)),
        ({"group": "rate", "version": 2, "scope_down": {"any_labels": []}}, ("scope_down", "any_labels")),
        ({"group": "rate", "version": 2, "overrides": []}, ("overrides",)),
    ],
)
def test_a_wrong_group_is_reported(group: dict[str, Any], path: Any) -> None:
    assert problems({**SET, "rules": [group]}) == [(("rules", 0, *path), None)]


def test_a_groups_override_names_one_of_its_members() -> None:
    group = {"group": "rate", "version": 2, "overrides": {"a": "allow", "rate-visitor-high": "deny"}}

    assert problems({**SET, "rules": [RULE, group]}) == [
        (("rules", 1, "overrides", "a"), "a"),
        (("rules", 1, "overrides", "rate-visitor-high"), "rate-visitor-high"),
    ]


def test_an_override_names_a_rule_of_the_set_or_a_member() -> None:
    rules = {**SET, "rules": [RULE, {"group": "rate", "version": 2}]}

    assert problems(rules, {"a": "allow", "rate-visitor-high": "count"}) == []
    assert problems(rules, {"b": "allow", "a": "off"}) == [(None, "b"), (None, "a")]


def test_a_name_that_is_taken_is_reported() -> None:
    group = {"group": "rate", "version": 2}
    member = {**RULE, "name": "rate-visitor-high"}

    assert problems({**SET, "rules": [RULE, RULE]}) == [(("rules", 1, "name"), "a")]
    assert problems({**SET, "rules": [group, member]}) == [(("rules", 1, "name"), "rate-visitor-high")]
    assert problems({**SET, "rules": [member, group]}) == [(("rules", 1, "group"), "rate-visitor-high")]
    assert len(problems({**SET, "rules": [group, group]})) == 4


def test_two_hundred_entries_are_allowed_and_a_group_counts_as_one() -> None:
    rules: list[dict[str, Any]] = [{**RULE, "name": f"r{number}"} for number in range(199)]
    group = {"group": "rate", "version": 2}

    assert problems({**SET, "rules": [*rules, group]}) == []
    assert problems({**SET, "rules": [*rules, group, RULE]}) == [(("rules", 200), None)]


def test_problems_are_at_most_a_hundred() -> None:
    rules = [{"name": f"r{number}", "match": 1, "action": "x"} for number in range(150)]

    assert len(check_rules({**SET, "rules": rules}, {})) == MOST_PROBLEMS


def test_a_problem_in_text_has_line_and_column() -> None:
    text = "version: '1'\nrules:\n  - name: a\n    match: {all_labels: [net.tor, Net]}\n    action: deny\n"

    result = result_of(read_draft(RulesRequest(rule_set_text=text, overrides={"b": "allow"})))

    assert not result.valid
    assert [(each.line, each.column, each.rule) for each in result.errors] == [
        (1, 1, UNSET),
        (5, 13, "a"),
        (4, 35, "a"),
        (UNSET, UNSET, "b"),
    ]


def test_a_problem_in_a_value_has_no_place() -> None:
    result = result_of(read_draft(RulesRequest(rule_set=with_rule(action="deny"))))

    assert [(each.line, each.column, each.rule) for each in result.errors] == [(UNSET, UNSET, "a")]


def test_text_and_value_together_are_blocked() -> None:
    with pytest.raises(Refused, match="invalid_request"):
        check_one_form(RulesRequest(rule_set=SET, rule_set_text="x"))
    check_one_form(RulesRequest(rule_set=None, rule_set_text="x"))


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"thresholds": {}}, "must be a list of at most 10"),
        ({"thresholds": [{"at_least": number, "action": "block"} for number in range(11)]}, "at most 10 entries"),
        ({"thresholds": [{"at_least": 5}]}, "has at_least and action"),
        ({"thresholds": [{"at_least": 5.5, "action": "block"}]}, "at_least must be an integer"),
        ({"thresholds": [{"at_least": 5, "action": "block"}, {"at_least": 5, "action": "drop"}]}, "each once"),
        ({"thresholds": [{"at_least": 5, "action": "count"}]}, "must be one of allow"),
        ({"rules": [{"name": "a", "match": {}, "action": "block", "add": 1}]}, "in a rule with action: count"),
        ({"rules": [{"name": "a", "match": {}, "action": "count", "add": 101}]}, "from -100 to 100"),
        ({"rules": [{"name": "a", "match": {}, "action": "count", "add": True}]}, "from -100 to 100"),
    ],
)
def test_a_wrong_weight_shows_what_would_be_right(changed, says):
    problems = check_rules({"version": "1", "rules": [], "default_action": "allow", **changed}, {})

    assert [says in problem.message for problem in problems] == [True]
