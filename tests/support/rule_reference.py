"""Rules as the specification words them, evaluated one by one and slowly; and random sets to hold against the service.

Nothing of `agentgate.sites.rules` is used here but the managed groups' files.
"""

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from tests.support.request_reference import new_conditions, new_parts, request_matches

MANAGED = Path(__file__).parents[2] / "src" / "agentgate" / "sites" / "rules" / "managed"
GROUPS = {
    (group["name"], group["version"]): group["rules"]
    for group in (json.loads(path.read_text(encoding="utf-8")) for path in sorted(MANAGED.glob("*.json")))
}
ACTIONS = ("allow", "challenge", "block", "drop", "count")
LABELS = (
    "net.datacenter",
    "net.tor",
    "net.asn.64500",
    "net.asn.6450",
    "net.country.de",
    "ua.headless",
    "ua.http_library",
    "ua.scanner",
    "ua.git",
    "agent.verified",
    "agent.claimed",
    "rate.visitor.high",
    "receipt.valid",
    "content.many_links",
    "content.spam_phrase",
)
PREFIXES = ("net", "net.asn", "net.asn.64500", "net.country", "ua", "agent", "rate.visitor", "receipt", "list", "ne")
ROUTES = ("/login", "/api/*", "/api/v2/*", "/", "/*", "*", "/log*", "login", "submit")
KINDS = ("agent", "bot", "content")
SEEN_ROUTES = ("/login", "/api/*", "/api/v2/*", "/apix", "*", "/", "/*")


def decide(
    rule_set: dict[str, Any], overrides: dict[str, str], request: dict[str, Any]
) -> tuple[str, str | None, dict[str, Any] | None, list[str]]:
    """Return outcome, the rule that decided or None, its response, and the rules that counted."""
    counted: list[str] = []
    for rule in flat(rule_set):
        action = overrides.get(rule["name"], rule["action"])
        if not applies(rule.get("routes") or [], request):
            continue
        if not all(matches(match, request) for match in rule["matches"]):
            continue
        if action == "count":
            counted.append(rule["name"])
            continue
        return action, rule["name"], rule.get("response"), counted
    added = {rule["name"]: rule.get("add", 0) for rule in flat(rule_set)}
    weight = sum(added[name] for name in counted)
    reached = [each for each in rule_set.get("thresholds", ()) if weight >= each["at_least"]]
    if reached:
        highest = max(reached, key=lambda each: each["at_least"])
        return highest["action"], f"weight:{highest['at_least']}", None, counted
    return rule_set["default_action"], None, None, counted


def flat(rule_set: dict[str, Any]) -> list[dict[str, Any]]:
    """Return single rules; the members of a group carry its overrides and what narrows it down."""
    found = []
    for entry in rule_set["rules"]:
        if "group" not in entry:
            found.append({**entry, "matches": [entry["match"]]})
            continue
        for member in GROUPS[entry["group"], entry["version"]]:
            action = entry.get("overrides", {}).get(member["name"], member["action"])
            found.append({**member, "action": action, "matches": [member["match"], entry.get("scope_down", {})]})
    return found


def applies(routes: list[str], request: dict[str, Any]) -> bool:
    """Say whether a rule applies where the request goes."""
    if not routes:
        return True
    for entry in routes:
        if entry in (request["route"], request["action"]):
            return True
        if entry.endswith("*") and request["route"].startswith(entry[: len(entry) - 1]):
            return True
    return False


# The meaning of each condition on labels and scores. A new condition is a line here.
MEANINGS: dict[str, Callable[[Any, dict[str, Any], dict[str, Any]], bool]] = {
    "all_labels": lambda given, _, request: all(label in request["labels"] for label in given),
    "any_labels": lambda given, _, request: any(label in request["labels"] for label in given),
    "none_labels": lambda given, _, request: not any(label in request["labels"] for label in given),
    "any_prefix": lambda given, _, request: any(starts(label, each) for label in request["labels"] for each in given),
    "score": lambda kind, match, request: request["scores"].get(kind, -1.0) >= match["min_score"],
}


def matches(match: dict[str, Any], request: dict[str, Any]) -> bool:
    """Say whether every condition of a match holds."""
    known = (holds(match[key], match, request) for key, holds in MEANINGS.items() if key in match)
    return all(known) and request_matches(match, request)


def starts(label: str, prefix: str) -> bool:
    """Say whether a label starts with a prefix, in whole dotted parts."""
    wanted = prefix.split(".")
    return label.split(".")[: len(wanted)] == wanted


def new_case(seed: int) -> tuple[dict[str, Any], dict[str, str], list[dict[str, Any]]]:
    """Return a set, overrides for some of its rules, and requests: the same for the same seed, and quickly."""
    chance = Random(seed)
    rule_set = new_set(chance)
    names = [rule["name"] for rule in flat(rule_set)]
    overrides = _actions(chance, names) if chance.random() < 0.5 else {}
    return rule_set, overrides, [new_request(chance) for _ in range(6)]


def new_set(chance: Random, *, most: int = 10) -> dict[str, Any]:
    """Return a valid rule set with rules and managed groups."""
    entries = [_new_rule(chance, f"r{number}") for number in range(chance.randint(0, most))]
    # Two versions of a group have members of the same names, so a set has one of them.
    for group in chance.sample(sorted({name for name, _ in GROUPS}), chance.choice((0, 0, 1, 2))):
        version = chance.choice(sorted(number for name, number in GROUPS if name == group))
        entry: dict[str, Any] = {"group": group, "version": version}
        if chance.random() < 0.5:
            entry["scope_down"] = new_match(chance, of_request=True)
        if chance.random() < 0.5:
            entry["overrides"] = _actions(chance, [member["name"] for member in GROUPS[group, version]])
        entries.insert(chance.randint(0, len(entries)), entry)
    rule_set = {"version": "1", "rules": entries, "default_action": chance.choice(ACTIONS[:4])}
    if chance.random() < 0.3:
        for entry in entries:
            if entry.get("action") == "count":
                entry["add"] = chance.randint(-3, 5)
        weights = chance.sample(range(-2, 9), chance.randint(1, 3))
        rule_set["thresholds"] = [{"at_least": least, "action": chance.choice(ACTIONS[:4])} for least in weights]
    return rule_set


def new_match(chance: Random, *, of_request: bool = False) -> dict[str, Any]:
    """Return a valid match, most often with one or two conditions; with some on the request itself, where asked for."""
    match: dict[str, Any] = new_conditions(chance) if of_request and chance.random() < 0.3 else {}
    for key in chance.sample(("all_labels", "any_labels", "none_labels", "any_prefix"), chance.choice((0, 1, 1, 2, 3))):
        match[key] = chance.choices(PREFIXES if key == "any_prefix" else LABELS, k=chance.randint(1, 3))
    if chance.random() < 0.2:
        match |= {"score": chance.choice(KINDS), "min_score": chance.choice((0, 0.25, 0.5, 0.8, 1, 1.0))}
    return match


def new_request(chance: Random) -> dict[str, Any]:
    """Return a request as rules see it."""
    kinds = chance.sample(KINDS, chance.randint(0, 3))
    return {
        "labels": chance.sample((*LABELS, "ua.other", "net.country.fr"), chance.randint(0, 7)),
        "scores": {kind: chance.choice((0.0, 0.2499, 0.25, 0.5, 0.7999, 0.8, 1.0)) for kind in kinds},
        "route": chance.choice(SEEN_ROUTES),
        "action": chance.choice((None, "login", "submit", "other")),
        **new_parts(chance),
    }


def _new_rule(chance: Random, name: str) -> dict[str, Any]:
    rule: dict[str, Any] = {"name": name, "match": new_match(chance, of_request=True), "action": chance.choice(ACTIONS)}
    if chance.random() < 0.3:
        rule["routes"] = chance.choices(ROUTES, k=chance.randint(0, 2))
    if chance.random() < 0.2:
        rule["response"] = {"status": chance.randint(400, 599), "message": "Not now."}
    return rule


def _actions(chance: Random, names: list[str]) -> dict[str, str]:
    return {name: chance.choice(ACTIONS) for name in chance.sample(names, min(len(names), chance.randint(1, 3)))}
