"""The effective set: groups expanded, overrides applied, unknown keys kept, and a version derived from the content."""

import re
from typing import Any

import pytest

from agentgate.lib.enums import RulesSource
from agentgate.lib.records import to_json
from agentgate.sites.rules.effective import (
    effective_of,
    effective_set,
    effective_version,
    read_set,
    server_rule_set,
    summary_of,
)
from agentgate.sites.rules.records import StoredRules

RULE = {"name": "a", "match": {"all_labels": ["net.tor"], "later": 1}, "action": "block", "note": "x"}
RULES = {"version": "7", "rules": [RULE], "default_action": "allow"}


def effective(rules: list[dict[str, Any]], overrides: dict[str, str] | None = None) -> list[dict[str, Any]]:
    return effective_set(read_set({**RULES, "rules": rules}), overrides or {}).rules


def test_a_version_is_the_sets_own_and_eight_hex_digits() -> None:
    assert re.fullmatch(r"7-[0-9a-f]{8}", effective_version(RULES))
    assert re.fullmatch(r"7-[0-9a-f]{8}", effective_set(read_set(RULES), {}).version)


def test_the_order_of_properties_does_not_matter() -> None:
    reordered = dict(reversed(RULES.items()))

    assert list(reordered) != list(RULES)
    assert effective_version(reordered) == effective_version(RULES)


@pytest.mark.parametrize(
    "changed",
    [
        RULES | {"rules": []},
        RULES | {"default_action": "block"},
        RULES | {"note": None},
        RULES | {"rules": [RULE | {"action": "drop"}]},
    ],
)
def test_whatever_the_set_differs_changes_the_version(changed: dict[str, Any]) -> None:
    assert effective_version(changed) != effective_version(RULES)


def test_two_kinds_of_value_that_python_calls_equal_are_not_the_same_set() -> None:
    versions = {effective_version({"version": "1", "x": value}) for value in (1, True, 1.0, "1")}

    assert len(versions) == 4


def test_overrides_change_the_version_and_the_action_only() -> None:
    before, after = effective_set(read_set(RULES), {}), effective_set(read_set(RULES), {"a": "count"})

    assert after.rules == [{**RULE, "action": "count"}]
    assert after.version != before.version


def test_what_an_override_shows_already_changes_nothing() -> None:
    assert effective_set(read_set(RULES), {"a": "block"}) == effective_set(read_set(RULES), {})


def test_members_keep_their_names_and_carry_what_narrows_their_group_down() -> None:
    scope = {"any_labels": ["net.tor"]}
    group = {"group": "rate", "version": 2, "scope_down": scope, "overrides": {"rate-visitor-high": "count"}}

    rules = effective([RULE, group], {"rate-network-high": "drop"})

    assert [(each["name"], each["action"]) for each in rules] == [
        ("a", "block"),
        ("rate-parts-high", "block"),
        ("rate-visitor-extreme", "block"),
        ("rate-visitor-high", "count"),
        ("rate-network-high", "drop"),
    ]
    assert [each.get("scope_down") for each in rules] == [None, *[scope] * 4]
    assert rules[1]["group"] == "rate"


def test_an_effective_set_is_a_set_that_shows_the_same() -> None:
    group = {"group": "rate", "version": 2, "scope_down": {"any_labels": ["net.tor"]}}
    rules = effective([RULE, group])

    assert effective(rules) == rules


def test_keys_that_no_one_knows_stay_on_their_rules() -> None:
    assert effective([RULE]) == [RULE]


def test_a_site_without_its_own_rules_follows_the_servers() -> None:
    summary = summary_of(None)

    assert (summary.source, summary.overrides, summary.revision) == (RulesSource.SERVER, 0, 0)
    assert summary.effective_version == effective_set(server_rule_set(), {}).version
    assert effective_of(None).version == summary.effective_version


def test_a_site_with_overrides_only_follows_the_servers_set_as_it_is_now() -> None:
    stored = StoredRules(effective_version="old-0123abcd", overrides={"list-block": "drop"}, revision=4)

    summary = summary_of(stored)

    assert (summary.source, summary.overrides, summary.revision) == (RulesSource.SERVER, 1, 4)
    assert summary.effective_version == effective_set(server_rule_set(), stored.overrides).version


def test_an_override_of_a_rule_that_the_server_no_longer_has_is_omitted() -> None:
    stored = StoredRules(effective_version="", overrides={"gone": "drop"}, revision=1)

    assert effective_of(stored) == effective_of(None)


def test_a_site_with_its_own_set_has_that() -> None:
    stored = StoredRules(effective_version="", overrides={}, revision=1, rule_set=RULES)

    assert to_json(effective_of(stored)) == to_json(effective_set(read_set(RULES), {}))
    assert summary_of(stored).source == RulesSource.SITE
