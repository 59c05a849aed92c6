"""Rule sets as files, without a service: lint, cases, format and schema."""

import json

import jsonschema
import yaml

from tests.cli.commands import agentgate

RULES = """\
version: "1"
rules:
  - action: challenge
    name: history
    match: {paths: [/w/*], query: {action: [history]}}
  - name: sale
    match: {}
    action: block
    from: "2026-11-27T00:00:00Z"
default_action: allow
"""
CASES = """\
routes: [{method: POST, path: /login, action: login}]
cases:
  - name: history asks for a check
    request: {url: "https://wiki.example/w/index.php?action=history"}
    outcome: challenge
    rule: history
    at: "2026-11-01T00:00:00Z"
  - name: the sale is on
    request: {url: "https://wiki.example/", method: POST}
    labels: [receipt.clearance]
    outcome: block
    rule: sale
    at: "2026-12-01T00:00:00Z"
"""


def test_a_rule_set_is_linted_and_tested_without_a_service(tmp_path):
    rules, cases = tmp_path / "rules.yaml", tmp_path / "cases.yaml"
    rules.write_text(RULES)
    cases.write_text(CASES)

    assert "rules.yaml is valid" in agentgate(tmp_path, "rules", "lint", str(rules)).stdout
    passed = agentgate(tmp_path, "rules", "test", str(rules), str(cases))
    assert (passed.returncode, "2 of 2 cases passed" in passed.stdout) == (0, True)

    cases.write_text(CASES.replace("2026-11-01", "2026-12-01").replace("action=history", "action=view"))
    failed = agentgate(tmp_path, "rules", "test", str(rules), str(cases))
    assert failed.returncode == 1
    assert "block by sale, expected challenge" in failed.stdout
    assert "1 of 2 cases passed" in failed.stdout

    cases.write_text("cases: [{name: x}]")
    assert "must have `cases`" in agentgate(tmp_path, "rules", "test", str(rules), str(cases)).stderr
    rules.write_text(RULES.replace("allow", "alow"))
    assert agentgate(tmp_path, "rules", "lint", str(rules)).returncode == 1


def test_a_rule_set_is_formatted_once_and_then_unchanged(tmp_path):
    rules = tmp_path / "rules.yaml"
    rules.write_text(RULES)

    assert agentgate(tmp_path, "rules", "fmt", "--check", str(rules)).returncode == 1
    assert rules.read_text() == RULES
    assert agentgate(tmp_path, "rules", "fmt", str(rules)).returncode == 0
    assert "  - name: history\n    match:" in rules.read_text()
    assert agentgate(tmp_path, "rules", "fmt", "--check", str(rules)).returncode == 0


def test_the_schema_allows_a_valid_set_and_rejects_an_unknown_condition(tmp_path):
    schema = json.loads(agentgate(tmp_path, "rules", "schema").stdout)
    good = yaml.safe_load(RULES)

    jsonschema.validate(good, schema)
    good["rules"][0]["match"]["querry"] = {}
    assert not jsonschema.Draft202012Validator(schema).is_valid(good)


def test_names_of_network_lists_are_checked_against_the_given_ones(tmp_path):
    rules = tmp_path / "rules.yaml"
    rules.write_text(RULES.replace("match: {}", "match: {not_network_lists: [office]}"))

    assert "unknown_list" not in agentgate(tmp_path, "rules", "lint", str(rules)).stdout
    found = agentgate(tmp_path, "rules", "lint", str(rules), "--network-list", "offices").stdout
    assert "unknown_list: The rule sale names office, which is not a network list of the site." in found
    assert "Did you mean offices?" in found
    assert "unknown_list" not in agentgate(tmp_path, "rules", "lint", str(rules), "--network-list", "office").stdout
