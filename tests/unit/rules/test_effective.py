"""The version in force: the set's own version and what it says, whatever the order it says it in."""

import re

import pytest

from agentgate.core.enums import RulesSource
from agentgate.rules.effective import effective_version, server_rule_set_version, summary_of
from agentgate.rules.records import StoredRules

RULES = {"version": "7", "rules": [{"id": "a", "when": {"path": "/x"}}, {"id": "b"}], "default_action": "allow"}


def test_a_version_is_the_sets_own_and_eight_hex_digits() -> None:
    assert re.fullmatch(r"7-[0-9a-f]{8}", effective_version(RULES))


def test_the_order_of_properties_does_not_matter() -> None:
    reordered = dict(reversed(RULES.items()))

    assert list(reordered) != list(RULES)
    assert effective_version(reordered) == effective_version(RULES)


@pytest.mark.parametrize(
    "changed",
    [
        RULES | {"rules": RULES["rules"][::-1]},
        RULES | {"rules": RULES["rules"][:1]},
        RULES | {"default_action": "block"},
        RULES | {"default_action": "Allow"},
        RULES | {"note": None},
        RULES | {"rules": [{"id": "a", "when": {"path": "/y"}}, {"id": "b"}]},
    ],
)
def test_whatever_the_set_says_otherwise_changes_the_version(changed: dict) -> None:
    assert effective_version(changed) != effective_version(RULES)


def test_two_kinds_of_value_that_python_calls_equal_are_not_the_same_set() -> None:
    versions = {effective_version({"version": "1", "x": value}) for value in (1, True, 1.0, "1")}

    assert len(versions) == 4


def test_text_outside_ascii_has_one_version_however_it_was_escaped() -> None:
    assert effective_version({"version": "1", "x": "é"}) == effective_version({"version": "1", "x": "\u00e9"})
    assert effective_version({"version": "1", "x": "é"}) != effective_version({"version": "1", "x": "e\u0301"})


def test_a_site_without_rules_of_its_own_follows_the_servers() -> None:
    summary = summary_of(None)

    assert (summary.source, summary.overrides, summary.revision) == (RulesSource.SERVER, 0, 0)
    assert summary.effective_version == server_rule_set_version()
    assert re.fullmatch(r".+-[0-9a-f]{8}", summary.effective_version)


@pytest.mark.parametrize("source", list(RulesSource))
def test_a_site_with_rules_says_whose_they_are(source: RulesSource) -> None:
    stored = StoredRules(source=source, effective_version="9-0123abcd", overrides={"a": "off", "b": "on"}, revision=4)

    summary = summary_of(stored)

    assert (summary.source, summary.effective_version, summary.overrides, summary.revision) == (
        source,
        "9-0123abcd",
        2,
        4,
    )
