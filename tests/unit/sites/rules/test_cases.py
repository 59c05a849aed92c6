"""Every case file: conditions and the order of rules, texts that are read and texts that are not, managed groups."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from agentgate.sites.rules.compile import compile_rules
from agentgate.sites.rules.conditions import CONDITIONS
from agentgate.sites.rules.effective import PRESETS, effective_set, managed_groups, members_digest, read_set
from agentgate.sites.rules.records import RuleSet
from agentgate.sites.rules.text import TextProblem, read_text
from agentgate.sites.rules.validate import check_rules
from tests.support.request_traits import traits_of

CASES = Path(__file__).parents[3] / "cases"
LOCK = CASES / "managed" / "digests.lock"
MANAGED = Path(__file__).parents[4] / "src" / "agentgate" / "sites" / "rules" / "managed"


def files(folder: str) -> list[Any]:
    return [pytest.param(path, id=path.stem) for path in sorted((CASES / folder).glob("*.json"))]


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", files("rules"))
def test_rules_decide_as_in_the_case(path: Path) -> None:
    case = read(path)
    assert check_rules(case["rule_set"], case["overrides"]) == []
    compiled = compile_rules(effective_set(read_set(case["rule_set"]), case["overrides"]))

    for request in case["requests"]:
        verdict = compiled.evaluate(
            request["labels"],
            request["scores"],
            route=request["route"],
            action=request["action"],
            traits=traits_of(compiled, request),
        )
        said = {"outcome": verdict.outcome, "rule": verdict.rule, "counted": list(verdict.counted)}
        assert said == {key: request[key] for key in said}, request


def test_every_condition_has_its_case() -> None:
    names = {path.stem for path in (CASES / "rules").glob("*.json")}

    assert {condition.keys[0] for condition in CONDITIONS} <= names


@pytest.mark.parametrize("path", files("text/good"))
def test_a_good_text_is_read_as_in_the_case(path: Path) -> None:
    case = read(path)

    value = read_text(case["text"]).value

    # As JSON, because Python calls 1, 1.0 and true equal.
    assert json.dumps(value) == json.dumps(case["value"])


@pytest.mark.parametrize("path", files("text/bad"))
def test_a_bad_text_is_blocked_where_the_case_shows(path: Path) -> None:
    case = read(path)

    with pytest.raises(TextProblem) as refused:
        read_text(case["text"])

    assert case["says"] in refused.value.message
    assert refused.value.place == (case["line"], case["column"])


@pytest.mark.parametrize("path", files("managed"))
def test_a_managed_group_matches_what_its_cases_say(path: Path) -> None:
    name, _, version = path.stem.rpartition("-")
    rule_set = RuleSet(version="1", rules=[{"group": name, "version": int(version)}], default_action="allow")
    compiled = compile_rules(effective_set(rule_set, {}))

    for case in read(path):
        verdict = compiled.evaluate(case["labels"], case["scores"], route="*", action=None)
        assert verdict.rule == case["rule"], case


def test_every_managed_group_has_cases_for_each_member_and_for_none() -> None:
    for (name, version), group in managed_groups().items():
        if (name, version) in PRESETS.values():
            # Their conditions are on requests: test_presets has whole requests.
            continue
        named = {case["rule"] for case in read(CASES / "managed" / f"{name}-{version}.json")}
        deciding = {member.name for member in group.rules if member.action != "count"}
        assert named == {*deciding, None}, name


def test_a_published_version_of_a_group_never_changes() -> None:
    locked = dict(line.split() for line in LOCK.read_text(encoding="utf-8").splitlines())

    assert {f"{group.name}-{group.version}": group.digest for group in managed_groups().values()} == locked


def test_the_digest_matches_the_file_whatever_the_order_of_its_keys() -> None:
    members = read(MANAGED / "rate-2.json")["rules"]

    assert managed_groups()["rate", 2].digest == members_digest([dict(reversed(each.items())) for each in members])
    assert re.fullmatch("[0-9a-f]{16}", members_digest(members))
    assert members_digest(members) != members_digest(members[::-1])


def test_every_file_is_named_after_its_group_and_version() -> None:
    assert {path.stem for path in MANAGED.glob("*.json")} == {f"{name}-{version}" for name, version in managed_groups()}


def test_the_groups_that_the_contract_asks_for_exist() -> None:
    wanted = ["automation", "impersonation", "ai-agents", "low-harm-clients", "datacenter", "rate", "content-spam"]

    assert {name for name, _ in managed_groups()} >= set(wanted)
