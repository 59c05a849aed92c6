"""Formatting rule sets: values and comments are kept, and a second run changes nothing."""

import json
from random import Random

import pytest
import yaml

from agentgate.sites.rules.text import read_text
from agentgate_tools.rule_text import formatted
from tests.support.rule_reference import new_set

WRITTEN = """\
# Rules of the shop.
rules:
  # Our own scripts.
  - action: allow
    name: office
    match:
      networks:
        - 203.0.113.0/24

  - name: history   # costly
    match: {paths: [/w/*], query: {action: [history]}}
    action: challenge
  - group: automation
    overrides: {automation-http-library: count}
    version: 2
version: '7'
default_action: allow
# The end.
"""
FORMATTED = """\
version: "7"
# Rules of the shop.
rules:
  # Our own scripts.
  - name: office
    match: {networks: ["203.0.113.0/24"]}
    action: allow

  - name: history   # costly
    match: {paths: [/w/*], query: {action: [history]}}
    action: challenge
  - group: automation
    version: 2
    overrides: {automation-http-library: count}
default_action: allow
# The end.
"""


def test_keys_have_one_order_and_comments_are_kept() -> None:
    assert formatted(WRITTEN) == FORMATTED
    assert formatted(FORMATTED) == FORMATTED


def test_a_long_list_has_a_line_for_each_entry() -> None:
    networks = [f"203.0.113.{number}" for number in range(20)]
    text = json.dumps({"version": "1", "rules": [{"name": "a", "match": {"networks": networks}, "action": "block"}]})
    after = formatted("# YAML\n" + yaml.safe_dump(json.loads(text)))

    assert '      networks:\n        - "203.0.113.0"\n' in after
    assert read_text(after).value == json.loads(text)


@pytest.mark.parametrize("seed", range(60))
def test_formatting_any_set_keeps_its_value_and_is_stable(seed: int) -> None:
    rule_set = new_set(Random(seed))
    for text in (yaml.safe_dump(rule_set), json.dumps(rule_set), yaml.safe_dump(rule_set, default_flow_style=True)):
        after = formatted(text)

        assert read_text(after).value == rule_set
        assert formatted(after) == after
