"""Lints: rules that are valid but probably a mistake. Each names the rule and shows a request that proves it.

A rule may be dead, shadowed, redundant or contradict another; a label or key may be unknown; a group may be
unreachable. All of it follows from the set alone, without traffic.
"""

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from itertools import islice
from typing import Any

from msgspec import Struct

from agentgate.lib.enums import RuleAction
from agentgate.protection.rules.compile import matches_of
from agentgate.protection.rules.conditions import known_keys, terms_of
from agentgate.protection.rules.effective import is_group, managed_groups
from agentgate.protection.rules.logic import RuleCondition, Situation, implies, is_dead, shared_situation, situation
from agentgate.protection.rules.records import RuleSet
from agentgate.protection.rules.terms import has_prefix
from agentgate.protection.rules.text import Path
from agentgate.protection.signals.labels import LABELS, is_label

# More would not be read. Unknown words have a lower bound of their own, as finding the nearest word takes a while.
MOST_LINTS = 100
MOST_UNKNOWN = 40
_OPPOSITE = ({RuleAction.ALLOW, RuleAction.BLOCK}, {RuleAction.ALLOW, RuleAction.DROP})
_SET_KEYS = ("version", "rules", "default_action")
_RULE_KEYS = ("name", "routes", "match", "action", "response", "scope_down", "group")
_GROUP_KEYS = ("group", "version", "overrides", "scope_down", "name", "action")
_RESPONSE_KEYS = ("status", "message", "retry_after")


class Lint(Struct, frozen=True, kw_only=True):
    """One rule, label or key that is probably a mistake."""

    kind: str
    message: str
    path: Path
    rule: str | None = None
    other: str | None = None
    witness: Situation | None = None


class _Placed(Struct, frozen=True, kw_only=True):
    """A rule of the effective set, and the entry of the written set that it comes from."""

    entry: int
    # None for a rule that is written out, else the group that it belongs to.
    group: str | None
    name: str
    action: RuleAction
    responds: bool
    asked: RuleCondition
    # It can never match.
    dead: bool
    # A request that it matches, where one is found.
    witness: Situation | None


def find_lints(document: Mapping[str, Any], effective: RuleSet) -> list[Lint]:
    """Return the lints of a valid set, at most a hundred."""
    rules = list(_placed(document, effective))
    unreached = _unreached(rules)
    found = (
        *unreached.values(),
        *_groups(rules, unreached),
        *_redundant(rules, unreached, effective.default_action),
        *islice(_contradictory(rules, unreached), MOST_LINTS),
        *islice(_unknown_labels(document), MOST_UNKNOWN),
        *islice(_unknown_keys(document), MOST_UNKNOWN),
    )
    # Problems of single members belong to the group, and not to the site that refers to it.
    members = {rule.name for rule in rules if rule.group is not None}
    own = [lint for lint in found if lint.kind == "unreachable_group" or lint.rule not in members]
    return own[:MOST_LINTS]


def _placed(document: Mapping[str, Any], effective: RuleSet) -> Iterator[_Placed]:
    members = iter(effective.rules)
    for entry, item in enumerate(document["rules"]):
        group = item["group"] if is_group(item) else None
        for rule in islice(members, _size(item)):
            asked = RuleCondition(terms_of(matches_of(rule)), tuple(rule.get("routes", ())))
            yield _Placed(
                entry=entry,
                group=group,
                name=rule["name"],
                action=RuleAction(rule["action"]),
                responds="response" in rule,
                asked=asked,
                dead=is_dead(asked),
                witness=situation(asked),
            )


def _size(item: Mapping[str, Any]) -> int:
    return len(managed_groups()[item["group"], item["version"]].rules) if is_group(item) else 1


def _unreached(rules: list[_Placed]) -> dict[str, Lint]:
    """Return dead and shadowed rules by name."""
    found: dict[str, Lint] = {}
    for index, rule in enumerate(rules):
        path: Path = ("rules", rule.entry)
        if rule.dead:
            message = f"{rule.name} can never match: what it needs is also what it excludes."
            found[rule.name] = Lint(kind="dead", message=message, path=path, rule=rule.name)
            continue
        # A rule that never matches shadows nothing, and one that counts lets the request go on.
        earlier = (each for each in rules[:index] if not each.dead and each.action != RuleAction.COUNT)
        shadow = next((each for each in earlier if implies(rule.asked, each.asked)), None)
        if shadow is not None:
            found[rule.name] = Lint(
                kind="shadowed",
                message=f"{rule.name} is never reached: {shadow.name} comes first and matches whenever it does.",
                path=path,
                rule=rule.name,
                other=shadow.name,
                witness=rule.witness,
            )
    return found


def _groups(rules: list[_Placed], unreached: Mapping[str, Lint]) -> Iterator[Lint]:
    entries = dict.fromkeys((rule.entry, rule.group) for rule in rules if rule.group is not None)
    for entry, group in entries:
        members = [rule for rule in rules if rule.entry == entry]
        if all(member.name in unreached for member in members):
            first = unreached[members[0].name]
            yield Lint(
                kind="unreachable_group",
                message=f"No rule of the group {group} is ever reached.",
                path=("rules", entry),
                rule=members[0].name,
                other=first.other,
                witness=first.witness,
            )


def _redundant(rules: list[_Placed], unreached: Mapping[str, Lint], default_action: str) -> Iterator[Lint]:
    for rule in reversed(rules):
        if rule.dead:
            continue
        # A shadowed rule takes part: without the rule that shadows it, it would be reached.
        if rule.action != default_action or rule.responds:
            return
        if rule.name in unreached:
            continue
        yield Lint(
            kind="redundant",
            message=f"Without {rule.name} the outcome would be the same: the default is {default_action} too.",
            path=("rules", rule.entry),
            rule=rule.name,
            witness=rule.witness,
        )


def _contradictory(rules: list[_Placed], unreached: Mapping[str, Lint]) -> Iterator[Lint]:
    own = [rule for rule in rules if rule.group is None and rule.name not in unreached]
    for index, rule in enumerate(own):
        for earlier in own[:index]:
            # An exception that stands before its rule is how exceptions are written.
            if {rule.action, earlier.action} not in _OPPOSITE or implies(earlier.asked, rule.asked):
                continue
            witness = shared_situation(earlier.asked, rule.asked)
            if witness is not None:
                yield Lint(
                    kind="contradictory",
                    message=f"{earlier.name} says {earlier.action} and {rule.name} says {rule.action} about the same "
                    f"request; {earlier.name} comes first and wins.",
                    path=("rules", rule.entry),
                    rule=rule.name,
                    other=earlier.name,
                    witness=witness,
                )


def _unknown_labels(document: Mapping[str, Any]) -> Iterator[Lint]:
    names = [label.name for label in LABELS]
    for path, match, rule in _matches(document):
        for key, known in (
            *((key, is_label) for key in ("all_labels", "any_labels", "none_labels")),
            ("any_prefix", _is_prefix),
        ):
            for index, label in enumerate(match.get(key, ())):
                if not known(label):
                    yield Lint(
                        kind="unknown_label",
                        message=f"{label} is not in the catalogue of labels.{_nearest(label, names)}",
                        path=(*path, key, index),
                        rule=rule,
                    )


def _is_prefix(prefix: str) -> bool:
    # The name of a family ends in a star, which is one more part.
    return is_label(prefix) or any(has_prefix(label.name, (prefix,)) for label in LABELS)


def _matches(document: Mapping[str, Any]) -> Iterator[tuple[Path, Mapping[str, Any], str | None]]:
    for index, item in enumerate(document["rules"]):
        for key in ("match", "scope_down"):
            if key in item:
                yield ("rules", index, key), item[key], item.get("name") or None


def _unknown_keys(document: Mapping[str, Any]) -> Iterator[Lint]:
    lint = _key_lint
    yield from lint((), document, _SET_KEYS, None)
    for index, item in enumerate(document["rules"]):
        keys = _GROUP_KEYS if is_group(item) else _RULE_KEYS
        name = item.get("name") or None
        yield from lint(("rules", index), item, keys, name)
        yield from lint(("rules", index, "response"), item.get("response", {}), _RESPONSE_KEYS, name)
    for path, match, rule in _matches(document):
        yield from lint(path, match, known_keys(), rule)


def _key_lint(path: Path, found: Mapping[str, Any], known: Iterable[str], rule: str | None) -> Iterator[Lint]:
    known = tuple(known)
    for key in found:
        if key not in known:
            message = f"{key[:40]} means nothing here and is ignored.{_nearest(key[:40], known)}"
            yield Lint(kind="unknown_key", message=message, path=(*path, key), rule=rule)


def _nearest(word: str, known: Iterable[str]) -> str:
    nearest = get_close_matches(word, list(known), n=1, cutoff=0.7)
    return f" Did you mean {nearest[0]}?" if nearest else ""
