"""Anubis policies as rule sets, with a report of what did not convert."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network
from typing import Any

import yaml
from msgspec import Struct

from agentgate.lib.enums import Outcome, RuleAction
from agentgate.sites.rules.drafts import read_draft
from agentgate.sites.rules.records import RulesRequest
from agentgate.sites.rules.validate import LEAST_WEIGHT, MOST_ADDED, MOST_WEIGHT
from agentgate_tools.anubis.conditions import (
    Alternatives,
    Term,
    UnconvertibleError,
    conjunction,
    disjunction,
    exclusive,
    match_of,
    read_expression,
    read_globs,
)

CLEARED = "receipt.clearance"
CLEARED_RULE = "cleared-visitors"
DEEPEST = 8
# More networks than these become a network list.
FEW_NETWORKS = 20
_ACTIONS = {
    "ALLOW": RuleAction.ALLOW,
    "DENY": RuleAction.BLOCK,
    "CHALLENGE": RuleAction.CHALLENGE,
    "WEIGH": RuleAction.COUNT,
}
_KNOWN = {
    *("name", "action", "weight", "expression", "user_agent_regex", "path_regex", "headers_regex"),
    *("remote_addresses", "geoip", "asns", "challenge"),
}
# Settings of Anubis with a counterpart elsewhere, or none.
_SETTINGS = {
    "dnsbl": "DNS blocklists are not used. Import lists of networks with `agentgate intel update`.",
    "openGraph": "Link previews are allowed by verified networks, so pages need no copy of their tags.",
}
_BOUND = re.compile(r"weight\s*(>=|>)\s*(-?\d+)")
_UPPER = re.compile(r"weight\s*(?:<=|<)\s*-?\d+\Z")


class Unconverted(Struct, frozen=True):
    """A part of the policy without a rule."""

    name: str
    reason: str


class ConvertedPolicy(Struct, frozen=True, rename="camel"):
    """The rules of a policy."""

    rule_set: dict[str, Any]
    # How many of the policy's rules became rules.
    converted: int
    unconverted: list[Unconverted]
    # Settings that are set elsewhere.
    notes: list[str]
    # Networks of the rules by the name of their network list.
    network_lists: dict[str, list[str]]


ReadImport = Callable[[str], str]


def convert(
    text: str, read_import: ReadImport, *, version: str = "1", has_network_lists: bool = False
) -> ConvertedPolicy:
    """Convert a policy. `read_import` returns the text of a file that a policy imports.

    With `has_network_lists`, rules name network lists instead of many networks.
    """
    document = yaml.safe_load(text)
    if not isinstance(document, dict) or not isinstance(document.get("bots"), list):
        raise ValueError("the policy must be a YAML object with `bots`, a list of rules")  # noqa: TRY004 - a damaged file
    rules: list[dict[str, Any]] = []
    unconverted: list[Unconverted] = []
    converted = 0
    names: set[str] = set()
    lists: dict[str, list[str]] | None = {} if has_network_lists else None
    for item in _items(document["bots"], read_import, unconverted, 0):
        name = str(item.get("name", "unnamed"))
        try:
            made = _rules(item, names, lists)
        except UnconvertibleError as problem:
            unconverted.append(Unconverted(name, str(problem)))
            continue
        converted += 1
        rules += made
    default, thresholds = _thresholds(document.get("thresholds"), unconverted)
    rules.append({"name": _unused(CLEARED_RULE, names), "match": {"all_labels": [CLEARED]}, "action": "allow"})
    rule_set: dict[str, Any] = {"version": version, "rules": rules, "default_action": default}
    if thresholds:
        rule_set["thresholds"] = thresholds
    notes = [note for key, note in _SETTINGS.items() if _is_on(document.get(key))]
    return ConvertedPolicy(rule_set, converted, unconverted, notes, lists or {})


def _is_on(value: Any) -> bool:
    return bool(value.get("enabled")) if isinstance(value, dict) else bool(value)


def _items(
    listed: Any, read_import: ReadImport, unconverted: list[Unconverted], depth: int
) -> Iterator[Mapping[str, Any]]:
    for item in listed if isinstance(listed, list) else ():
        if not isinstance(item, dict):
            unconverted.append(Unconverted(str(item)[:60], "it is not a rule"))
        elif "import" not in item:
            yield item
        elif depth == DEEPEST:
            unconverted.append(Unconverted(str(item["import"]), "imports are nested too deeply"))
        else:
            try:
                inner = yaml.safe_load(read_import(str(item["import"])))
            except (OSError, ValueError, yaml.YAMLError) as problem:
                unconverted.append(Unconverted(str(item["import"]), f"the file cannot be read: {problem}"))
                continue
            yield from _items(inner, read_import, unconverted, depth + 1)


def _rules(item: Mapping[str, Any], names: set[str], lists: dict[str, list[str]] | None) -> list[dict[str, Any]]:
    unknown = sorted(set(item) - _KNOWN)
    if unknown:
        raise UnconvertibleError(f"{unknown[0]} has no condition")
    action = _ACTIONS.get(str(item.get("action")))
    if action is None:
        raise UnconvertibleError(f"the action {item.get('action')} does not exist")
    # A rule that allows or lowers the weight must not match more than the policy.
    strict = action is RuleAction.ALLOW or (action is RuleAction.COUNT and _added(item) < 0)
    alternatives = _alternatives(item, strict=strict)
    added = _added(item) if action is RuleAction.COUNT else None
    if added is not None:
        alternatives = exclusive(alternatives)
    made = []
    for match in filter(None, map(match_of, alternatives)):
        if action is RuleAction.CHALLENGE:
            match["none_labels"] = [CLEARED]
        rule: dict[str, Any] = {"name": _unused(_name(item), names), "match": match, "action": action.value}
        if lists is not None:
            _move_networks(match, rule["name"], lists)
        made.append(rule if added is None else {**rule, "add": added})
    problems = read_draft(RulesRequest(rule_set={"version": "1", "rules": made, "default_action": "allow"})).errors
    if problems or not made:
        raise UnconvertibleError(problems[0].message if problems else "it never matches")
    return made


def _move_networks(match: dict[str, Any], rule: str, lists: dict[str, list[str]]) -> None:
    """Put many networks of a match into a network list. The same networks become one list."""
    for key in ("networks", "not_networks"):
        networks = match.get(key, [])
        if len(networks) > FEW_NETWORKS:
            name = next((known for known, each in lists.items() if each == networks), None)
            name = name or _unused(f"anubis-{re.sub('[^a-z0-9]+', '-', rule.lower()).strip('-')}", set(lists))
            lists[name] = networks
            del match[key]
            match[key.replace("networks", "network_lists")] = [name]


def _alternatives(item: Mapping[str, Any], *, strict: bool) -> Alternatives:
    parts: list[Alternatives] = []
    if "user_agent_regex" in item:
        parts.append([(Term("user_agents", "", read_globs(item["user_agent_regex"].strip(), strict=strict)),)])
    if "path_regex" in item:
        parts.append([(Term("paths", "", read_globs(item["path_regex"].strip(), strict=strict)),)])
    for name, pattern in item.get("headers_regex", {}).items():
        parts.append([(Term("headers", name, read_globs(pattern, strict=strict)),)])
    if "remote_addresses" in item:
        parts.append([(Term("networks", "", tuple(_collapsed(item["remote_addresses"]))),)])
    if "geoip" in item:
        parts.append([(Term("countries", "", tuple(each.lower() for each in item["geoip"]["countries"])),)])
    if "asns" in item:
        parts.append([(Term("asns", "", tuple(str(each) for each in item["asns"]["match"])),)])
    if "expression" in item:
        parts.append(_expression(item["expression"], strict=strict))
    if not parts:
        raise UnconvertibleError("it has no condition")
    return conjunction(parts)


def _expression(found: Any, *, strict: bool) -> Alternatives:
    if isinstance(found, str):
        return read_expression(found, strict=strict)
    if isinstance(found, dict) and len(found) == 1:
        (kind, texts), *_ = found.items()
        parts = [read_expression(text, strict=strict) for text in texts]
        if kind in ("all", "any"):
            return conjunction(parts) if kind == "all" else disjunction(parts)
    raise UnconvertibleError("the expression is neither text nor all or any")


def _collapsed(texts: Iterable[str]) -> Iterator[str]:
    """Return networks without those inside others, and adjacent ones as one."""
    networks = [ip_network(text, strict=False) for text in texts]
    for each in collapse_addresses([each for each in networks if isinstance(each, IPv4Network)]):
        yield str(each)
    for other in collapse_addresses([each for each in networks if isinstance(each, IPv6Network)]):
        yield str(other)


def _added(item: Mapping[str, Any]) -> int:
    added = item.get("weight", {}).get("adjust", 0)
    if not isinstance(added, int) or not -MOST_ADDED <= added <= MOST_ADDED:
        raise UnconvertibleError(f"the weight {added} is not from -{MOST_ADDED} to {MOST_ADDED}")
    return added


def _name(item: Mapping[str, Any]) -> str:
    name = re.sub(r"[^A-Za-z0-9_.:-]", "-", str(item.get("name", "unnamed")))[:56]
    return name if name[:1].isalnum() else f"r{name}"


def _unused(name: str, names: set[str]) -> str:
    found, number = name, 1
    while found in names:
        number += 1
        found = f"{name}-{number}"
    names.add(found)
    return found


def _thresholds(listed: Any, unconverted: list[Unconverted]) -> tuple[str, list[dict[str, Any]]]:
    """Return the default action and the thresholds. Default of Anubis: challenge from a weight of 1."""
    default = Outcome.ALLOW
    found: dict[int, Outcome] = {}
    for each in [{"expression": "weight > 0", "action": "CHALLENGE"}] if listed is None else listed:
        name, action = str(each.get("name", "threshold")), _ACTIONS.get(str(each.get("action")))
        least = _least(each.get("expression"))
        if action is None or action is RuleAction.COUNT or least is False:
            unconverted.append(Unconverted(name, "the threshold compares more than the weight with one range"))
        elif least is None:
            default = Outcome(action.value)
        elif LEAST_WEIGHT <= least <= MOST_WEIGHT:
            found[least] = Outcome(action.value)
    ordered = sorted(found.items())
    kept = [
        {"at_least": least, "action": outcome.value}
        for place, (least, outcome) in enumerate(ordered)
        if outcome is not (ordered[place - 1][1] if place else default)
    ]
    return default.value, kept


def _least(expression: Any) -> int | bool | None:
    """Return from which weight on a threshold applies; None for all below the others, False if it is not understood."""
    texts = expression.get("all") if isinstance(expression, dict) else [expression]
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        return False
    parts = [part.strip() for text in texts for part in text.split("&&")]
    bounds = [found for part in parts if (found := _BOUND.fullmatch(part)) is not None]
    if len(bounds) + sum(_UPPER.match(part) is not None for part in parts) != len(parts) or len(bounds) > 1:
        return False
    return int(bounds[0][2]) + (bounds[0][1] == ">") if bounds else None
