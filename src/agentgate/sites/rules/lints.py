"""Lints: rules that are valid but probably a mistake. Each names the rule and shows a request that proves it.

A rule may be dead, shadowed, redundant or contradict another; a label or key may be unknown; a group may be
unreachable. All of it follows from the set alone, without traffic.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from difflib import get_close_matches
from itertools import islice
from typing import Any

from msgspec import Struct, UnsetType
from msgspec.structs import replace

from agentgate.lib.enums import RuleAction
from agentgate.lib.records import optional
from agentgate.sites.rules.compile import can_match, matches_of
from agentgate.sites.rules.conditions import known_keys, terms_of, unknown_keys
from agentgate.sites.rules.effective import is_group, managed_groups
from agentgate.sites.rules.labels import LABELS, is_label
from agentgate.sites.rules.logic import RuleCondition, find_shared_witness, find_witness, implies, is_dead
from agentgate.sites.rules.rate import RATE
from agentgate.sites.rules.records import GROUP_KEYS, RULE_KEYS, SET_KEYS, RuleLint, RuleResponse, RuleSet, Witness
from agentgate.sites.rules.schedule import SCHEDULE_KEYS, is_scheduled, why_inactive
from agentgate.sites.rules.terms import has_prefix
from agentgate.sites.rules.text import Path

# Limits. That of unknown words is lower, as finding the nearest word takes a while.
MOST_LINTS = 100
# Pairs of rules with opposite actions that are compared. Each takes about 0.1 ms.
MOST_COMPARED = 2_000
MOST_UNKNOWN = 40
_OPPOSITE = ({RuleAction.ALLOW, RuleAction.BLOCK}, {RuleAction.ALLOW, RuleAction.DROP})
_LIST_KEYS = ("network_lists", "not_network_lists")
# Keys of a rule that limit it, as conditions do in its match.
_LIMITS = ("match", "routes", "scope_down", RATE, *SCHEDULE_KEYS)
# Unknown keys of rules that are compared with those, and the least resemblance.
MOST_RESEMBLING, RESEMBLANCE = 200, 0.8


# The position of a lint's rule, label or key in the set, and the lint.
PlacedLint = tuple[Path, RuleLint]


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
    # It is not always active: it has a schedule or a rate.
    is_at_times: bool
    # A request that it matches, where one is found.
    witness: Witness | UnsetType


def find_lints(document: Mapping[str, Any], effective: RuleSet) -> list[PlacedLint]:
    """Return the lints of a valid set, at most a hundred."""
    rules = list(_placed(document, effective))
    unreached = _unreached(rules)
    found = (
        *unreached.values(),
        *_groups(rules, unreached),
        *_redundant(rules, unreached, effective.default_action, has_thresholds=bool(effective.thresholds)),
        *islice(_contradictory(rules, unreached), MOST_LINTS),
        *islice(_unknown_labels(document), MOST_UNKNOWN),
        *islice(_unknown_keys(document), MOST_UNKNOWN),
        *find_warnings(document),
    )
    # Problems of single members belong to the group, and not to the site that refers to it.
    members = {rule.name for rule in rules if rule.group is not None}
    own = [each for each in found if each[1].kind == "unreachable_group" or each[1].rule not in members]
    return own[:MOST_LINTS]


def find_schedules(document: Mapping[str, Any], now_ms: int) -> list[PlacedLint]:
    """Return the rules and groups of a valid set that are not active now, each with its reason."""
    found: list[PlacedLint] = []
    for index, item in enumerate(document["rules"]):
        why = why_inactive(item, now_ms)
        if why is not None:
            name = item["group"] if is_group(item) else item["name"]
            message = f"{name} is not active now: {why}."
            rule = optional(None if is_group(item) else name)
            found.append((("rules", index), RuleLint(kind="inactive", message=message, rule=rule)))
    return found[:MOST_UNKNOWN]


def find_warnings(document: Mapping[str, Any]) -> list[PlacedLint]:
    """Return the unknown conditions of a valid set. Their rules match nothing, so a person confirms them first."""
    return list(islice(_unknown_conditions(document), MOST_UNKNOWN))


def find_ignored_limits(document: Mapping[str, Any]) -> list[PlacedLint]:
    """Return keys of rules that are ignored and resemble what limits a rule, which then matches more than was meant."""
    unknown = (
        (index, item, key) for index, item in enumerate(document["rules"]) for key in item if key not in _keys_of(item)
    )
    known = (*_LIMITS, *known_keys())
    found: list[PlacedLint] = []
    for index, item, key in islice(unknown, MOST_RESEMBLING):
        nearest = get_close_matches(key[:40], known, n=1, cutoff=RESEMBLANCE)
        if nearest and len(found) < MOST_UNKNOWN:
            place = "" if nearest[0] in _LIMITS else " in match"
            what = f"the group {item['group']}" if is_group(item) else f"the rule {item['name']}"
            message = f"{key[:40]} is ignored and does not limit {what}. Did you mean {nearest[0]}{place}?"
            lint = RuleLint(kind="unknown_key", message=message, rule=optional(item.get("name") or None))
            found.append((("rules", index, key), lint))
    return found


def find_unknown_lists(document: Mapping[str, Any], known: Collection[str]) -> list[PlacedLint]:
    """Return the names of network lists that the site does not have. A condition on one matches no address."""
    found: list[PlacedLint] = []
    named = (
        ((*path, key, at), name, rule, document["rules"][path[1]])
        for path, match, rule in _matches(document)
        for key in _LIST_KEYS
        for at, name in enumerate(match.get(key, ()))
    )
    for path, name, rule, item in islice((each for each in named if each[1] not in known), MOST_UNKNOWN):
        what = f"the rule {rule}" if rule else f"the group {item['group']}"
        message = f"{what} names {name}, which is not a network list of the site.{_nearest(name, known)}"
        found.append(
            (path, RuleLint(kind="unknown_list", message=message[0].upper() + message[1:], rule=optional(rule)))
        )
    return found


def _unknown_conditions(document: Mapping[str, Any]) -> Iterator[PlacedLint]:
    for path, match, rule in _matches(document):
        item = document["rules"][path[1]]
        what = f"the rule {rule}" if rule else f"the group {item['group']}"
        for key in unknown_keys(match):
            nearest = get_close_matches(key[:40], known_keys(), n=1, cutoff=0.0)[0]
            message = f"{key[:40]} is not a condition, so {what} matches nothing. Did you mean {nearest}?"
            yield (*path, key), RuleLint(kind="unknown_key", message=message, rule=optional(rule))


def _placed(document: Mapping[str, Any], effective: RuleSet) -> Iterator[_Placed]:
    members = iter(effective.rules)
    for entry, item in enumerate(document["rules"]):
        group = item["group"] if is_group(item) else None
        for rule in filter(can_match, islice(members, _size(item))):
            asked = RuleCondition(terms_of(matches_of(rule)), tuple(rule.get("routes", ())))
            yield _Placed(
                entry=entry,
                group=group,
                name=rule["name"],
                action=RuleAction(rule["action"]),
                responds="response" in rule,
                asked=asked,
                dead=is_dead(asked),
                is_at_times=is_scheduled(rule) or RATE in rule,
                witness=optional(find_witness(asked)),
            )


def _size(item: Mapping[str, Any]) -> int:
    return len(managed_groups()[item["group"], item["version"]].rules) if is_group(item) else 1


def _unreached(rules: list[_Placed]) -> dict[str, PlacedLint]:
    """Return dead and shadowed rules by name."""
    found: dict[str, PlacedLint] = {}
    for index, rule in enumerate(rules):
        path: Path = ("rules", rule.entry)
        if rule.dead:
            message = f"{rule.name} can never match: it requires something that it also excludes."
            found[rule.name] = path, RuleLint(kind="dead", message=message, rule=rule.name)
            continue
        # A rule that never matches, is not always active or only counts shadows nothing.
        earlier = (
            each for each in rules[:index] if not (each.dead or each.is_at_times) and each.action != RuleAction.COUNT
        )
        shadow = next((each for each in earlier if implies(rule.asked, each.asked)), None)
        if shadow is not None:
            message = f"{rule.name} is never reached: {shadow.name} comes first and matches whenever it does."
            found[rule.name] = (
                path,
                RuleLint(kind="shadowed", message=message, rule=rule.name, other=shadow.name, witness=rule.witness),
            )
    return found


def _groups(rules: list[_Placed], unreached: Mapping[str, PlacedLint]) -> Iterator[PlacedLint]:
    entries = dict.fromkeys((rule.entry, rule.group) for rule in rules if rule.group is not None)
    for entry, group in entries:
        members = [rule for rule in rules if rule.entry == entry]
        if all(member.name in unreached for member in members):
            path, first = unreached[members[0].name]
            yield (
                path,
                replace(first, kind="unreachable_group", message=f"No rule of the group {group} is ever reached."),
            )


def _redundant(
    rules: list[_Placed], unreached: Mapping[str, PlacedLint], default_action: str, *, has_thresholds: bool
) -> Iterator[PlacedLint]:
    for rule in () if has_thresholds else reversed(rules):
        if rule.dead:
            continue
        # Shadowed rules are included: without the rule that shadows it, such a rule would be reached.
        if rule.action != default_action or rule.responds:
            return
        if rule.name in unreached:
            continue
        message = f"Without {rule.name} the outcome would be the same: the default is {default_action} too."
        lint = RuleLint(kind="redundant", message=message, rule=rule.name, witness=rule.witness)
        yield ("rules", rule.entry), lint


def _contradictory(rules: list[_Placed], unreached: Mapping[str, PlacedLint]) -> Iterator[PlacedLint]:
    own = [rule for rule in rules if rule.group is None and rule.name not in unreached and not rule.is_at_times]
    pairs = ((rule, earlier) for index, rule in enumerate(own) for earlier in own[:index])
    opposite = ((rule, earlier) for rule, earlier in pairs if {rule.action, earlier.action} in _OPPOSITE)
    for rule, earlier in islice(opposite, MOST_COMPARED):
        # An exception before its rule is intended.
        if implies(earlier.asked, rule.asked):
            continue
        witness = find_shared_witness(earlier.asked, rule.asked)
        if witness is not None:
            message = (
                f"{earlier.name} ({earlier.action}) and {rule.name} ({rule.action}) match the same requests; "
                f"{earlier.name} comes first and wins."
            )
            lint = RuleLint(kind="contradictory", message=message, rule=rule.name, other=earlier.name, witness=witness)
            yield ("rules", rule.entry), lint


def _unknown_labels(document: Mapping[str, Any]) -> Iterator[PlacedLint]:
    names = [label.name for label in LABELS]
    for path, match, rule in _matches(document):
        for key, known in (
            *((key, is_label) for key in ("all_labels", "any_labels", "none_labels")),
            ("any_prefix", _is_prefix),
        ):
            for index, label in enumerate(match.get(key, ())):
                if not known(label):
                    message = f"{label} is not a known label.{_nearest(label, names)}"
                    yield (*path, key, index), RuleLint(kind="unknown_label", message=message, rule=optional(rule))


def _is_prefix(prefix: str) -> bool:
    # The name of a family ends in a star, which is one more part.
    return is_label(prefix) or any(has_prefix(label.name, (prefix,)) for label in LABELS)


def _matches(document: Mapping[str, Any]) -> Iterator[tuple[Path, Mapping[str, Any], str | None]]:
    for index, item in enumerate(document["rules"]):
        for key in ("match", "scope_down"):
            if key in item:
                yield ("rules", index, key), item[key], item.get("name") or None


def _unknown_keys(document: Mapping[str, Any]) -> Iterator[PlacedLint]:
    yield from _key_lint((), document, SET_KEYS, None)
    for index, item in enumerate(document["rules"]):
        name = item.get("name") or None
        yield from _key_lint(("rules", index), item, _keys_of(item), name)
        response = item.get("response", {})
        yield from _key_lint(("rules", index, "response"), response, RuleResponse.__struct_fields__, name)


def _keys_of(item: Mapping[str, Any]) -> tuple[str, ...]:
    return GROUP_KEYS if is_group(item) else RULE_KEYS


def _key_lint(path: Path, found: Mapping[str, Any], known: tuple[str, ...], rule: str | None) -> Iterator[PlacedLint]:
    for key in found:
        if key not in known:
            message = f"{key[:40]} is unknown here and is ignored.{_nearest(key[:40], known)}"
            yield (*path, key), RuleLint(kind="unknown_key", message=message, rule=optional(rule))


def _nearest(word: str, known: Iterable[str]) -> str:
    nearest = get_close_matches(word, list(known), n=1, cutoff=0.7)
    return f" Did you mean {nearest[0]}?" if nearest else ""
