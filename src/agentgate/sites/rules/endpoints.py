"""Rules over HTTP: read, replace, check, try out. Operators and customers differ in guard only."""

import asyncio
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Protocol

from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from agentgate.events.time_ranges import read_range
from agentgate.http.call import Call, SiteCall
from agentgate.http.replies import Reply
from agentgate.lib.clock import DAY_MS, HOUR_MS
from agentgate.lib.database import Store
from agentgate.lib.enums import Preset, RulesSource
from agentgate.lib.errors import Refused
from agentgate.lib.limits import TRAFFIC_RANGE_DEFAULT_HOURS, TRAFFIC_RANGE_MOST_DAYS
from agentgate.lib.moment import Moment
from agentgate.lib.records import Query, optional
from agentgate.people.audit.actions import Action
from agentgate.people.audit.trail import Subject, record
from agentgate.sites.rules.backtest import Backtests
from agentgate.sites.rules.confirmation import ask_to_confirm, guard_humans
from agentgate.sites.rules.drafts import Draft, check_one_form, checked, is_given, read_draft, result_of
from agentgate.sites.rules.effective import (
    effective_of,
    is_group,
    managed_groups,
    server_document,
    server_rule_set,
)
from agentgate.sites.rules.explain import explain
from agentgate.sites.rules.lints import find_unknown_lists, find_warnings
from agentgate.sites.rules.records import (
    CheckedRules,
    DraftInput,
    ManagedGroupList,
    RulesChange,
    RuleSet,
    RulesRequest,
    RulesView,
    StoredRules,
    ValidateResult,
)
from agentgate.sites.rules.replay_records import (
    BacktestInput,
    BacktestReport,
    SampleFacts,
    SampleRequest,
    TestInput,
    TestReport,
)
from agentgate.sites.rules.repository import RuleStores

# Responses of routes that take a draft, for an invalid draft.
INVALID: dict[int, type] = {422: ValidateResult}


class Explainer(Protocol):
    """Makes labels and scores of a sample request, as it would of a real one."""

    async def observe(self, site_id: str, request: SampleRequest) -> SampleFacts:
        """Return labels, scores, route and action of the request."""


class RulesQuery(Query, frozen=True, kw_only=True):
    """An effective version that the site had before. Default: the active rules."""

    version: Annotated[str, Meta(max_length=100)] | UnsetType = UNSET


async def read_rules(call: SiteCall, query: RulesQuery, store: Store[RuleStores]) -> RulesView:
    """Read a site's rules, the overrides, and the effective set.

    `version` reads rules that were active before, to restore them.
    """
    if isinstance(query.version, UnsetType):
        return await _read_view(call, store)
    stored = await store.read.rules.find_revision(call.site_id, query.version)
    if stored is None and query.version != effective_of(None).version:
        raise Refused("not_found", "The site never had rules of this version, or they came from another release.")
    known = await store.read.rules.list_network_lists(call.site_id)
    return await asyncio.to_thread(_view, call, stored, known)


async def replace_rules(
    call: SiteCall, body: RulesChange, store: Store[RuleStores], backtests: Backtests
) -> Reply[RulesView]:
    """Replace a site's rules and overrides.

    With neither `ruleSet` nor `ruleSetText` the site uses the server's rules. For invalid rules, the response is 422
    with all errors.
    """
    stored = await store.read.rules.find_rules(call.site_id)
    draft = await _site_draft(call, body, stored, store)
    if draft.effective is None:
        return _invalid(draft)
    revision = 0 if isinstance(body.revision, UnsetType) else body.revision
    # Before the backtests, so that outdated rules are rejected at once.
    check_revision(stored, revision)
    if draft.preset is not _preset(stored):
        await _require_clearance(call, store)
    if not isinstance(body.max_human_flips, UnsetType):
        await guard_humans(call, draft, body.max_human_flips, backtests)
    if body.guard and not body.acknowledge:
        await ask_to_confirm(call, draft, effective_of(stored), backtests)
    await store.change(lambda stores: _save_draft(stores, call, draft, revision=revision))
    return Reply(body=await _read_view(call, store))


async def validate_rules(call: SiteCall, body: RulesRequest, store: Store[RuleStores]) -> CheckedRules:
    """Check rules without storing them."""
    draft = await _site_draft(call, body, await store.read.rules.find_rules(call.site_id), store)
    return await asyncio.to_thread(checked, draft, call.now)


async def list_managed_groups(_call: Call) -> ManagedGroupList:
    """List every version of every managed group."""
    return ManagedGroupList(items=list(managed_groups().values()))


async def test_rules(
    call: SiteCall, body: TestInput, store: Store[RuleStores], explainer: Explainer
) -> Reply[TestReport]:
    """Explain the outcome of one sample request under rules.

    Default: the site's current rules; `overrides` then replace the site's overrides.
    """
    check_one_form(body)
    stored = await store.read.rules.find_rules(call.site_id)
    effective = effective_of(stored)
    if is_given(body) or not isinstance(body.overrides, UnsetType) or not isinstance(body.preset, UnsetType):
        otherwise = None if stored is None or is_given(body) else stored.rule_set
        draft = await asyncio.to_thread(read_draft, body, otherwise=otherwise, site_preset=_preset(stored))
        if draft.effective is None:
            return _invalid(draft)
        effective = draft.effective
    sample = await explainer.observe(call.site_id, body.request)
    return Reply(body=explain(effective, sample, call.now))


async def backtest_rules(
    call: SiteCall, body: BacktestInput, store: Store[RuleStores], backtests: Backtests
) -> Reply[BacktestReport]:
    """Replay stored events with other rules and show the changes.

    Default: the server's rules. Only decisions made by rules are replayed.
    """
    span = read_range(
        body.from_,
        body.to,
        now_ms=call.now,
        default_ms=TRAFFIC_RANGE_DEFAULT_HOURS * HOUR_MS,
        longest_ms=TRAFFIC_RANGE_MOST_DAYS * DAY_MS,
    )
    draft = await _draft(body, await store.read.rules.find_rules(call.site_id))
    if draft.effective is None:
        return _invalid(draft)
    return Reply(body=await backtests.run(call.site_id, draft.effective, span, call.account_id))


async def _draft(body: DraftInput, stored: StoredRules | None) -> Draft:
    check_one_form(body)
    # A large text takes too long for the event loop.
    return await asyncio.to_thread(read_draft, body, site_preset=_preset(stored))


def _preset(stored: StoredRules | None) -> Preset:
    return Preset.NONE if stored is None else stored.preset


async def _site_draft(call: SiteCall, body: DraftInput, stored: StoredRules | None, store: Store[RuleStores]) -> Draft:
    """Return a draft with the network lists that its rules may name."""
    known = await store.read.rules.list_network_lists(call.site_id)
    return replace(await _draft(body, stored), network_lists=known)


def _invalid(draft: Draft) -> Reply[Any]:
    return Reply(body=result_of(draft), status=422)


async def _read_view(call: SiteCall, store: Store[RuleStores]) -> RulesView:
    # Names for misspelled conditions take too long for the event loop.
    known = await store.read.rules.list_network_lists(call.site_id)
    return await asyncio.to_thread(_view, call, await store.read.rules.find_rules(call.site_id), known)


def _view(call: SiteCall, stored: StoredRules | None, network_lists: Collection[str]) -> RulesView:
    document = _document(stored)
    return RulesView(
        site_key=call.site_key,
        source=RulesSource.SERVER if stored is None else stored.source,
        revision=0 if stored is None else stored.revision,
        server_version=server_rule_set().version,
        rule_set=dict(document),
        overrides={} if stored is None else stored.overrides,
        preset=_preset(stored),
        effective=effective_of(stored),
        warnings=[lint for _, lint in (*find_warnings(document), *find_unknown_lists(document, network_lists))],
        updated_at=optional(None if stored is None else Moment(stored.updated_ms)),
        updated_by=optional(None if stored is None else stored.updated_by),
    )


async def _save_draft(stores: RuleStores, call: SiteCall, draft: Draft, *, revision: int) -> None:
    """Store a valid draft as the revision after the one that it was edited from."""
    before = await stores.rules.find_rules(call.site_id)
    check_revision(before, revision)
    after = _stored(draft, call, revision=revision + 1)
    if not await stores.rules.save_rules(call.site_id, after):
        raise Refused("revision_conflict")
    await stores.configuration.bump_site(call.site_id)
    subject = Subject(account_id=call.account_id, site_id=call.site_id, target=call.site_key)
    await record(stores, call, Action.RULES_UPDATE, subject, rules_diff(before, after))


async def _require_clearance(call: SiteCall, store: Store[RuleStores]) -> None:
    """Reject a preset for a site on which no visitor could pass its challenges."""
    site = await store.read.sites.find_site(call.site_key, account_id=None)
    if site is not None and not any(action.clearance is True for action in site.actions.values()):
        raise Refused(
            "invalid_request",
            "A preset challenges visitors, so the site needs an action with browserRequired and clearance.",
        )


def check_revision(stored: StoredRules | None, revision: int) -> None:
    """Reject rules that were edited from another revision than the present one."""
    if revision != (0 if stored is None else stored.revision):
        raise Refused("revision_conflict")


def rules_diff(before: StoredRules | None, after: StoredRules) -> dict[str, Any]:
    """Return the changes: names of rules, overrides, the default, the version."""
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
    if _preset(before) is not after.preset:
        detail["preset"] = {"from": _preset(before).value, "to": after.preset.value}
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
        preset=draft.preset,
    )


def _document(stored: StoredRules | None) -> Mapping[str, Any]:
    return server_document() if stored is None or stored.rule_set is None else stored.rule_set


def _by_name(document: Mapping[str, Any]) -> dict[str, Any]:
    return {item["group"] if is_group(item) else item["name"]: item for item in document["rules"]}
