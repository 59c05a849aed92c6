"""Lints: each is true, its witness shows it, and its claim holds for every request that random search finds."""

from random import Random
from typing import Any

import pytest

from agentgate.sites.rules.compile import compile_rules
from agentgate.sites.rules.conditions import terms_of
from agentgate.sites.rules.effective import effective_of, effective_set, read_set, server_document
from agentgate.sites.rules.evaluate import CompiledRules, RuleVerdict
from agentgate.sites.rules.lints import MOST_COMPARED, PlacedLint, find_lints
from agentgate.sites.rules.logic import find_shared_witness
from agentgate.sites.rules.records import RuleLint, RuleSet, Witness
from tests.support.request_traits import traits_of
from tests.support.rule_reference import applies, flat, matches, new_request, new_set

TOR = {"all_labels": ["net.tor"]}


def rule(name: str, action: str, match: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": name, "match": match, "action": action, **more}


def lints(*rules: dict[str, Any], default: str = "allow") -> list[RuleLint]:
    return [lint for _, lint in placed(*rules, default=default)]


def placed(*rules: dict[str, Any], default: str = "allow") -> list[PlacedLint]:
    document = {"version": "1", "rules": list(rules), "default_action": default}
    return find_lints(document, effective_set(read_set(document), {}))


def kinds(found: list[RuleLint]) -> list[tuple[str, str | None, str | None]]:
    return [(lint.kind, lint.rule or None, lint.other or None) for lint in found]


def test_the_servers_own_set_has_no_lint() -> None:
    assert find_lints(server_document(), effective_of(None)) == []


@pytest.mark.parametrize(
    "match",
    [
        {"all_labels": ["net.tor"], "none_labels": ["net.tor"]},
        {"any_labels": ["net.tor", "net.vpn"], "none_labels": ["net.vpn", "net.tor"]},
    ],
)
def test_a_rule_that_contradicts_itself_is_dead(match: dict[str, Any]) -> None:
    assert kinds(lints(rule("a", "block", match))) == [("dead", "a", None)]


def test_a_choice_by_prefix_is_never_exhausted() -> None:
    match = {"any_prefix": ["net.asn"], "none_labels": ["net.asn.any", "net.asn.any_0"]}

    assert [lint.kind for lint in lints(rule("a", "block", match))] == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({}, TOR),
        ({"any_labels": ["net.tor", "net.vpn"]}, TOR),
        ({"any_labels": ["net.tor", "net.vpn"]}, {"any_labels": ["net.vpn"]}),
        ({"all_labels": ["net.vpn"]}, {"any_labels": ["net.vpn", "net.tor"], "none_labels": ["net.tor"]}),
        ({"any_prefix": ["net"]}, {"any_prefix": ["net.asn"]}),
        ({"any_prefix": ["net", "ua"]}, {"any_labels": ["net.tor", "ua.git"]}),
        ({"score": "bot", "min_score": 0.5}, {"score": "bot", "min_score": 0.9}),
        ({"none_labels": ["ua.git"]}, {"none_labels": ["ua.git", "net.tor"]}),
    ],
)
def test_a_rule_that_follows_from_an_earlier_one_is_shadowed(first: dict[str, Any], second: dict[str, Any]) -> None:
    found = lints(rule("a", "challenge", first), rule("b", "block", second))

    assert kinds(found) == [("shadowed", "b", "a")]
    assert kinds(lints(rule("a", "challenge", second), rule("b", "block", first))) == []


def test_a_rule_that_counts_or_is_dead_shadows_nothing() -> None:
    dead = {"all_labels": ["net.tor"], "none_labels": ["net.tor"]}

    assert kinds(lints(rule("a", "count", {}), rule("b", "block", TOR))) == []
    assert kinds(lints(rule("a", "block", dead), rule("b", "challenge", TOR))) == [("dead", "a", None)]


@pytest.mark.parametrize(
    ("first", "second", "shadowed"),
    [
        (["/api/*"], ["/api/v2/*"], True),
        (["/api/*", "login"], ["login", "/api/x"], True),
        (["*"], ["login"], True),
        ([], ["login"], True),
        (["login"], [], False),
        (["/api/v2/*"], ["/api/*"], False),
        (["login"], ["/login"], False),
        (["/*"], ["*"], False),
        (["/*"], ["login"], False),
    ],
)
def test_routes_decide_whether_a_rule_is_shadowed(first: list[str], second: list[str], *, shadowed: bool) -> None:
    found = lints(rule("a", "challenge", {}, routes=first), rule("b", "block", TOR, routes=second))

    assert kinds(found) == ([("shadowed", "b", "a")] if shadowed else [])


def test_a_last_rule_that_shows_what_the_default_shows_is_redundant() -> None:
    found = lints(rule("a", "challenge", TOR), rule("b", "allow", {"all_labels": ["ua.git"]}))

    assert kinds(found) == [("redundant", "b", None)]
    assert kinds(lints(rule("b", "allow", {"all_labels": ["ua.git"]}), rule("a", "challenge", TOR))) == []
    assert kinds(lints(rule("a", "block", TOR, response={"status": 429}), default="block")) == []


def test_an_allow_and_a_block_that_overlap_are_contradictory() -> None:
    found = lints(rule("a", "allow", {"all_labels": ["ua.git"]}, routes=["login"]), rule("b", "block", TOR))

    assert kinds(found) == [("contradictory", "b", "a")]
    witness = found[0].witness
    assert isinstance(witness, Witness)
    assert (witness.labels, witness.route, witness.action) == (["net.tor", "ua.git"], "*", "login")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        # An exception before its rule.
        (rule("a", "allow", {"all_labels": ["net.tor", "ua.git"]}), rule("b", "block", TOR)),
        # No request is both.
        (rule("a", "allow", TOR), rule("b", "block", {"none_labels": ["net.tor"], "all_labels": ["ua.git"]})),
        (rule("a", "allow", TOR, routes=["/a"]), rule("b", "block", {"all_labels": ["ua.git"]}, routes=["/b"])),
        # Not opposite.
        (rule("a", "challenge", TOR), rule("b", "block", {"all_labels": ["ua.git"]})),
    ],
)
def test_exceptions_and_rules_that_never_meet_are_not_contradictory(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
    assert kinds(lints(first, second)) == []


def test_a_group_behind_a_rule_for_everything_is_unreachable() -> None:
    found = lints(rule("a", "block", {}), {"group": "rate", "version": 2})

    assert [lint.kind for lint in found] == ["unreachable_group"]
    assert "rate" in found[0].message


def test_a_single_member_out_of_reach_is_not_a_lint() -> None:
    assert (
        kinds(lints(rule("a", "block", {"all_labels": ["rate.visitor.high"]}), {"group": "rate", "version": 2})) == []
    )


def test_an_unknown_label_is_reported_with_the_nearest_one() -> None:
    found = placed(rule("a", "block", {"any_labels": ["net.torr", "net.asn.64500"], "any_prefix": ["nett", "net"]}))

    assert [(lint.kind, path) for path, lint in found] == [
        ("unknown_label", ("rules", 0, "match", "any_labels", 0)),
        ("unknown_label", ("rules", 0, "match", "any_prefix", 0)),
    ]
    assert "Did you mean net.tor?" in found[0][1].message


def test_an_unknown_key_is_reported_with_the_nearest_one() -> None:
    found = placed(rule("a", "block", {"any_label": ["net.tor"]}, respose={}))

    assert [(lint.kind, path) for path, lint in found] == [
        ("unknown_key", ("rules", 0, "respose")),
        ("unknown_key", ("rules", 0, "match", "any_label")),
    ]
    assert "Did you mean any_labels?" in found[1][1].message


def holds(item: dict[str, Any], request: dict[str, Any]) -> bool:
    return applies(item.get("routes") or [], request) and all(matches(match, request) for match in item["matches"])


def both_bits(compiled: CompiledRules, items: list[dict[str, Any]]) -> int:
    if compiled.predicates is None:
        return 0
    terms = terms_of([match for item in items for match in item["matches"]])
    return sum(compiled.predicates.bits[each] for each in terms.holding | terms.failing)


def asks_for_globs(item: dict[str, Any]) -> bool:
    """Say whether a rule has a condition for which a request need not be found."""
    return bool(terms_of(item["matches"]).holding)


def shown(said: Witness) -> dict[str, Any]:
    """Return a witness as the reference reads requests."""
    defaults = {"address": "192.0.2.1", "method": "GET", "host": "other.example", "path": "/other"}
    pairs = dict(said.query or {})
    pairs |= {f"filler{number}": "x" for number in range((said.parameters or 0) - len(pairs))}
    return {
        "query": "&".join(f"{name}={value}" for name, value in pairs.items()),
        "labels": frozenset(said.labels),
        "scores": said.scores,
        "route": said.route,
        "action": said.action or None,
        **{name: getattr(said, name) or value for name, value in defaults.items()},
        "headers": said.headers or {},
    }


def evaluated(rules: CompiledRules, request: dict[str, Any]) -> RuleVerdict:
    return rules.evaluate(
        sorted(request["labels"]),
        request["scores"],
        route=request["route"],
        action=request["action"],
        traits=traits_of(rules, request),
    )


def check(rule_set: dict[str, Any], lint: RuleLint, requests: list[dict[str, Any]]) -> None:
    """Hold one lint against the reference."""
    rules = {item["name"]: item for item in flat(rule_set)}
    said = lint.witness
    witness = shown(said) if isinstance(said, Witness) else None
    compiled = compile_rules(effective_set(read_set(rule_set), {}))
    if lint.kind == "dead":
        assert not any(holds(rules[lint.rule or ""], request) for request in requests)
    elif lint.kind == "shadowed":
        for request in [*([witness] if witness else []), *requests]:
            assert holds(rules[lint.other or ""], request) or not holds(rules[lint.rule or ""], request)
        assert witness is None or holds(rules[lint.rule or ""], witness)
        assert witness or asks_for_globs(rules[lint.rule or ""])
    elif lint.kind == "contradictory":
        assert witness
        assert holds(rules[lint.rule or ""], witness)
        assert holds(rules[lint.other or ""], witness)
        # Not only in one of several readings.
        both = [rules[lint.rule or ""], rules[lint.other or ""]]
        assert not traits_of(compiled, witness).maybe & both_bits(compiled, both)
    elif lint.kind == "redundant":
        fewer = {**rule_set, "rules": [item for item in rule_set["rules"] if item.get("name") != lint.rule]}
        without = compile_rules(effective_set(read_set(fewer), {}))
        for request in [*([witness] if witness else []), *requests]:
            before, after = (evaluated(each, request) for each in (compiled, without))
            assert (before.outcome, before.counted) == (after.outcome, after.counted)


def test_every_lint_of_random_sets_is_true() -> None:
    chance = Random(4)
    seen: dict[str, int] = {}
    for _ in range(600):
        rule_set = new_set(chance)
        effective: RuleSet = effective_set(read_set(rule_set), {})
        requests = [new_request(chance) for _ in range(10)]
        for _, lint in find_lints(rule_set, effective):
            seen[lint.kind] = seen.get(lint.kind, 0) + 1
            check(rule_set, lint, requests)

    assert all(seen.get(kind, 0) > 20 for kind in ("dead", "shadowed", "contradictory", "redundant")), seen


def test_comparing_many_rules_with_opposite_actions_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []

    def counting(first: Any, second: Any) -> Any:
        compared.append(first)
        return find_shared_witness(first, second)

    monkeypatch.setattr("agentgate.sites.rules.lints.find_shared_witness", counting)

    lints(*(rule(f"r{n}", ("block", "allow")[n % 2], {"all_labels": [f"net.asn.{n}"]}) for n in range(200)))

    assert 0 < len(compared) <= MOST_COMPARED
