"""Replacing a site's rules: a new revision, an audit entry with what changed, and word to every worker, or nothing."""

from collections.abc import Mapping
from typing import Any

from agentgate.http.call import SiteCall
from agentgate.lib.enums import RulesSource
from agentgate.lib.errors import Refused
from agentgate.people.audit.actions import Action
from agentgate.people.audit.trail import Subject, record
from agentgate.protection.rules.drafts import Draft
from agentgate.protection.rules.effective import effective_of, is_group, server_document
from agentgate.protection.rules.records import RuleSet, StoredRules
from agentgate.protection.rules.repositories import RuleStores


async def replace_rules(stores: RuleStores, call: SiteCall, draft: Draft, *, revision: int) -> None:
    """Store a valid draft as the revision after the one that it was edited from."""
    before = await stores.rules.find_rules(call.site_id)
    check_revision(before, revision)
    after = _stored(draft, call, revision=revision + 1)
    if not await stores.rules.save_rules(call.site_id, after):
        raise Refused("revision_conflict")
    await stores.configuration.bump()
    subject = Subject(account_id=call.account_id, site_id=call.site_id, target=call.site_key)
    await record(stores, call, Action.RULES_UPDATE, subject, rules_diff(before, after))


def check_revision(stored: StoredRules | None, revision: int) -> None:
    """Refuse rules that were edited from another revision than the present one."""
    if revision != (0 if stored is None else stored.revision):
        raise Refused("revision_conflict")


def rules_diff(before: StoredRules | None, after: StoredRules) -> dict[str, Any]:
    """Return what changed: names of rules, overrides, the default, the version."""
    old_set, new_set = effective_of(before), effective_of(after)
    old, new = _by_name(_document(before)), _by_name(_document(after))
    old_overrides = {} if before is None else before.overrides
    detail: dict[str, Any] = {
        "revision": {"from": 0 if before is None else before.revision, "to": after.revision},
        "effectiveVersion": {"from": old_set.version, "to": new_set.version},
        "added": [name for name in new if name not in old],
        "removed": [name for name in old if name not in new],
        "changed": [name for name in new if name in old and new[name] != old[name]],
        "overrides": {
            name: {"from": old_overrides.get(name), "to": after.overrides.get(name)}
            for name in sorted({*old_overrides, *after.overrides})
            if old_overrides.get(name) != after.overrides.get(name)
        },
    }
    source = RulesSource.SERVER if before is None else before.source
    if source != after.source:
        detail["source"] = {"from": source.value, "to": after.source.value}
    return detail | _default_diff(old_set, new_set)


def _default_diff(old: RuleSet, new: RuleSet) -> dict[str, Any]:
    if old.default_action == new.default_action:
        return {}
    return {"defaultAction": {"from": old.default_action, "to": new.default_action}}


def _stored(draft: Draft, call: SiteCall, *, revision: int) -> StoredRules:
    assert draft.effective is not None, "only a valid draft is stored"
    return StoredRules(
        effective_version=draft.effective.version,
        overrides=draft.overrides,
        revision=revision,
        rule_set=None if draft.own is None else dict(draft.own),
        updated_ms=call.now,
        updated_by=call.actor.name,
    )


def _document(stored: StoredRules | None) -> Mapping[str, Any]:
    return server_document() if stored is None or stored.rule_set is None else stored.rule_set


def _by_name(document: Mapping[str, Any]) -> dict[str, Any]:
    return {item["group"] if is_group(item) else item["name"]: item for item in document["rules"]}
