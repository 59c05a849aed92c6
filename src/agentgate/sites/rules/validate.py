"""Whether a rule set is valid: everything that is wrong with it, each with the rule and the part that it is about.

Valid but probably mistaken rules are found by `lints`.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from msgspec import Struct

from agentgate.lib.enums import Outcome, Preset, RuleAction
from agentgate.lib.limits import (
    GLOBS_PER_SET,
    NETWORKS_PER_SET,
    RULE_SET_DEPTH,
    RULE_SET_TEXT_BYTES,
    RULES_PER_SET,
)
from agentgate.lib.records import ACTION_PATTERN
from agentgate.sites.rules.conditions import present
from agentgate.sites.rules.effective import PRESETS, canonical_json, group_versions, is_group, managed_groups
from agentgate.sites.rules.rate import RATE, RATES_PER_SET, check_rate
from agentgate.sites.rules.request_conditions import count_patterns
from agentgate.sites.rules.schedule import check_schedule
from agentgate.sites.rules.text import Path

# Bounded: a hostile set could have thousands.
MOST_PROBLEMS = 100
MESSAGE_CHARACTERS = 200
LEAST_STATUS, MOST_STATUS = 400, 599
RETRY_AFTER_MOST_S = 86_400
MOST_THRESHOLDS, MOST_ADDED = 10, 100
LEAST_WEIGHT, MOST_WEIGHT = -1_000, 1_000

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}\Z")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}\Z")
_ACTION_NAME = re.compile(ACTION_PATTERN)
# A path as sites name routes, with a star at the end or none.
_ROUTE = re.compile(r"(?:\*|/[!-)+-~]{0,1024}\*?)\Z")
_PRINTABLE = re.compile(r"[ -~]{1,200}\Z")

_ACTIONS = ", ".join(RuleAction)
_OUTCOMES = ", ".join(Outcome)


class Problem(Struct, frozen=True):
    """A problem of a rule set. Its path is None for a problem of the overrides."""

    path: Path | None
    message: str
    rule: str | None = None


def check_rules(document: Any, overrides: Mapping[str, str], preset: Preset = Preset.NONE) -> list[Problem]:
    """Return the problems of a set and its overrides, at most a hundred."""
    return list(islice(_problems(document, overrides, preset), MOST_PROBLEMS))


def _problems(document: Any, overrides: Mapping[str, str], preset: Preset) -> Iterator[Problem]:
    if not isinstance(document, dict):
        yield Problem((), "A rule set is an object with version, rules and default_action.")
        return
    if _is_deep(document):
        yield Problem((), f"The rule set is nested too deeply: at most {RULE_SET_DEPTH} levels are allowed.")
        return
    if len(canonical_json(document).encode("utf-8", "replace")) > RULE_SET_TEXT_BYTES:
        yield Problem((), f"The rule set is too large. As JSON it may have at most {RULE_SET_TEXT_BYTES // 1024} KiB.")
        return
    yield from _check_top(document)
    members = managed_groups()[PRESETS[preset]].rules if preset in PRESETS else []
    names = {member.name: f"the preset {preset}" for member in members}
    if isinstance(document.get("rules"), list):
        for index, item in enumerate(document["rules"][:RULES_PER_SET]):
            yield from _check_item(("rules", index), item, names)
        yield from _check_amounts(document["rules"])
    yield from _check_overrides(None, overrides, names)


def _check_amounts(rules: list[Any]) -> Iterator[Problem]:
    """Report a set with too many globs, networks or rates to match with each new request."""
    globs = networks = 0
    for item in rules[:RULES_PER_SET]:
        for match in (item.get("match"), item.get("scope_down")) if isinstance(item, dict) else ():
            found = count_patterns(match) if isinstance(match, dict) else (0, 0)
            globs, networks = globs + found[0], networks + found[1]
    rates = sum(isinstance(item, dict) and RATE in item for item in rules[:RULES_PER_SET])
    for count, most, what in (
        (globs, GLOBS_PER_SET, "globs"),
        (networks, NETWORKS_PER_SET, "networks"),
        (rates, RATES_PER_SET, "rates"),
    ):
        if count > most:
            yield Problem(("rules",), f"The rules have {count} {what}; at most {most} are allowed in a set.")


def _check_top(document: Mapping[str, Any]) -> Iterator[Problem]:
    for key in ("version", "rules", "default_action"):
        if key not in document:
            yield Problem((), f"{key} is missing. A rule set has version, rules and default_action.")
    version, rules = document.get("version", "1"), document.get("rules", [])
    if not isinstance(version, str) or _VERSION.match(version) is None:
        yield Problem(
            ("version",),
            "version must be text of 1 to 64 letters, digits, dots, hyphens and the like; put a number in quotes.",
        )
    if not isinstance(rules, list):
        yield Problem(("rules",), "rules must be a list of rules and managed groups.")
    elif len(rules) > RULES_PER_SET:
        yield Problem(
            ("rules", RULES_PER_SET),
            f"rules has {len(rules)} entries; at most {RULES_PER_SET} are allowed. A group counts as one.",
        )
    if not _is_one_of(document.get("default_action", Outcome.ALLOW), Outcome):
        yield Problem(("default_action",), f"default_action must be one of {_OUTCOMES}.")
    yield from _check_thresholds(document.get("thresholds", []))


def _check_thresholds(thresholds: Any) -> Iterator[Problem]:
    if not isinstance(thresholds, list) or len(thresholds) > MOST_THRESHOLDS:
        yield Problem(("thresholds",), f"thresholds must be a list of at most {MOST_THRESHOLDS} entries.")
        return
    seen = set()
    for index, each in enumerate(thresholds):
        path = ("thresholds", index)
        if not isinstance(each, dict) or set(each) != {"at_least", "action"}:
            yield Problem(path, "A threshold has at_least and action, such as {at_least: 10, action: challenge}.")
            continue
        if not _is_within(each["at_least"], LEAST_WEIGHT, MOST_WEIGHT) or each["at_least"] in seen:
            yield Problem(
                (*path, "at_least"), f"at_least must be an integer from {LEAST_WEIGHT} to {MOST_WEIGHT}, each once."
            )
        elif not _is_one_of(each["action"], Outcome):
            yield Problem((*path, "action"), f"The action of a threshold must be one of {_OUTCOMES}.")
        else:
            seen.add(each["at_least"])


def _check_item(path: Path, item: Any, names: dict[str, str]) -> Iterator[Problem]:
    if not isinstance(item, dict):
        yield Problem(path, "An entry of rules must be a rule with name, match and action, or a managed group.")
    elif is_group(item):
        yield from _check_group(path, item, names)
    else:
        yield from _check_rule(path, item, names)


def _check_rule(path: Path, item: Mapping[str, Any], names: dict[str, str]) -> Iterator[Problem]:
    name = item.get("name")
    if not isinstance(name, str) or _NAME.match(name) is None:
        yield Problem(
            (*path, "name") if "name" in item else path,
            "A rule needs a name of 1 to 64 letters, digits and _ . : - that starts with a letter or digit.",
        )
        name = None
    elif name in names:
        yield Problem((*path, "name"), f"The name {name} is taken by {names[name]}. Choose another.", name)
    else:
        names[name] = "another rule"
    if not _is_one_of(item.get("action"), RuleAction):
        where = (*path, "action") if "action" in item else path
        yield Problem(where, f"action must be one of {_ACTIONS}.", name)
    if "add" in item and not (
        item.get("action") == RuleAction.COUNT and _is_within(item["add"], -MOST_ADDED, MOST_ADDED)
    ):
        says = f"add must be an integer from -{MOST_ADDED} to {MOST_ADDED}, in a rule with action: count."
        yield Problem((*path, "add"), says, name)
    if "match" not in item:
        yield Problem(path, "match is missing. Write {} to match every request.", name)
    for key in ("match", "scope_down"):
        if key in item:
            yield from _check_match((*path, key), item[key], name)
    yield from (Problem((*path, key), message, name) for key, message in (*check_schedule(item), *check_rate(item)))
    if "routes" in item:
        yield from _check_routes((*path, "routes"), item["routes"], name)
    if "response" in item:
        yield from _check_response((*path, "response"), item["response"], name)


def _check_match(path: Path, match: Any, rule: str | None) -> Iterator[Problem]:
    if not isinstance(match, dict):
        yield Problem(path, f"{path[-1]} must be an object of conditions; write {{}} to match every request.", rule)
        return
    for condition in present(match):
        for inner, message in condition.check(match):
            yield Problem((*path, *inner), message, rule)


def _check_routes(path: Path, routes: Any, rule: str | None) -> Iterator[Problem]:
    if not isinstance(routes, list):
        yield Problem(path, "routes must be a list of actions and routes, such as [login, /api/*].", rule)
        return
    for index, entry in enumerate(routes):
        fits = isinstance(entry, str) and (_ROUTE.match(entry) or _ACTION_NAME.match(entry))
        if not fits:
            yield Problem(
                (*path, index),
                "An entry of routes is an action such as login, or a route such as /login or /api/* (star at the end).",
                rule,
            )


def _check_response(path: Path, response: Any, rule: str | None) -> Iterator[Problem]:
    if not isinstance(response, dict):
        yield Problem(path, "response must be an object with status, message or retry_after.", rule)
        return
    if "status" in response and not _is_within(response["status"], LEAST_STATUS, MOST_STATUS):
        yield Problem((*path, "status"), f"status must be an integer from {LEAST_STATUS} to {MOST_STATUS}.", rule)
    message = response.get("message", "-")
    if not isinstance(message, str) or _PRINTABLE.match(message) is None:
        yield Problem(
            (*path, "message"), f"message must be 1 to {MESSAGE_CHARACTERS} printable ASCII characters.", rule
        )
    if "retry_after" in response and not _is_within(response["retry_after"], 0, RETRY_AFTER_MOST_S):
        yield Problem(
            (*path, "retry_after"), f"retry_after must be an integer from 0 to {RETRY_AFTER_MOST_S} seconds.", rule
        )


def _check_group(path: Path, item: Mapping[str, Any], names: dict[str, str]) -> Iterator[Problem]:
    name, version = item["group"], item.get("version")
    versions = group_versions(name) if isinstance(name, str) else []
    if not versions:
        known = ", ".join(dict.fromkeys(group for group, _ in managed_groups()))
        yield Problem((*path, "group"), f"Unknown managed group. Use one of {known}.")
        return
    if not isinstance(version, int) or isinstance(version, bool) or version not in versions:
        where = (*path, "version") if "version" in item else path
        yield Problem(where, f"version of the group {name} must be one of {', '.join(map(str, versions))}.")
        return
    members = {member.name: f"the managed group {name}" for member in managed_groups()[name, version].rules}
    for member in members:
        if member in names:
            yield Problem(
                (*path, "group"), f"The name {member} of the group {name} is taken by {names[member]}.", member
            )
    names |= members
    yield from (Problem((*path, key), message) for key, message in check_schedule(item))
    if "scope_down" in item:
        yield from _check_match((*path, "scope_down"), item["scope_down"], None)
    if "overrides" in item:
        yield from _check_overrides((*path, "overrides"), item["overrides"], members)


def _check_overrides(path: Path | None, overrides: Any, names: Mapping[str, str]) -> Iterator[Problem]:
    if not isinstance(overrides, Mapping):
        yield Problem(path, "overrides must be an object from names of rules to actions.")
        return
    for name, action in overrides.items():
        where = None if path is None else (*path, name)
        if name not in names:
            scope = "in the set" if path is None else "in this group"
            yield Problem(where, f"overrides names {name[:64]}, but there is no such rule {scope}.", name[:64])
        elif not _is_one_of(action, RuleAction):
            yield Problem(where, f"The override of {name} must be one of {_ACTIONS}.", name)


def _is_one_of(value: Any, kind: type[RuleAction | Outcome]) -> bool:
    return isinstance(value, str) and value in tuple(kind)


def _is_within(value: Any, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _is_deep(document: Any) -> bool:
    level = [document]
    for _ in range(RULE_SET_DEPTH):
        level = [part for each in level for part in _parts(each)]
    return bool(level)


def _parts(value: Any) -> list[Any]:
    parts = value.values() if isinstance(value, dict) else value
    return [part for part in parts if isinstance(part, dict | list)]
