"""Managed groups, and the effective set: groups expanded, overrides applied, and its own version.

Managed groups are rules that come with the service, one file for each version in `managed/`. A version never changes:
references rely on its digest.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import structs

from agentgate.lib.enums import Preset, RulesSource
from agentgate.sites.rules.records import ManagedGroup, RuleItem, RuleSet, RulesSummary, StoredRules
from agentgate.sites.rules.schedule import is_scheduled, schedule_of, why_inactive

DIGEST_CHARACTERS = 16

GroupKey = tuple[str, int]


@cache
def managed_groups() -> Mapping[GroupKey, ManagedGroup]:
    """Return every version of every group, by name and version."""
    files = resources.files("agentgate.sites.rules").joinpath("managed").iterdir()
    groups = [_read(json.loads(file.read_text("utf-8"))) for file in files if file.name.endswith(".json")]
    return MappingProxyType({(group.name, group.version): group for group in sorted(groups, key=_order)})


def group_versions(name: str) -> list[int]:
    """Return the versions of a group; none when there is no such group."""
    return [version for group, version in managed_groups() if group == name]


# The group of each application. Forgejo and Gitea have the same routes.
PRESETS: Mapping[Preset, GroupKey] = MappingProxyType(
    {preset: (f"app-{preset}", 1) for preset in Preset if preset not in {Preset.NONE, Preset.FORGEJO}}
    | {Preset.FORGEJO: ("app-gitea", 1)}
)


@cache
def preset_members() -> frozenset[str]:
    """Return the names of all rules of groups for applications."""
    return frozenset(member.name for key in PRESETS.values() for member in managed_groups()[key].rules)


@cache
def managed_members() -> frozenset[str]:
    """Return the names of all rules of managed groups, except those that an owner chooses for an application."""
    return frozenset(member.name for group in managed_groups().values() for member in group.rules) - preset_members()


def canonical_json(value: Any) -> str:
    """Return a value as canonical JSON: sorted keys, no spaces, text unescaped."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def members_digest(members: list[dict[str, Any]]) -> str:
    return hashlib.sha256(canonical_json(members).encode()).hexdigest()[:DIGEST_CHARACTERS]


def _read(document: dict[str, Any]) -> ManagedGroup:
    return msgspec.convert({**document, "digest": members_digest(document["rules"])}, ManagedGroup)


def _order(group: ManagedGroup) -> GroupKey:
    return group.name, group.version


VERSION_DIGITS = 8


@cache
def server_rule_set() -> RuleSet:
    """Return the set that applies to a site without its own set, as written."""
    return read_set(server_document())


def server_document() -> dict[str, Any]:
    """Return the server's set as the plain value it is."""
    text = resources.files("agentgate.sites.rules").joinpath("default.json").read_text("utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


def read_set(document: Mapping[str, Any]) -> RuleSet:
    """Return a valid set. Only its three keys are kept; its rules keep all their keys."""
    return msgspec.convert(document, RuleSet)


def effective_set(base: RuleSet, overrides: Mapping[str, str], preset: Preset = Preset.NONE) -> RuleSet:
    """Return the effective set of a valid set: plain rules only, under the version that decisions name."""
    rules = [_overridden(item, overrides) for item in _expanded(with_preset(base.rules, preset))]
    said = {"version": base.version, "rules": rules, "default_action": base.default_action}
    if base.thresholds:
        said["thresholds"] = msgspec.to_builtins(base.thresholds)
    return structs.replace(base, version=effective_version(said), rules=rules)


def effective_of(stored: StoredRules | None) -> RuleSet:
    if stored is None:
        return _server_effective()
    base = server_rule_set() if stored.rule_set is None else read_set(stored.rule_set)
    return effective_set(base, stored.overrides, stored.preset)


def scheduled_items(stored: StoredRules | None) -> list[RuleItem]:
    """Return the rules and groups of a stored set that are not always active; none of a set that cannot be used."""
    rule_set = None if stored is None else stored.rule_set
    items = rule_set.get("rules") if isinstance(rule_set, dict) else None
    if not isinstance(items, list):
        return []
    return [item for item in items if isinstance(item, dict) and is_scheduled(item)]


def active_at(effective: RuleSet, now_ms: int) -> RuleSet:
    """Return an effective set without the rules that are not active now, under the same version."""
    rules = [item for item in effective.rules if why_inactive(item, now_ms) is None]
    return structs.replace(effective, rules=rules)


def effective_version(rule_set: Mapping[str, Any]) -> str:
    """Return the version that decisions name: the set's own, and digits of its digest."""
    digest = hashlib.sha256(canonical_json(rule_set).encode()).hexdigest()
    return f"{rule_set['version']}-{digest[:VERSION_DIGITS]}"


def summary_of(stored: StoredRules | None) -> RulesSummary:
    """Say which rules apply to a site."""
    return RulesSummary(
        source=RulesSource.SERVER if stored is None else stored.source,
        # Not as stored: the server's set changes with the release.
        effective_version=effective_of(stored).version,
        overrides=0 if stored is None else len(stored.overrides),
        revision=0 if stored is None else stored.revision,
    )


def with_preset(items: list[RuleItem], preset: Preset) -> list[RuleItem]:
    """Return the entries of a set with the group of an application: after the owner's first rules, before groups.

    So the owner's rules decide first, and no claim that a later group accepts opens a costly page.
    """
    if preset is Preset.NONE:
        return items
    name, version = PRESETS[preset]
    place = next((place for place, item in enumerate(items) if is_group(item)), len(items))
    return [*items[:place], {"group": name, "version": version}, *items[place:]]


def is_group(item: Mapping[str, Any]) -> bool:
    """Return whether an entry stands for a managed group. A rule may carry the key too, but has a name."""
    return "group" in item and not item.get("name")


@cache
def _server_effective() -> RuleSet:
    return effective_set(server_rule_set(), {})


def _expanded(items: list[RuleItem]) -> Iterator[RuleItem]:
    for item in items:
        if is_group(item):
            yield from _members(item)
        else:
            yield item


def _members(reference: Mapping[str, Any]) -> Iterator[RuleItem]:
    group = managed_groups()[reference["group"], reference["version"]]
    overrides = reference.get("overrides", {})
    scope_down = {"scope_down": reference["scope_down"]} if reference.get("scope_down") else {}
    for member in group.rules:
        plain: dict[str, Any] = msgspec.to_builtins(member)
        # An empty list means the same as none.
        routes = {"routes": plain["routes"]} if plain["routes"] else {}
        yield {
            "name": member.name,
            "match": plain["match"],
            "action": overrides.get(member.name, plain["action"]),
            **routes,
            **scope_down,
            **schedule_of(reference),
            "group": group.name,
        }


def _overridden(item: RuleItem, overrides: Mapping[str, str]) -> RuleItem:
    action = overrides.get(item["name"])
    return item if action is None else {**item, "action": action}
